// The cost of kernels: moving bytes, computing, and what it takes to start one.
#include "passes/fusion_cost.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "ops/saved_values.h"
#include "ops/table.h"

namespace ig::passes {
namespace {

constexpr double kCostly = 24;  // operations of a function that is no single instruction
constexpr double kFold = 4;     // of an element that a window or a loop nest touches
constexpr double kChoice = 2;   // of an element that may come out of one of several arrays, for each of them

constexpr double kFirstCache = 48 * 1024;
constexpr double kGathered = 0.2, kFromAfar = 1;  // ns to take an element out of its line, by where that is

// Bytes a ns: within the second cache, the third one, and memory.
double bandwidth(double bytes) { return bytes <= 512 * 1024 ? 40 : bytes <= 8 * 1024 * 1024 ? 25 : 12; }

// A slice or a gather reads no more than it gives.
double bytes_read(const Node* node, Value operand, const DimScope& scope) {
  double all = ops::bytes_of(operand->type(), scope);
  const ops::Op& op = ops::op_of(node);
  if (op.rules.lower.kind != ops::LowerRule::Kind::Point || !op.has(ops::Trait::View)) return all;
  return std::min(all, elements_in(node->result()->type().dims, scope) *
                           static_cast<double>(size_of(operand->type().dtype)));
}

class Members {
 public:
  explicit Members(std::span<const KernelWork> parts) {
    for (const KernelWork& part : parts) nodes_.insert(nodes_.end(), part.nodes.begin(), part.nodes.end());
    std::ranges::sort(nodes_);
  }
  bool contains(const Node* node) const { return std::ranges::binary_search(nodes_, node); }

 private:
  std::vector<const Node*> nodes_;
};

}  // namespace

double time_to_read(double bytes) { return bytes / bandwidth(bytes); }

double elements_in(const Dims& dims, const DimScope& scope) {
  Type type = Type::tensor(DType::U8, dims);
  return ops::bytes_of(type, scope);
}

double operations_of(const Node* node, const DimScope& scope) {
  using Kind = ops::LowerRule::Kind;
  const ops::Op& op = ops::op_of(node);
  if (op.has(ops::Trait::Constant) || op.has(ops::Trait::Relabel)) return 0;
  double in = 0, out = 0;
  auto weigh = [&](std::span<const Value> values, double& sum) {
    for (Value v : values)
      if (v->type().is_tensor()) sum += elements_in(v->type().dims, scope);
  };
  weigh(node->operands(), in), weigh(node->results(), out);
  double width = node->results().empty() || !node->result(0)->type().is_tensor()
                     ? 1
                     : std::max(1.0, static_cast<double>(size_of(node->result(0)->type().dtype)) / 4);
  if (op.has(ops::Trait::Contraction)) {  // m k n of a product: the root of mk, kn and mn multiplied
    std::vector<double> all;
    for (std::span<const Value> values : {node->operands(), node->results()})
      for (Value v : values)
        if (v->type().is_tensor()) all.push_back(std::max(elements_in(v->type().dims, scope), 1.0));
    std::ranges::sort(all, std::greater<>());
    return width *
           std::sqrt(std::accumulate(all.begin(), all.begin() + std::min<ptrdiff_t>(3, std::ssize(all)), 1.0,
                                     std::multiplies<>()));
  }
  switch (op.rules.lower.kind) {
    case Kind::Scalar: return width * out * (op.has(ops::Trait::Cheap) ? 1 : kCostly);
    case Kind::Point: {
      if (op.has(ops::Trait::Cheap)) return width * out;
      if (!op.has(ops::Trait::View)) return width * kFold * (in + out);
      // What chooses among several works all of them out.
      const auto operands = static_cast<double>(node->operands().size());
      return width * out * (operands > 1 ? kChoice * operands : 1);
    }
    case Kind::Reduce: return width * in;
    default: return width * kFold * (in + out);
  }
}

ops::FusionCost cost_of_kernel(std::span<const KernelWork> parts,
                               const std::function<bool(const Node*)>& is_free, const DimScope& scope) {
  const Members inside(parts);
  return cost_of_kernel(
      parts, is_free,
      [&](Value v) {
        return std::ranges::any_of(v->uses(), [&](const Use& use) { return !inside.contains(use.user); });
      },
      scope);
}

ops::FusionCost cost_of_kernel(std::span<const KernelWork> parts,
                               const std::function<bool(const Node*)>& is_free,
                               const std::function<bool(Value)>& writes, const DimScope& scope) {
  const Members inside(parts);
  ops::FusionCost cost;
  std::vector<Value> read;  // a few
  for (const KernelWork& part : parts)
    for (const Node* node : part.nodes) {
      cost.operations += part.repeats * operations_of(node, scope);
      for (Value v : node->operands())
        if (!(v->node() && (inside.contains(v->node()) || is_free(v->node()))) &&
            std::ranges::find(read, v) == read.end()) {
          read.push_back(v);
          cost.bytes += bytes_read(node, v, scope);
        }
      for (Value v : node->results())
        if (writes(v)) cost.bytes += ops::bytes_of(v->type(), scope);
    }
  cost.nanoseconds =
      kStartOfKernel + cost.bytes / bandwidth(cost.bytes) + cost.operations / kOperationsANanosecond;
  return cost;
}

ops::FusionCost cost_of_reading_across(const Type& type, double elements, const DimScope& scope) {
  const double all = ops::bytes_of(type, scope), bytes = elements * static_cast<double>(size_of(type.dtype));
  return {bytes, 0, bytes / bandwidth(all) + elements * (all <= kFirstCache ? kGathered : kFromAfar)};
}

ops::FusionCost cost_of_writing_out(const Type& type, const DimScope& scope) {
  const double bytes = 2 * ops::bytes_of(type, scope);
  return {bytes, 0, kStartOfKernel + bytes / bandwidth(bytes)};
}

ops::FusionCost cost_of_turning(const Type& type, const DimScope& scope) {
  const double all = ops::bytes_of(type, scope), bytes = 3 * all;  // read, written, read again
  // What is worked on at a time is the array and its copy.
  return {bytes, 0, kStartOfKernel + bytes / bandwidth(2 * all)};
}

}  // namespace ig::passes
