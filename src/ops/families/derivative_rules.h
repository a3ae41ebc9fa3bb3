// Derivative rules that are long enough for files of their own.
#pragma once

#include <vector>

#include "ops/op.h"

namespace ig::ops {

// Of an op that is linear in either operand, but not in both at once. Error(Unsupported).
void require_one_linear(const TransposeContext& c);

// The elements of x at `positions` along the axis; all other axes go together.
Value along_axis(Builder& build, Value x, Value positions, int64_t axis);

std::vector<Value> transpose_gather(TransposeContext& c);
std::vector<Value> jvp_scatter(JvpContext& c);
std::vector<Value> transpose_scatter(TransposeContext& c);
std::vector<Value> jvp_sort(JvpContext& c);
std::vector<Value> jvp_top_k(JvpContext& c);

std::vector<Value> jvp_cumulative_prod(JvpContext& c);
std::vector<Value> jvp_cumulative_max(JvpContext& c);
std::vector<Value> jvp_cumulative_min(JvpContext& c);
std::vector<Value> jvp_cumulative_logsumexp(JvpContext& c);

std::vector<Value> jvp_window_max(JvpContext& c);
std::vector<Value> jvp_window_min(JvpContext& c);
std::vector<Value> transpose_window_sum(TransposeContext& c);
struct WindowDims;
// The elements of t at each window's greatest element of x, as max-pooling chooses it: in slices, one for
// each place in the window. `out`: how many windows there are.
Value at_the_greatest(Builder& build, Value x, Value t, const WindowDims& d, const Dims& out);
std::vector<Value> jvp_window_at_greatest(JvpContext& c);
std::vector<Value> transpose_window_at_greatest(TransposeContext& c);
void nest_select(NestContext& c);
std::vector<Value> jvp_select_and_scatter(JvpContext& c);
std::vector<Value> transpose_select_and_scatter(TransposeContext& c);

std::vector<Value> transpose_convolution(TransposeContext& c);

}  // namespace ig::ops
