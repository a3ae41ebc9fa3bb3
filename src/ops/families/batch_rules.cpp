// Batch rules of slicing, indexing and convolution, and the tools that all rules share.
#include "ops/families/batch_rules.h"

#include <algorithm>

#include "ops/contraction.h"
#include "ops/families/array_tools.h"
#include "ops/shape_attrs.h"

namespace ig::ops {

using namespace tools;

Value in_front(BatchContext& c, size_t i) {
  Value x = c.operands[i];
  if (c.axes[i] >= 0) return batch_to_front(c.build, x, c.axes[i]);
  return c.build.broadcast(x, with_front(x->type().dims, c.size), iota(x->type().rank(), 1));
}

std::vector<Value> all_in_front(BatchContext& c) {
  std::vector<Value> out;
  for (size_t i = 0; i < c.operands.size(); ++i) out.push_back(in_front(c, i));
  return out;
}

bool any_batched(const BatchContext& c, size_t first) {
  return std::any_of(c.axes.begin() + static_cast<int64_t>(first), c.axes.end(),
                     [](int axis) { return axis >= 0; });
}

Ints shifted(Ints axes, int64_t by) {
  for (int64_t& axis : axes) axis += by;
  return axes;
}

Ints with_front(Ints list, int64_t value) {
  list.insert(list.begin(), value);
  return list;
}

Dims with_front(Dims list, Dim value) {
  list.insert(list.begin(), std::move(value));
  return list;
}

Batched again(BatchContext& c, std::vector<Value> operands, Attrs attrs) {
  Node* node = c.build.node(op_of(c.node), std::move(operands), std::move(attrs));
  return {{node->results().begin(), node->results().end()}, std::vector<int>(node->results().size(), 0)};
}

Batched batch_in_front(BatchContext& c) { return again(c, all_in_front(c), c.node->attrs()); }

Batched batch_along_axis(BatchContext& c) {
  Attrs attrs = c.node->attrs();
  attrs.set(kAxis, attrs.get(kAxis) + 1);
  return again(c, all_in_front(c), std::move(attrs));
}

// --- slices at computed places
// -------------------------------------------------------------------------------------------------
namespace {

// An index of any integer type as i64; an unsigned one beyond it becomes the greatest.
Value as_i64(Builder& build, Value index) {
  if (index->type().dtype == DType::U64) {
    Literal most = Literal::allocate(DType::U64, {});
    set_whole(most, 0, std::numeric_limits<int64_t>::max());
    Value bound = build.broadcast(build.constant(most), index->type().dims, {});
    index = build("minimum", {index, bound});
  }
  return build.convert(index, DType::I64);
}

Value size_value(Builder& build, const Dim& size) {
  if (!size.is_constant()) return build("dimension_size", {}, {{"size", Dims{size}}});
  Literal value = Literal::allocate(DType::I64, {});
  set_whole(value, 0, size.constant());
  return build.constant(value);
}

// The start indices from operand `first` on, as the rows of i64[size, count]; with `room`, each is clamped to
// [0, room of its axis].
Value start_rows(BatchContext& c, size_t first, const Dims* room) {
  std::vector<Value> columns;
  const Dims row{c.size};
  for (size_t i = first; i < c.operands.size(); ++i) {
    Value start = as_i64(c.build, in_front(c, i));
    if (room) {
      Value most = c.build.broadcast(size_value(c.build, (*room)[i - first]), row, {});
      Value least = c.build.full(start->type(), 0);
      start = c.build("maximum", {c.build("minimum", {start, most}), least});
    }
    columns.push_back(c.build.reshape(start, {c.size, Dim(int64_t{1})}));
  }
  return c.build("concatenate", columns, {kAxis % 1});
}

}  // namespace

Batched batch_dynamic_slice(BatchContext& c) {
  const Dims& sizes = c.node->attrs().get(kSliceSizes);
  int64_t rank = c.node->operand(0)->type().rank();
  if (!any_batched(c, 1)) {
    std::vector<Value> operands(c.operands.begin(), c.operands.end());
    operands[0] = in_front(c, 0);
    operands.insert(operands.begin() + 1, c.build.scalar(DType::I64, 0));
    return again(c, std::move(operands), make_attrs({kSliceSizes % with_front(sizes, c.size)}));
  }
  // One slice a row: a gather, which clamps in the same way.
  bool rows_of_own = c.axes[0] >= 0;
  Value x = rows_of_own ? in_front(c, 0) : c.operands[0];
  Ints of_rows = rows_of_own ? Ints{0} : Ints{};
  Value out = c.build("gather", {x, start_rows(c, 1, nullptr)},
                      {kOffsetDims % iota(rank, 1), kCollapsedDims % Ints{}, kOperandBatchDims % of_rows,
                       kIndicesBatchDims % of_rows, kStartIndexMap % iota(rank, rows_of_own ? 1 : 0),
                       kIndexVectorDim % 1, kSliceSizes % (rows_of_own ? with_front(sizes, 1) : sizes)});
  return {{out}, {0}};
}

Batched batch_dynamic_update_slice(BatchContext& c) {
  const Dims &dims = c.node->operand(0)->type().dims, &sizes = c.node->operand(1)->type().dims;
  auto rank = static_cast<int64_t>(dims.size());
  if (!any_batched(c, 2)) {
    std::vector<Value> operands(c.operands.begin(), c.operands.end());
    operands[0] = in_front(c, 0);
    operands[1] = in_front(c, 1);
    operands.insert(operands.begin() + 2, c.build.scalar(DType::I64, 0));
    return again(c, std::move(operands), c.node->attrs());
  }
  // One window a row. A scatter leaves out what falls outside, so the starts are clamped before.
  Dims room;
  for (size_t i = 0; i < dims.size(); ++i) room.push_back(dims[i] - sizes[i]);
  Value out = c.build("scatter", {in_front(c, 0), start_rows(c, 2, &room), in_front(c, 1)},
                      {kUpdateWindowDims % iota(rank, 1), kInsertedDims % Ints{}, kInputBatchDims % Ints{0},
                       kScatterBatchDims % Ints{0}, kScatterMap % iota(rank, 1), kIndexVectorDim % 1,
                       kUpdate % std::string("set")});
  return {{out}, {0}};
}

// --- gather, scatter
// -----------------------------------------------------------------------------------------------------------
Batched batch_gather(BatchContext& c) {
  bool of_x = c.axes[0] >= 0, of_indices = c.axes[1] >= 0;
  Attrs attrs = c.node->attrs();
  Ints offset = shifted(attrs.get(kOffsetDims));
  if (of_x) {
    attrs.set(kCollapsedDims, shifted(attrs.get(kCollapsedDims)));
    attrs.set(kOperandBatchDims, shifted(attrs.get(kOperandBatchDims)));
    attrs.set(kStartIndexMap, shifted(attrs.get(kStartIndexMap)));
  }
  if (of_indices) {
    attrs.set(kIndicesBatchDims, shifted(attrs.get(kIndicesBatchDims)));
    attrs.set(kIndexVectorDim, attrs.get(kIndexVectorDim) + 1);
  }
  if (of_x && of_indices) {
    attrs.set(kOperandBatchDims, with_front(attrs.get(kOperandBatchDims), 0));
    attrs.set(kIndicesBatchDims, with_front(attrs.get(kIndicesBatchDims), 0));
    attrs.set(kSliceSizes, with_front(attrs.get(kSliceSizes), 1));
  } else if (of_x) {
    // Each slice spans the batch: its first axis becomes the result's.
    attrs.set(kSliceSizes, with_front(attrs.get(kSliceSizes), c.size));
    offset = with_front(offset, 0);
  }
  attrs.set(kOffsetDims, offset);
  return again(c, {of_x ? in_front(c, 0) : c.operands[0], of_indices ? in_front(c, 1) : c.operands[1]},
               std::move(attrs));
}

Batched batch_scatter(BatchContext& c) {
  bool of_indices = c.axes[1] >= 0;
  Attrs attrs = c.node->attrs();
  Ints window = shifted(attrs.get(kUpdateWindowDims));
  attrs.set(kInsertedDims, shifted(attrs.get(kInsertedDims)));
  attrs.set(kInputBatchDims, shifted(attrs.get(kInputBatchDims)));
  attrs.set(kScatterMap, shifted(attrs.get(kScatterMap)));
  if (of_indices) {
    attrs.set(kInputBatchDims, with_front(attrs.get(kInputBatchDims), 0));
    attrs.set(kScatterBatchDims, with_front(shifted(attrs.get(kScatterBatchDims)), 0));
    attrs.set(kIndexVectorDim, attrs.get(kIndexVectorDim) + 1);
  } else {
    window = with_front(window, 0);  // each window spans the batch
  }
  attrs.set(kUpdateWindowDims, window);
  return again(c, {in_front(c, 0), of_indices ? in_front(c, 1) : c.operands[1], in_front(c, 2)},
               std::move(attrs));
}

// --- convolution
// ----------------------------------------------------------------------------------------------------------------
namespace {

// An axis of x cut into `sizes`.
Value cut(Builder& build, Value x, int64_t axis, const Dims& sizes) {
  Dims shape = x->type().dims;
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, sizes.begin(), sizes.end());
  return build.reshape(x, shape);
}

// Axes from `axis` on, so many of them, made one.
Value merged(Builder& build, Value x, int64_t axis, int64_t count) {
  Dims shape = x->type().dims;
  Dim size = 1;
  for (int64_t i = 0; i < count; ++i) size = size * shape[static_cast<size_t>(axis + i)];
  shape.erase(shape.begin() + axis, shape.begin() + axis + count);
  shape.insert(shape.begin() + axis, size);
  return build.reshape(x, shape);
}

Value moved(Builder& build, Value x, int64_t from, int64_t to) {
  Ints order = iota(x->type().rank());
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  return build.transpose(x, order);
}

// The batch axis, in front of x, goes into `axis` (counted without it), behind that axis's `groups`.
Value folded(Builder& build, Value x, int64_t axis, int64_t groups) {
  Dim whole = x->type().dims[static_cast<size_t>(axis + 1)];
  if (groups == 1) return merged(build, moved(build, x, 0, axis), axis, 2);
  x = cut(build, x, axis + 1, {Dim(groups), floordiv(whole, groups)});  // batch, …, groups, rest, …
  return merged(build, moved(build, x, 0, axis + 1), axis, 3);
}

// The inverse: the batch axis of an axis that holds groups, batch and rest goes to the front.
Value unfolded(Builder& build, Value x, int64_t axis, int64_t groups, const Dim& size, const Dim& whole) {
  if (groups == 1) return moved(build, cut(build, x, axis, {size, whole}), axis, 0);
  x = cut(build, x, axis, {Dim(groups), size, floordiv(whole, groups)});
  return merged(build, moved(build, x, axis + 1, 0), axis + 1, 2);
}

}  // namespace

Batched batch_convolution(BatchContext& c) {
  ConvDims d(c.node->attrs());
  Builder& build = c.build;
  const Dims& out_dims = c.node->result()->type().dims;
  Attrs attrs = c.node->attrs();
  auto convolve = [&](Value x, Value w) { return build.node(op_of(c.node), {x, w}, attrs)->result(); };
  Dim features = out_dims[static_cast<size_t>(d.out_feature)];
  Dim images = out_dims[static_cast<size_t>(d.out_batch)];
  int64_t groups = std::max(d.feature_groups, d.batch_groups);
  if (c.axes[1] < 0) {  // more images
    Value out = convolve(folded(build, in_front(c, 0), d.lhs_batch, d.batch_groups), c.operands[1]);
    return {{unfolded(build, out, d.out_batch, 1, c.size, images)}, {0}};
  }
  if (c.axes[0] < 0) {  // more features
    Value out = convolve(c.operands[0], folded(build, in_front(c, 1), d.rhs_out, groups));
    return {{unfolded(build, out, d.out_feature, groups, c.size, features)}, {0}};
  }
  // Each image with its own kernel: more groups, whose number must be known.
  if (!c.size.is_constant()) return batch_by_loop(c);
  int64_t size = c.size.constant();
  if (size == 0) {
    Type type = c.node->result()->type();
    type.dims = with_front(type.dims, c.size);
    return {{build.full(type, 0)}, {0}};
  }
  bool of_images = d.batch_groups > 1;
  if (of_images)
    attrs.set(kBatchGroups, size * d.batch_groups);
  else
    attrs.set(kFeatureGroups, size * d.feature_groups);
  Value out = convolve(folded(build, in_front(c, 0), of_images ? d.lhs_batch : d.lhs_feature, 1),
                       folded(build, in_front(c, 1), d.rhs_out, 1));
  return {{unfolded(build, out, d.out_feature, 1, c.size, features)}, {0}};
}

}  // namespace ig::ops
