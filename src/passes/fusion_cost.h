// What kernels cost, by counting bytes, operations and what is computed again. The constants are those of one
// thread of a processor with registers of 256 bits; only ratios decide, and the bits of a result never depend
// on what is decided.
#pragma once

#include <functional>
#include <span>

#include "ops/fusion_report.h"

namespace ig::passes {

inline constexpr double kStartOfKernel = 20;          // ns, the executor's way to a kernel
inline constexpr double kOperationsANanosecond = 40;  // 8 lanes, 1.5 of them a cycle

// Nodes that are one kernel; `repeats` is how often a node is computed, where that is not once.
struct KernelWork {
  std::span<Node* const> nodes;
  double repeats = 1;
};
// Repeats of what a nest computes where it takes elements: one by one, while it waits for memory.
inline constexpr double kInNest = 1.5;
// `is_free` says of a node that what reads it makes it anew.
ops::FusionCost cost_of_kernel(std::span<const KernelWork> parts,
                               const std::function<bool(const Node*)>& is_free, const DimScope& scope);
// The same, where `writes` says of a value of the kernel that it is one of its results.
ops::FusionCost cost_of_kernel(std::span<const KernelWork> parts,
                               const std::function<bool(const Node*)>& is_free,
                               const std::function<bool(Value)>& writes, const DimScope& scope);

// Operations of a node: one for what is cheap on one float32 element, 24 for a transcendental function.
double operations_of(const Node* node, const DimScope& scope);

// ns to read so many bytes, by the cache that holds them.
double time_to_read(double bytes);

// So many elements of a value that lie in a line of the cache each; and the value, turned over by tiles into
// memory of its own and read from there.
ops::FusionCost cost_of_reading_across(const Type& type, double elements, const DimScope& scope);
ops::FusionCost cost_of_writing_out(const Type& type, const DimScope& scope);  // and reading again
ops::FusionCost cost_of_turning(const Type& type, const DimScope& scope);

double elements_in(const Dims& dims, const DimScope& scope);

}  // namespace ig::passes
