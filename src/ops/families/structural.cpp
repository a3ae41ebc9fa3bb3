// Ops that move elements and compute nothing, whose shape alone says where each goes: broadcast, reshape,
// transpose, reverse, slice, pad, concatenate, and the slices that start at run-time indices. StableHLO's
// names and semantics. All are point-wise: an element of the result is an element of an operand (or the
// padding).
#include <algorithm>

#include "ops/families/array_tools.h"
#include "ops/families/bounds_rules.h"
#include "ops/families/families.h"
#include "ops/indexing.h"
#include "ops/shape_attrs.h"
#include "ops/table.h"

namespace ig::ops {
namespace {

using namespace tools;
using loop::Expr;

// --- broadcast_in_dim
// ----------------------------------------------------------------------------------------------
void infer_broadcast(InferContext& c) {
  const Dims& shape = c.get(kShape);
  const Ints& axes = c.get(kBroadcastDims);
  const Type& x = c.operand(0);
  require_count(c, axes.size(), x.dims.size(), "broadcast_dimensions");
  require_axes(c, axes, static_cast<int>(shape.size()), "broadcast_dimensions");
  for (const Dim& d : shape) c.require_less_equal(0, d, "the sizes of the result");
  for (size_t i = 0; i < axes.size(); ++i)
    if (!(x.dims[i] == 1))
      c.require_equal(x.dims[i], shape[static_cast<size_t>(axes[i])], "the broadcast axes");
  c.result(x.dtype, shape);
}

void reference_broadcast(ReferenceContext& c) {
  const Ints& axes = c.attrs.get(kBroadcastDims);
  const Literal& x = c.operands[0];
  Literal& out = c.results[0];
  each_index(out.dims(), [&](const Index& index, int64_t flat) {
    Index from(axes.size());
    for (size_t i = 0; i < axes.size(); ++i)
      from[i] = x.dims()[i] == 1 ? 0 : index[static_cast<size_t>(axes[i])];
    copy_element(out, flat, x, flat_of(x.dims(), from));
  });
}

Expr point_broadcast(PointContext& c) {
  const Ints& axes = c.node->attrs().get(kBroadcastDims);
  const Dims& dims = c.operand_type(0).dims;
  std::vector<Expr> from;
  for (size_t i = 0; i < axes.size(); ++i)
    from.push_back(dims[i] == 1 ? c.build->index(0) : c.index[static_cast<size_t>(axes[i])]);
  return c.at(0, from);
}

// broadcast(reshape(x)) where the reshape makes axes of x one, and these are not spread: x is spread, and
// then reshaped. So x, where it is spread itself, is spread once.
Value broadcast_before_reshape(SimplifyContext& c, Value x) {
  const Ints& axes = c.node->attrs().get(kBroadcastDims);
  const Dims &from = x->type().dims, &to = c.node->operand(0)->type().dims,
             &shape = c.node->result()->type().dims;
  std::vector<size_t> ends;  // of each of the reshape's axes, the first of x's axes behind it
  for (size_t i = 0, next = 0; i < to.size(); ++i) {
    const size_t first = next;
    Dim size = Dim(1);
    while (next < from.size() && (from[next] == 1 || !(size == to[i]))) size = size * from[next++];
    if (!(size == to[i])) return nullptr;
    if (next - first > 1 && !(shape[static_cast<size_t>(axes[i])] == to[i])) return nullptr;
    ends.push_back(next);
  }
  if (ends.empty() || ends.back() != from.size()) return nullptr;
  Dims apart;
  Ints direct(from.size());
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const auto at = static_cast<size_t>(std::ranges::find(axes, static_cast<int64_t>(axis)) - axes.begin());
    const size_t begin = at == axes.size() || at == 0 ? 0 : ends[at - 1];
    const size_t end = at == axes.size() ? 0 : ends[at];
    for (size_t i = begin; i < end; ++i) {
      direct[i] = static_cast<int64_t>(apart.size());
      apart.push_back(end - begin == 1 ? shape[axis] : from[i]);
    }
    if (begin == end) apart.push_back(shape[axis]);
  }
  return c.build.reshape(c.build.broadcast(x, apart, direct), shape);
}

Value simplify_broadcast(SimplifyContext& c) {
  Value x = c.node->operand(0), out = c.node->result();
  const Ints& axes = c.node->attrs().get(kBroadcastDims);
  const Dims& shape = out->type().dims;
  if (x->type() == out->type() && axes == iota(x->type().rank())) return x;
  Node* inner = x->node();
  if (inner && inner->op() == c.node->op()) {  // broadcast(broadcast(x, a), b) = broadcast(x, b after a)
    Ints both;
    for (int64_t axis : inner->attrs().get(kBroadcastDims)) both.push_back(axes[static_cast<size_t>(axis)]);
    return c.build.broadcast(inner->operand(0), shape, both);
  }
  if (inner && has(inner, Trait::Relabel)) {
    // broadcast(reshape(x)) where the reshape only puts in axes of size 1: x's axes go straight to theirs.
    const Dims &from = inner->operand(0)->type().dims, &to = x->type().dims;
    Ints direct;
    size_t next = 0;
    for (size_t i = 0; i < to.size(); ++i) {
      if (next < from.size() && from[next] == to[i])
        direct.push_back(axes[i]), ++next;
      else if (!(to[i] == 1))
        return inner->operand(0)->node() && inner->operand(0)->node()->op() == c.node->op()
                   ? broadcast_before_reshape(c, inner->operand(0))
                   : nullptr;
    }
    if (next == from.size()) return c.build.broadcast(inner->operand(0), shape, direct);
    return nullptr;
  }
  if (x->type().rank() == out->type().rank()) {  // nothing grows: a transposition
    Ints permutation(axes.size());
    for (size_t i = 0; i < axes.size(); ++i) {
      if (!(x->type().dims[i] == shape[static_cast<size_t>(axes[i])])) return nullptr;
      permutation[static_cast<size_t>(axes[i])] = static_cast<int64_t>(i);
    }
    return c.build.transpose(x, permutation);
  }
  return nullptr;
}

std::vector<Value> transpose_broadcast(TransposeContext& c) {
  Value ct = c.cotangents[0];
  if (!ct) return {nullptr};
  const Ints& axes = c.node->attrs().get(kBroadcastDims);
  const Type& x = c.node->operand(0)->type();
  Ints folded;
  std::vector<std::pair<int64_t, int64_t>> kept;  // result axis, operand axis
  for (int64_t i = 0; i < ct->type().rank(); ++i) {
    auto at = std::find(axes.begin(), axes.end(), i);
    size_t operand_axis = static_cast<size_t>(at - axes.begin());
    if (at == axes.end() || (x.dims[operand_axis] == 1 && !(ct->type().dims[static_cast<size_t>(i)] == 1)))
      folded.push_back(i);
    else
      kept.emplace_back(i, static_cast<int64_t>(operand_axis));
  }
  Value sum = folded.empty() ? ct : c.build("reduce_sum", {ct}, {kAxes % folded});
  std::vector<int64_t> order(kept.size());  // the kept axes, in the operand's order
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return kept[static_cast<size_t>(a)].second < kept[static_cast<size_t>(b)].second;
  });
  return {c.build.reshape(c.build.transpose(sum, order), x.dims)};
}

Batched batch_broadcast(BatchContext& c) {
  Dims shape = c.node->attrs().get(kShape);
  shape.insert(shape.begin(), c.size);
  Ints axes{0};
  for (int64_t axis : c.node->attrs().get(kBroadcastDims)) axes.push_back(axis + 1);
  return {{c.build.broadcast(batch_to_front(c.build, c.operands[0], c.axes[0]), shape, axes)}, {0}};
}

// --- reshape
// ---------------------------------------------------------------------------------------------------------
void infer_reshape(InferContext& c) {
  const Dims& shape = c.get(kShape);
  for (const Dim& d : shape) c.require_less_equal(0, d, "the sizes of the result");
  c.require_equal(c.operand(0).elements(), product(shape), "the numbers of elements");
  c.result(c.operand(0).dtype, shape);
}

void reference_reshape(ReferenceContext& c) {
  for (int64_t i = 0; i < c.results[0].elements(); ++i) copy_element(c.results[0], i, c.operands[0], i);
}

Expr point_reshape(PointContext& c) {
  const Dims& from = c.operand_type(0).dims;
  return c.at(0, reshape_index(
                     c.index, c.node->result()->type().dims, from, [&](const Dim& d) { return c.size(d); },
                     *c.build));
}

Value simplify_reshape(SimplifyContext& c) {
  Value x = c.node->operand(0);
  const Dims& shape = c.node->result()->type().dims;
  if (x->type().dims == shape) return x;
  if (x->node() && x->node()->op() == c.node->op()) return c.build.reshape(x->node()->operand(0), shape);
  return nullptr;
}

std::vector<Value> transpose_reshape(TransposeContext& c) {
  if (!c.cotangents[0]) return {nullptr};
  return {c.build.reshape(c.cotangents[0], c.node->operand(0)->type().dims)};
}

Batched batch_reshape(BatchContext& c) {
  Dims shape = c.node->attrs().get(kShape);
  shape.insert(shape.begin(), c.size);
  return {{c.build.reshape(batch_to_front(c.build, c.operands[0], c.axes[0]), shape)}, {0}};
}

// --- transpose
// -------------------------------------------------------------------------------------------------------
void infer_transpose(InferContext& c) {
  const Ints& permutation = c.get(kPermutation);
  const Type& x = c.operand(0);
  require_count(c, permutation.size(), x.dims.size(), "permutation");
  require_axes(c, permutation, x.rank(), "permutation");
  Dims dims;
  for (int64_t axis : permutation) dims.push_back(x.dims[static_cast<size_t>(axis)]);
  c.result(x.dtype, dims);
}

void reference_transpose(ReferenceContext& c) {
  const Ints& permutation = c.attrs.get(kPermutation);
  each_index(c.results[0].dims(), [&](const Index& index, int64_t flat) {
    Index from(index.size());
    for (size_t i = 0; i < index.size(); ++i) from[static_cast<size_t>(permutation[i])] = index[i];
    copy_element(c.results[0], flat, c.operands[0], flat_of(c.operands[0].dims(), from));
  });
}

Expr point_transpose(PointContext& c) {
  const Ints& permutation = c.node->attrs().get(kPermutation);
  std::vector<Expr> from(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) from[static_cast<size_t>(permutation[i])] = c.index[i];
  return c.at(0, from);
}

Value simplify_transpose(SimplifyContext& c) {
  Value x = c.node->operand(0);
  const Ints& permutation = c.node->attrs().get(kPermutation);
  if (permutation == iota(x->type().rank())) return x;
  if (x->node() && x->node()->op() == c.node->op()) {
    const Ints& inner = x->node()->attrs().get(kPermutation);
    Ints both;
    for (int64_t axis : permutation) both.push_back(inner[static_cast<size_t>(axis)]);
    return c.build.transpose(x->node()->operand(0), both);
  }
  // Where only axes of size 1 move past others, the row-major order stays: a reshape, which moves no byte.
  int64_t last = -1;
  for (int64_t axis : permutation) {
    if (x->type().dims[static_cast<size_t>(axis)] == 1) continue;
    if (axis < last) return nullptr;
    last = axis;
  }
  return c.build.reshape(x, c.node->result()->type().dims);
}

std::vector<Value> transpose_transpose(TransposeContext& c) {
  if (!c.cotangents[0]) return {nullptr};
  const Ints& permutation = c.node->attrs().get(kPermutation);
  Ints inverse(permutation.size());
  for (size_t i = 0; i < inverse.size(); ++i)
    inverse[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  return {c.build.transpose(c.cotangents[0], inverse)};
}

Batched batch_transpose(BatchContext& c) {
  Ints permutation{0};
  for (int64_t axis : c.node->attrs().get(kPermutation)) permutation.push_back(axis + 1);
  return {{c.build.transpose(batch_to_front(c.build, c.operands[0], c.axes[0]), permutation)}, {0}};
}

// --- reverse
// ---------------------------------------------------------------------------------------------------------
void infer_reverse(InferContext& c) {
  require_axes(c, c.get(kReversed), c.operand(0).rank(), "dimensions");
  c.result(c.operand(0).dtype, c.operand(0).dims);
}

void reference_reverse(ReferenceContext& c) {
  const Literal& x = c.operands[0];
  each_index(x.dims(), [&](const Index& index, int64_t flat) {
    Index from = index;
    for (int64_t axis : c.attrs.get(kReversed)) {
      auto a = static_cast<size_t>(axis);
      from[a] = x.dims()[a] - 1 - index[a];
    }
    copy_element(c.results[0], flat, x, flat_of(x.dims(), from));
  });
}

Expr point_reverse(PointContext& c) {
  std::vector<Expr> from = c.index;
  for (int64_t axis : c.node->attrs().get(kReversed)) {
    auto a = static_cast<size_t>(axis);
    from[a] = c.size(c.operand_type(0).dims[a] - 1) - from[a];
  }
  return c.at(0, from);
}

Value simplify_reverse(SimplifyContext& c) {
  Value x = c.node->operand(0);
  const Ints& axes = c.node->attrs().get(kReversed);
  bool all_one = std::all_of(axes.begin(), axes.end(),
                             [&](int64_t axis) { return x->type().dims[static_cast<size_t>(axis)] == 1; });
  if (all_one) return x;
  if (!x->node() || x->node()->op() != c.node->op()) return nullptr;
  const Ints& inner = x->node()->attrs().get(kReversed);
  Ints once;  // what is reversed twice is not
  for (int64_t axis = 0; axis < x->type().rank(); ++axis)
    if ((std::ranges::find(axes, axis) != axes.end()) != (std::ranges::find(inner, axis) != inner.end()))
      once.push_back(axis);
  if (once.empty()) return x->node()->operand(0);
  return c.build("reverse", {x->node()->operand(0)}, {kReversed % once});
}

std::vector<Value> transpose_reverse(TransposeContext& c) {
  if (!c.cotangents[0]) return {nullptr};
  return {c.build.node(op_of(c.node), {c.cotangents[0]}, c.node->attrs())->result()};
}

Batched batch_reverse(BatchContext& c) {
  Ints axes;
  for (int64_t axis : c.node->attrs().get(kReversed)) axes.push_back(axis + 1);
  return {{c.build("reverse", {batch_to_front(c.build, c.operands[0], c.axes[0])}, {kReversed % axes})}, {0}};
}

// --- slice
// -----------------------------------------------------------------------------------------------------------
void infer_slice(InferContext& c) {
  const Type& x = c.operand(0);
  const Dims &start = c.get(kStart), &limit = c.get(kLimit);
  const Ints& strides = c.get(kSliceStrides);
  require_count(c, start.size(), x.dims.size(), "start");
  require_count(c, limit.size(), x.dims.size(), "limit");
  require_count(c, strides.size(), x.dims.size(), "strides");
  Dims dims;
  for (size_t i = 0; i < x.dims.size(); ++i) {
    if (strides[i] < 1)
      c.fail(ErrorKind::Value, fmt::format("stride {} of axis {} is below 1", strides[i], i),
             "a slice walks forwards", "use 1 or more, and reverse the axis where it is to run backwards");
    c.require_less_equal(0, start[i], "the start of a slice");
    c.require_less_equal(start[i], limit[i], "the start and limit of a slice");
    c.require_less_equal(limit[i], x.dims[i], "the limit of a slice and the size of its axis");
    dims.push_back(strides[i] == 1 ? limit[i] - start[i] : ceildiv(limit[i] - start[i], strides[i]));
  }
  c.result(x.dtype, dims);
}

void reference_slice(ReferenceContext& c) {
  const Literal& x = c.operands[0];
  std::vector<int64_t> start = ints_of(c.attrs.get(kStart));
  const Ints& strides = c.attrs.get(kSliceStrides);
  each_index(c.results[0].dims(), [&](const Index& index, int64_t flat) {
    Index from(index.size());
    for (size_t i = 0; i < index.size(); ++i) from[i] = start[i] + index[i] * strides[i];
    copy_element(c.results[0], flat, x, flat_of(x.dims(), from));
  });
}

Expr point_slice(PointContext& c) {
  const Dims& start = c.node->attrs().get(kStart);
  const Ints& strides = c.node->attrs().get(kSliceStrides);
  std::vector<Expr> from;
  for (size_t i = 0; i < start.size(); ++i) {
    Expr at = strides[i] == 1 ? c.index[i] : c.index[i] * c.build->index(strides[i]);
    from.push_back(start[i] == 0 ? at : at + c.size(start[i]));
  }
  return c.at(0, from);
}

// A slice of an axis that a reshape cut in several, along the first of these: the slice of the axis itself,
// then reshaped. So the parts of an axis are read in one way, however they were told apart.
Value slice_before_reshape(SimplifyContext& c) {
  const Node* inner = c.node->operand(0)->node();
  const Dims &start = c.node->attrs().get(kStart), &limit = c.node->attrs().get(kLimit);
  const Ints& strides = c.node->attrs().get(kSliceStrides);
  const Dims &from = inner->operand(0)->type().dims, &to = inner->result()->type().dims;
  size_t axis = 0;
  while (axis < from.size() && axis < to.size() && from[axis] == to[axis]) ++axis;
  if (axis >= from.size() || to.size() <= from.size()) return nullptr;
  const size_t pieces = to.size() - from.size() + 1;
  Dim width = int64_t{1};
  for (size_t i = 1; i < pieces; ++i) {
    if (start[axis + i] != 0 || limit[axis + i] != to[axis + i] || strides[axis + i] != 1) return nullptr;
    width = width * to[axis + i];
  }
  if (to[axis] * width != from[axis] || strides[axis] != 1 ||
      !std::equal(from.begin() + static_cast<int64_t>(axis) + 1, from.end(),
                  to.begin() + static_cast<int64_t>(axis + pieces)))
    return nullptr;
  auto joined = [&](const auto& of_pieces, auto of_axis) {
    auto out = of_pieces;
    out.erase(out.begin() + static_cast<int64_t>(axis) + 1,
              out.begin() + static_cast<int64_t>(axis + pieces));
    out[axis] = of_axis;
    return out;
  };
  Value slice =
      c.build("slice", {inner->operand(0)},
              {kStart % joined(start, start[axis] * width), kLimit % joined(limit, limit[axis] * width),
               kSliceStrides % joined(strides, int64_t{1})});
  return c.build.reshape(slice, c.node->result()->type().dims);
}

// A slice of some of the arrays that were joined is taken from these. (From several of them it is joined
// again, if nobody else needs all.)
Value slice_of_concatenate(SimplifyContext& c) {
  const Node* inner = c.node->operand(0)->node();
  const auto axis = static_cast<size_t>(inner->attrs().get(kAxis));
  const Dims &start = c.node->attrs().get(kStart), &limit = c.node->attrs().get(kLimit);
  const Ints& strides = c.node->attrs().get(kSliceStrides);
  auto surely = [&](const Dim& a, const Dim& b) { return c.scope.less_equal(a, b) == Truth::Yes; };
  struct Part {
    Value of;
    Dims start, limit;
  };
  std::vector<Part> parts;
  Dim begin = int64_t{0};
  for (Value v : inner->operands()) {
    const Dim size = v->type().dims[axis], end = begin + size;
    if (!surely(end, start[axis]) && !surely(limit[axis], begin)) {
      if (!surely(begin, start[axis]) && !surely(start[axis], begin)) return nullptr;
      if (!surely(limit[axis], end) && !surely(end, limit[axis])) return nullptr;
      Part part{v, start, limit};
      part.start[axis] = surely(begin, start[axis]) ? start[axis] - begin : Dim(int64_t{0});
      part.limit[axis] = surely(limit[axis], end) ? limit[axis] - begin : size;
      parts.push_back(std::move(part));
    }
    begin = end;
  }
  const bool again =
      parts.size() < inner->operands().size() && strides[axis] == 1 && inner->result()->uses().size() == 1;
  if (parts.empty() || (parts.size() > 1 && !again)) return nullptr;
  std::vector<Value> values;
  for (Part& part : parts)
    values.push_back(
        c.build("slice", {part.of},
                {kStart % std::move(part.start), kLimit % std::move(part.limit), kSliceStrides % strides}));
  return values.size() == 1 ? values[0] : c.build.node(op_of(inner), values, inner->attrs())->result();
}

// A slice of what stands between the padding.
Value slice_of_pad(SimplifyContext& c) {
  const Node* inner = c.node->operand(0)->node();
  const auto& low = inner->attrs().get(kPadLow);
  const Ints& interior = inner->attrs().get(kPadInterior);
  Dims start = c.node->attrs().get(kStart), limit = c.node->attrs().get(kLimit);
  for (size_t i = 0; i < start.size(); ++i) {
    start[i] = start[i] - low[i], limit[i] = limit[i] - low[i];
    if (interior[i] != 0 || c.scope.less_equal(0, start[i]) != Truth::Yes ||
        c.scope.less_equal(limit[i], inner->operand(0)->type().dims[i]) != Truth::Yes)
      return nullptr;
  }
  return c.build("slice", {inner->operand(0)},
                 {kStart % start, kLimit % limit, kSliceStrides % c.node->attrs().get(kSliceStrides)});
}

Value simplify_slice(SimplifyContext& c) {
  Value x = c.node->operand(0);
  const Dims &start = c.node->attrs().get(kStart), &limit = c.node->attrs().get(kLimit);
  const Ints& strides = c.node->attrs().get(kSliceStrides);
  bool whole = x->type() == c.node->result()->type();
  for (size_t i = 0; i < start.size(); ++i) whole = whole && start[i] == 0 && strides[i] == 1;
  if (whole) return x;
  Node* inner = x->node();
  if (inner && has(inner, Trait::Relabel)) return slice_before_reshape(c);
  if (inner && op_of(inner).decl.name == "concatenate") return slice_of_concatenate(c);
  if (inner && op_of(inner).decl.name == "pad") return slice_of_pad(c);
  if (!inner || inner->op() != c.node->op()) return nullptr;
  const Dims& inner_start = inner->attrs().get(kStart);
  const Ints& inner_strides = inner->attrs().get(kSliceStrides);
  Dims first, last;
  Ints steps;
  for (size_t i = 0; i < start.size(); ++i) {
    Dim count = c.node->result()->type().dims[i];
    int64_t step = strides[i] * inner_strides[i];
    Dim from = inner_start[i] + start[i] * inner_strides[i];
    first.push_back(from);
    steps.push_back(step);
    if (step == 1)
      last.push_back(inner_start[i] + limit[i]);
    else if (count == 0)
      last.push_back(from);
    else
      last.push_back(from + (count - 1) * step + 1);
    // A symbolic count that may be 0 would put the limit in front of the start.
    if (step != 1 && c.scope.less_equal(count, 0) == Truth::Unknown) return nullptr;
  }
  return c.build("slice", {inner->operand(0)}, {kStart % first, kLimit % last, kSliceStrides % steps});
}

std::vector<Value> transpose_slice(TransposeContext& c) {
  Value ct = c.cotangents[0];
  if (!ct) return {nullptr};
  const Type& x = c.node->operand(0)->type();
  const Dims& start = c.node->attrs().get(kStart);
  const Ints& strides = c.node->attrs().get(kSliceStrides);
  Dims high;
  Ints interior;
  for (size_t i = 0; i < start.size(); ++i) {
    const Dim& n = ct->type().dims[i];
    Dim between = strides[i] == 1 ? Dim(int64_t{0}) : max(n - 1, Dim(int64_t{0})) * (strides[i] - 1);
    high.push_back(x.dims[i] - start[i] - n - between);
    interior.push_back(strides[i] - 1);
  }
  return {c.build("pad", {ct, c.build.scalar(x.dtype, 0)},
                  {kPadLow % start, kPadHigh % high, kPadInterior % interior})};
}

Batched batch_slice(BatchContext& c) {
  Dims start = c.node->attrs().get(kStart), limit = c.node->attrs().get(kLimit);
  Ints strides = c.node->attrs().get(kSliceStrides);
  start.insert(start.begin(), Dim(int64_t{0}));
  limit.insert(limit.begin(), c.size);
  strides.insert(strides.begin(), 1);
  Value x = batch_to_front(c.build, c.operands[0], c.axes[0]);
  return {{c.build("slice", {x}, {kStart % start, kLimit % limit, kSliceStrides % strides})}, {0}};
}

// --- the declarations
// --------------------------------------------------------------------------------------------------
Op broadcast_in_dim_op() {
  return {
      .decl =
          {.name = "broadcast_in_dim",
           .python = "broadcast_in_dim",
           .doc =
               "The array stretched to `shape`: its axis i becomes the axis broadcast_dimensions[i] of the "
               "result, and repeats where its size is 1.\nAxes of the result that no axis of the operand "
               "becomes repeat the whole. A symbolic size is never taken as 1. StableHLO.",
           .operands = {{"x", "The array."}},
           .attrs = {kShape, kBroadcastDims},
           .traits = Trait::View | Trait::Linear | Trait::Cheap,
           .numpy = "np.broadcast_to(x.reshape([x.shape[broadcast_dimensions.index(i)] if i in "
                    "broadcast_dimensions else 1 for i in range(len(shape))]), shape) if "
                    "list(broadcast_dimensions) == sorted(broadcast_dimensions) else np.broadcast_to("
                    "x.transpose(np.argsort(broadcast_dimensions)).reshape([x.shape["
                    "broadcast_dimensions.index(i)] if i in broadcast_dimensions else 1 for i in "
                    "range(len(shape))]), shape)",
           .example = "ig.broadcast_in_dim(ig.asarray([1, 2]), shape=(2, 3), broadcast_dimensions=(0,))",
           .samples = {{"T[]", "{shape = [2, 3], broadcast_dimensions = []}"},
                       {"T[3]", "{shape = [2, 3], broadcast_dimensions = [1]}"},
                       {"T[3]", "{shape = [3, 2], broadcast_dimensions = [0]}"},
                       {"T[1, 3]", "{shape = [4, 3], broadcast_dimensions = [0, 1]}"},
                       {"T[2, 1, 3]", "{shape = [2, 5, 4, 3], broadcast_dimensions = [0, 1, 3]}"},
                       {"T[2, 3]", "{shape = [3, 2], broadcast_dimensions = [1, 0]}"},
                       {"T[0]", "{shape = [2, 0], broadcast_dimensions = [1]}"},
                       {"T[1]", "{shape = [0], broadcast_dimensions = [0]}"},
                       {"T[1]", "{shape = [1], broadcast_dimensions = [0]}"}},
           .bad_samples = {{"T[3]", "{shape = [2, 3], broadcast_dimensions = []}",
                            "ValueError: broadcast_in_dim: broadcast_dimensions has 0 entries, but 1 is "
                            "needed"},
                           {"T[3]", "{shape = [2, 3], broadcast_dimensions = [2]}",
                            "IndexError: broadcast_in_dim: broadcast_dimensions holds 2, but there are 2 "
                            "axes"},
                           {"T[3, 3]", "{shape = [3, 3], broadcast_dimensions = [1, 1]}",
                            "ValueError: broadcast_in_dim: broadcast_dimensions names axis 1 twice"}}},
      .rules = {.infer = infer_broadcast,
                .reference = reference_broadcast,
                .lower = LowerRule::of_point(point_broadcast),
                .simplify = simplify_broadcast,
                .jvp = linear_jvp,
                .transpose = transpose_broadcast,
                .batch = batch_broadcast,
                .body = no_body(),
                .bounds = bounds_of_first},
      .id = {}};
}

Op reshape_op() {
  return {.decl = {.name = "reshape",
                   .python = "",
                   .doc = "The same elements in row-major order, with the sizes `shape`. StableHLO.",
                   .operands = {{"x", "The array."}},
                   .attrs = {kShape},
                   .traits = Trait::View | Trait::Linear | Trait::Relabel | Trait::Cheap,
                   .front = Front::None,
                   .numpy = "x.reshape(shape)",
                   .example = "",
                   .samples = {{"T[]", "{shape = [1, 1]}"},
                               {"T[6]", "{shape = [2, 3]}"},
                               {"T[2, 3]", "{shape = [6]}"},
                               {"T[2, 3, 4]", "{shape = [4, 3, 2]}"},
                               {"T[2, 12]", "{shape = [2, 3, 4]}"},
                               {"T[2, 3, 4, 1]", "{shape = [1, 6, 2, 2]}"},
                               {"T[4, 6]", "{shape = [8, 3]}"},
                               {"T[0, 3]", "{shape = [5, 0]}"},
                               {"T[1]", "{shape = []}"}},
                   .bad_samples = {}},
          .rules = {.infer = infer_reshape,
                    .reference = reference_reshape,
                    .lower = LowerRule::of_point(point_reshape),
                    .simplify = simplify_reshape,
                    .jvp = linear_jvp,
                    .transpose = transpose_reshape,
                    .batch = batch_reshape,
                    .body = no_body(),
                    .bounds = bounds_of_first},
          .id = {}};
}

Op transpose_op() {
  return {.decl = {.name = "transpose",
                   .python = "",
                   .doc = "The array with its axes reordered: axis i of the result is the operand's axis "
                          "permutation[i]. StableHLO.",
                   .operands = {{"x", "The array."}},
                   .attrs = {kPermutation},
                   .traits = Trait::View | Trait::Linear | Trait::Cheap,
                   .front = Front::None,
                   .numpy = "np.transpose(x, permutation)",
                   .example = "",
                   .samples = {{"T[]", "{permutation = []}"},
                               {"T[3]", "{permutation = [0]}"},
                               {"T[2, 3]", "{permutation = [1, 0]}"},
                               {"T[2, 3, 4]", "{permutation = [2, 0, 1]}"},
                               {"T[2, 3, 4, 5]", "{permutation = [0, 2, 1, 3]}"},
                               {"T[17, 9]", "{permutation = [1, 0]}"},
                               {"T[2, 0, 3]", "{permutation = [1, 2, 0]}"},
                               {"T[1, 5]", "{permutation = [1, 0]}"}},
                   .bad_samples = {{"T[2, 3]", "{permutation = [0]}",
                                    "ValueError: transpose: permutation has 1 entry, but 2 are needed"},
                                   {"T[2, 3]", "{permutation = [0, 0]}",
                                    "ValueError: transpose: permutation names axis 0 twice"},
                                   {"T[2, 3]", "{permutation = [0, 2]}",
                                    "IndexError: transpose: permutation holds 2, but there are 2 axes"}}},
          .rules = {.infer = infer_transpose,
                    .reference = reference_transpose,
                    .lower = LowerRule::of_point(point_transpose),
                    .simplify = simplify_transpose,
                    .jvp = linear_jvp,
                    .transpose = transpose_transpose,
                    .batch = batch_transpose,
                    .body = no_body(),
                    .bounds = bounds_of_first},
          .id = {}};
}

Op reverse_op() {
  return {.decl = {.name = "reverse",
                   .python = "",
                   .doc = "The array with the order of elements reversed along `dimensions`. StableHLO.",
                   .operands = {{"x", "The array."}},
                   .attrs = {kReversed},
                   .traits = Trait::View | Trait::Linear | Trait::Cheap,
                   .front = Front::None,
                   .numpy = "np.flip(x, tuple(dimensions))",
                   .example = "",
                   .samples = {{"T[]", "{dimensions = []}"},
                               {"T[5]", "{dimensions = [0]}"},
                               {"T[3, 4]", "{dimensions = [1]}"},
                               {"T[2, 3, 4]", "{dimensions = [0, 2]}"},
                               {"T[33]", "{dimensions = [0]}"},
                               {"T[0, 2]", "{dimensions = [0, 1]}"},
                               {"T[1]", "{dimensions = [0]}"}},
                   .bad_samples = {{"T[2]", "{dimensions = [1]}",
                                    "IndexError: reverse: dimensions holds 1, but there are 1 axes"},
                                   {"T[2]", "{dimensions = [0, 0]}",
                                    "ValueError: reverse: dimensions names axis 0 twice"}}},
          .rules = {.infer = infer_reverse,
                    .reference = reference_reverse,
                    .lower = LowerRule::of_point(point_reverse),
                    .simplify = simplify_reverse,
                    .jvp = linear_jvp,
                    .transpose = transpose_reverse,
                    .batch = batch_reverse,
                    .body = no_body(),
                    .bounds = bounds_of_first},
          .id = {}};
}

Op slice_op() {
  return {.decl = {.name = "slice",
                   .python = "",
                   .doc = "The elements start, start + stride, ... below limit, along each axis. StableHLO.",
                   .operands = {{"x", "The array."}},
                   .attrs = {kStart, kLimit, kSliceStrides},
                   .traits = Trait::View | Trait::Linear | Trait::Cheap,
                   .front = Front::None,
                   .numpy = "x[tuple(slice(a, b, s) for a, b, s in zip(start, limit, strides))]",
                   .example = "",
                   .samples = {{"T[]", "{start = [], limit = [], strides = []}"},
                               {"T[10]", "{start = [2], limit = [9], strides = [3]}"},
                               {"T[4, 5]", "{start = [1, 0], limit = [3, 5], strides = [1, 2]}"},
                               {"T[3, 4, 5]", "{start = [0, 1, 2], limit = [3, 3, 5], strides = [2, 1, 1]}"},
                               {"T[2, 3, 2, 4]",
                                "{start = [0, 1, 0, 3], limit = [2, 2, 2, 4], strides = [1, 1, 1, 1]}"},
                               {"T[5]", "{start = [2], limit = [2], strides = [4]}"},
                               {"T[0]", "{start = [0], limit = [0], strides = [1]}"},
                               {"T[40]", "{start = [1], limit = [40], strides = [1]}"}},
                   .bad_samples = {{"T[4]", "{start = [0], limit = [4], strides = [0]}",
                                    "ValueError: slice: stride 0 of axis 0 is below 1"},
                                   {"T[4]", "{start = [0, 0], limit = [4], strides = [1]}",
                                    "ValueError: slice: start has 2 entries, but 1 is needed"}}},
          .rules = {.infer = infer_slice,
                    .reference = reference_slice,
                    .lower = LowerRule::of_point(point_slice),
                    .simplify = simplify_slice,
                    .jvp = linear_jvp,
                    .transpose = transpose_slice,
                    .batch = batch_slice,
                    .body = no_body(),
                    .bounds = bounds_of_first},
          .id = {}};
}

}  // namespace

std::vector<Op> joining_ops();  // structural_join.cpp

std::vector<Op> structural_ops() {
  std::vector<Op> ops;
  ops.push_back(broadcast_in_dim_op());
  ops.push_back(reshape_op());
  ops.push_back(transpose_op());
  ops.push_back(reverse_op());
  ops.push_back(slice_op());
  for (Op& op : joining_ops()) ops.push_back(std::move(op));
  return ops;
}

}  // namespace ig::ops
