// Derivatives of the ops with regions.
#pragma once

#include <memory>
#include <vector>

#include "ops/families/array_tools.h"
#include "ops/regions.h"

namespace ig::ops {

std::vector<Value> jvp_branches(JvpContext& c);  // cond and switch: a selector, then what the branches read
std::vector<Value> transpose_branches(TransposeContext& c);
std::vector<Value> jvp_while(JvpContext& c);
std::vector<Value> transpose_while(TransposeContext& c);
std::vector<Value> jvp_scan(JvpContext& c);
std::vector<Value> transpose_scan(TransposeContext& c);
std::vector<Value> jvp_call(JvpContext& c);
std::vector<Value> jvp_checkpoint(JvpContext& c);
std::vector<Value> transpose_call(TransposeContext& c);
std::vector<Value> jvp_custom_jvp(JvpContext& c);
std::vector<Value> jvp_custom_vjp(JvpContext& c);
std::vector<Value> transpose_pullback(TransposeContext& c);

namespace control {

inline bool has_tangent(const Type& type) {
  return type.is_tensor() && (is_float(type.dtype) || is_complex(type.dtype));
}

using Order = std::vector<size_t>;

// The graph with its inputs and results in another order: new input i is old input inputs[i]. Every old input
// must be among them; results may be left out.
std::unique_ptr<Graph> reordered(const Graph& graph, const Order& inputs, const Order& results);
Order range(size_t begin, size_t count);
Order operator+(Order a, const Order& b);
std::vector<bool> set(std::span<const Value> values);  // which are not null
std::vector<Value> present(std::span<const Value> values);
// The values, with zeros for those that are null and wanted; the others are left out.
std::vector<Value> instantiated(Builder& build, std::span<const Value> values, std::span<const Value> like,
                                const std::vector<bool>& wanted);
// The list with null where `which` is false.
std::vector<Value> scattered(std::span<const Value> values, const std::vector<bool>& which);

}  // namespace control
}  // namespace ig::ops
