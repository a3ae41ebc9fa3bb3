// gather: an array of slices of an array, each starting where an index vector says. StableHLO's dimension
// numbers.
#include <algorithm>
#include <limits>

#include "ops/families/array_tools.h"
#include "ops/families/batch_rules.h"
#include "ops/families/bounds_rules.h"
#include "ops/families/derivative_rules.h"
#include "ops/families/families.h"
#include "ops/shape_attrs.h"
#include "ops/table.h"

namespace ig::ops {

std::vector<Op> scatter_ops();  // scatter.cpp

namespace {

using namespace tools;
using loop::Expr;

// The dimension numbers of one gather, with the lists that follow from them.
struct GatherDims {
  const Ints &offset, &collapsed, &operand_batch, &indices_batch, &map;
  int64_t vector_dim;
  Ints batch_axes;   // the result's axes that walk over index vectors
  Ints window_axes;  // the operand's axes that a slice keeps, in order: they pair with `offset`

  GatherDims(const Attrs& attrs, int operand_rank, int result_rank)
      : offset(attrs.get(kOffsetDims)),
        collapsed(attrs.get(kCollapsedDims)),
        operand_batch(attrs.get(kOperandBatchDims)),
        indices_batch(attrs.get(kIndicesBatchDims)),
        map(attrs.get(kStartIndexMap)),
        vector_dim(attrs.get(kIndexVectorDim)) {
    for (int64_t i = 0; i < result_rank; ++i)
      if (!contains_axis(offset, i)) batch_axes.push_back(i);
    for (int64_t i = 0; i < operand_rank; ++i)
      if (!contains_axis(collapsed, i) && !contains_axis(operand_batch, i)) window_axes.push_back(i);
  }
};

void infer_gather(InferContext& c) {
  const Type &x = c.operand(0), &indices = c.operand(1);
  require_index_dtype(c, 1);
  const Ints &offset = c.get(kOffsetDims), &collapsed = c.get(kCollapsedDims), &map = c.get(kStartIndexMap);
  const Ints &operand_batch = c.get(kOperandBatchDims), &indices_batch = c.get(kIndicesBatchDims);
  const Dims& sizes = c.get(kSliceSizes);
  int64_t vector_dim = c.get(kIndexVectorDim);
  if (vector_dim < 0 || vector_dim > indices.rank())
    c.fail(ErrorKind::Index,
           fmt::format("index_vector_dim {} is not an axis of the indices, nor their rank {}", vector_dim,
                       indices.rank()),
           "it names the axis of the indices along which one index lies",
           "give an axis, or the rank where each index is a scalar");
  bool has_vectors = vector_dim < indices.rank();
  int batch_rank = indices.rank() - (has_vectors ? 1 : 0);
  int result_rank = batch_rank + static_cast<int>(offset.size());
  require_count(c, sizes.size(), x.dims.size(), "slice_sizes");
  require_axes(c, collapsed, x.rank(), "collapsed_slice_dims");
  require_axes(c, operand_batch, x.rank(), "operand_batching_dims");
  require_axes(c, indices_batch, indices.rank(), "start_indices_batching_dims");
  require_axes(c, map, x.rank(), "start_index_map");
  require_axes(c, offset, result_rank, "offset_dims");
  require_count(c, indices_batch.size(), operand_batch.size(), "start_indices_batching_dims");
  require_count(c, offset.size(), x.dims.size() - collapsed.size() - operand_batch.size(), "offset_dims");
  if (!std::is_sorted(offset.begin(), offset.end()))
    c.fail(ErrorKind::Value, "offset_dims is not ascending", "the axes of a slice keep their order",
           "sort offset_dims, and transpose the result");
  c.require_equal(has_vectors ? indices.dims[static_cast<size_t>(vector_dim)] : Dim(1),
                  Dim(static_cast<int64_t>(map.size())),
                  "the length of the index vectors and of start_index_map");
  for (size_t i = 0; i < sizes.size(); ++i) {
    c.require_less_equal(0, sizes[i], "the size of the slice");
    // A batched axis has slice size 1 even where it is empty, for then the result is.
    if (!contains_axis(operand_batch, static_cast<int64_t>(i)))
      c.require_less_equal(sizes[i], x.dims[i], "the size of the slice and of its axis");
  }
  for (int64_t axis : collapsed)
    c.require_equal(sizes[static_cast<size_t>(axis)], 1, "the collapsed slice size");
  for (size_t i = 0; i < operand_batch.size(); ++i) {
    c.require_equal(sizes[static_cast<size_t>(operand_batch[i])], 1, "the batched slice size");
    c.require_equal(x.dims[static_cast<size_t>(operand_batch[i])],
                    indices.dims[static_cast<size_t>(indices_batch[i])], "the batched axes");
    if (contains_axis(map, operand_batch[i]) || contains_axis(collapsed, operand_batch[i]))
      c.fail(ErrorKind::Value,
             fmt::format("axis {} of the operand is batched, and indexed or collapsed as well",
                         operand_batch[i]),
             "a batched axis is walked together with the indices", "name the axis in one of the three");
  }
  GatherDims dims(c.attrs, x.rank(), result_rank);
  Dims shape(static_cast<size_t>(result_rank));
  for (size_t i = 0; i < offset.size(); ++i)
    shape[static_cast<size_t>(offset[i])] = sizes[static_cast<size_t>(dims.window_axes[i])];
  size_t next = 0;
  for (int64_t i = 0; i < indices.rank(); ++i)
    if (i != vector_dim)
      shape[static_cast<size_t>(dims.batch_axes[next++])] = indices.dims[static_cast<size_t>(i)];
  c.result(x.dtype, shape);
}

// Where the entry `entry` of the index vector of a result element stands among the indices. `T` is an index
// of either world: a number in the reference, an expression in the kernel.
template <typename T>
std::vector<T> vector_entry(const GatherDims& dims, const std::vector<T>& result_index, int indices_rank,
                            T entry) {
  std::vector<T> at;
  size_t next = 0;
  for (int64_t i = 0; i < indices_rank; ++i)
    at.push_back(i == dims.vector_dim ? entry : result_index[static_cast<size_t>(dims.batch_axes[next++])]);
  return at;
}

// The position, among the result's batch axes, of an axis of the indices.
size_t batch_position(const GatherDims& dims, int64_t indices_axis) {
  return static_cast<size_t>(
      dims.batch_axes[static_cast<size_t>(indices_axis - (indices_axis > dims.vector_dim))]);
}

void reference_gather(ReferenceContext& c) {
  const Literal &x = c.operands[0], &indices = c.operands[1];
  int indices_rank = static_cast<int>(indices.dims().size());
  GatherDims dims(c.attrs, static_cast<int>(x.dims().size()), static_cast<int>(c.results[0].dims().size()));
  std::vector<int64_t> sizes = ints_of(c.attrs.get(kSliceSizes));
  each_index(c.results[0].dims(), [&](const Index& index, int64_t flat) {
    Index from(x.dims().size(), 0);
    for (size_t k = 0; k < dims.map.size(); ++k) {
      auto axis = static_cast<size_t>(dims.map[k]);
      Index at = vector_entry<int64_t>(dims, index, indices_rank, static_cast<int64_t>(k));
      from[axis] = std::clamp<int64_t>(index_at(indices, flat_of(indices.dims(), at)), 0,
                                       x.dims()[axis] - sizes[axis]);
    }
    for (size_t k = 0; k < dims.operand_batch.size(); ++k)
      from[static_cast<size_t>(dims.operand_batch[k])] = index[batch_position(dims, dims.indices_batch[k])];
    for (size_t k = 0; k < dims.window_axes.size(); ++k)
      from[static_cast<size_t>(dims.window_axes[k])] += index[static_cast<size_t>(dims.offset[k])];
    copy_element(c.results[0], flat, x, flat_of(x.dims(), from));
  });
}

Expr point_gather(PointContext& c) {
  const Type &x = c.operand_type(0), &indices = c.operand_type(1);
  loop::Builder& build = *c.build;
  GatherDims dims(c.node->attrs(), x.rank(), c.node->result()->type().rank());
  const Dims& sizes = c.node->attrs().get(kSliceSizes);
  std::vector<Expr> from(x.dims.size(), build.index(0));
  for (size_t k = 0; k < dims.map.size(); ++k) {
    auto axis = static_cast<size_t>(dims.map[k]);
    if (x.dims[axis] == sizes[axis]) continue;  // one place only
    const Expr start =
        c.at(1, vector_entry<Expr>(dims, c.index, indices.rank(), build.index(static_cast<int64_t>(k))));
    from[axis] = start_within(c, start, x.dims[axis] - sizes[axis]);
  }
  for (size_t k = 0; k < dims.operand_batch.size(); ++k)
    from[static_cast<size_t>(dims.operand_batch[k])] = c.index[batch_position(dims, dims.indices_batch[k])];
  for (size_t k = 0; k < dims.window_axes.size(); ++k) {
    auto axis = static_cast<size_t>(dims.window_axes[k]);
    from[axis] = from[axis] + c.index[static_cast<size_t>(dims.offset[k])];
  }
  return c.at(0, from);
}

// Of a gather that picks whole slices at known places along one axis: these places as runs of neighbours,
// upwards or downwards, or as one run with a step. Nothing where they are not known, or would be more runs
// than are worth a slice.
struct PlaceRun {
  int64_t first, step, count;
};
std::vector<PlaceRun> known_runs(const Node* node, const GatherDims& dims) {
  constexpr size_t kMostRuns = 8;
  const Type& x = node->operand(0)->type();
  const Literal* indices = elements_behind(node->operand(1));
  const bool slices_of_one_axis = dims.map == dims.collapsed && dims.map.size() == 1 &&
                                  dims.operand_batch.empty() && dims.batch_axes.size() == 1;
  if (!indices || !slices_of_one_axis) return {};
  const Dim& size = x.dims[static_cast<size_t>(dims.map[0])];
  for (int64_t i : dims.window_axes)
    if (!(node->attrs().get(kSliceSizes)[static_cast<size_t>(i)] == x.dims[static_cast<size_t>(i)]))
      return {};
  if (!size.is_constant() || size.constant() == 0) return {};
  auto place = [&](int64_t i) { return std::clamp<int64_t>(index_at(*indices, i), 0, size.constant() - 1); };
  const int64_t count = indices->elements();
  std::vector<PlaceRun> runs;
  for (int64_t i = 0; i < count; i += runs.back().count) {
    if (runs.size() == kMostRuns) return {};
    runs.push_back({place(i), 1, 1});
    if (i + 1 == count) continue;
    const int64_t step = place(i + 1) - place(i);
    int64_t end = i + 2;
    while (end < count && place(end) - place(end - 1) == step) ++end;
    if (step == 1 || step == -1 || (step != 0 && i == 0 && end == count))
      runs.back() = {place(i), step, end - i};
  }
  return runs;
}

// Known places, which lie `shift` further on along each axis that they name.
struct KnownPlaces {
  Value unshifted;
  const Literal* literal;
  std::vector<int64_t> shift;
};
std::optional<KnownPlaces> known_places(const Node* gather, const GatherDims& dims) {
  const Value indices = gather->operand(1);
  const size_t axes = dims.map.size();
  if (const Literal* literal = elements_behind(indices))
    return KnownPlaces{indices, literal, std::vector<int64_t>(axes)};
  const Node* add = indices->node();
  if (!add || op_of(add).decl.name != "add") return std::nullopt;
  const Literal* literal = elements_behind(add->operand(0));
  const Node* spread = add->operand(1)->node();
  if (!literal || !spread || !spread->attrs().find(kBroadcastDims.name)) return std::nullopt;
  const Literal* shift = elements_behind(spread->operand(0));
  const bool for_each = spread->attrs().get(kBroadcastDims) == Ints{dims.vector_dim};
  if (!shift || !(shift->elements() == 1 || (for_each && shift->elements() == std::ssize(dims.map))))
    return std::nullopt;
  KnownPlaces out{add->operand(0), literal, {}};
  for (size_t k = 0; k < axes; ++k)
    out.shift.push_back(index_at(*shift, shift->elements() == 1 ? 0 : static_cast<int64_t>(k)));
  return out;
}

// Along which of the operand's axes each of the places lies, whose number is an index into `map`: those along
// one axis come round after map.size() runs of `step` numbers.
struct AxesOfPlaces {
  AxesOfPlaces(const GatherDims& dims, const Dims& shape) : axes(static_cast<int64_t>(dims.map.size())) {
    for (auto i = static_cast<size_t>(dims.vector_dim) + 1; i < shape.size(); ++i)
      step *= shape[i].constant();
  }
  size_t operator()(int64_t place) const { return static_cast<size_t>(place / step % axes); }
  int64_t axes, step = 1;
};

// Of a padded array, at known places none of which takes from its border: the same of the array within.
Value within_border(SimplifyContext& c, const GatherDims& dims) {
  const Node* pad = c.node->operand(0)->node();
  if (!pad || !pad->attrs().find(kPadInterior.name)) return nullptr;
  const Value x = pad->operand(0);
  const auto outer = constant_dims(c.node->operand(0)->type().dims), inner = constant_dims(x->type().dims),
             low = constant_dims(pad->attrs().get(kPadLow)),
             sizes = constant_dims(c.node->attrs().get(kSliceSizes));
  const std::optional<KnownPlaces> places = known_places(c.node, dims);
  if (!places || dims.map.empty() || !outer || !inner || !low || !sizes) return nullptr;
  for (size_t a = 0; a < inner->size(); ++a) {
    if (pad->attrs().get(kPadInterior)[a] != 0) return nullptr;
    const bool named = std::ranges::count(dims.map, static_cast<int64_t>(a)) != 0;
    if (!named && ((*inner)[a] != (*outer)[a] || (*low)[a] != 0)) return nullptr;
  }
  const Dims& shape = c.node->operand(1)->type().dims;
  const AxesOfPlaces along(dims, shape);
  Literal moved = Literal::allocate(DType::I64, *constant_dims(shape));
  bool same = true;
  for (int64_t i = 0; i < moved.elements(); ++i) {
    const size_t k = along(i);
    const auto a = static_cast<size_t>(dims.map[k]);
    const int64_t was = index_at(*places->literal, i);
    const int64_t at = std::clamp<int64_t>(was + places->shift[k], 0, (*outer)[a] - (*sizes)[a]) - (*low)[a];
    if (at < 0 || at > (*inner)[a] - (*sizes)[a]) return nullptr;
    set_whole(moved, i, at);
    same = same && at == was;
  }
  const Value indices = same ? places->unshifted : c.build.constant(std::move(moved));
  return c.build.node(op_of(c.node), {x, indices}, c.node->attrs())->result();
}

// Known places as numbers of 32 bits where that holds them, which are half as much to read and to compare.
Value at_narrow_places(SimplifyContext& c, const GatherDims& dims) {
  constexpr int64_t kFew = 64;
  const Value indices = c.node->operand(1);
  const Literal* places = elements_behind(indices);
  const auto outer = constant_dims(c.node->operand(0)->type().dims),
             sizes = constant_dims(c.node->attrs().get(kSliceSizes));
  if (!places || places->elements() < kFew || size_of(places->dtype()) <= sizeof(int32_t) || !outer || !sizes)
    return nullptr;
  const Dims& shape = indices->type().dims;
  const AxesOfPlaces along(dims, shape);
  Literal narrow = Literal::allocate(DType::I32, *constant_dims(shape));
  for (int64_t i = 0; i < narrow.elements(); ++i) {
    const auto a = static_cast<size_t>(dims.map[along(i)]);
    const int64_t at = std::clamp<int64_t>(index_at(*places, i), 0, (*outer)[a] - (*sizes)[a]);
    if (at > std::numeric_limits<int32_t>::max()) return nullptr;
    set_whole(narrow, i, at);
  }
  const Value kept = c.build.constant(std::move(narrow));
  return c.build.node(op_of(c.node), {c.node->operand(0), kept}, c.node->attrs())->result();
}

// What picks known places is made of slices: the colours of a pixel in another order, every second row.
Value simplify_gather(SimplifyContext& c) {
  const Value x = c.node->operand(0);
  const GatherDims dims(c.node->attrs(), x->type().rank(), c.node->result()->type().rank());
  if (Value within = within_border(c, dims)) return within;
  const std::vector<PlaceRun> runs = known_runs(c.node, dims);
  if (runs.empty()) return at_narrow_places(c, dims);
  const auto axis = static_cast<size_t>(dims.map[0]);
  std::vector<Value> parts;
  for (const PlaceRun& run : runs) {
    const int64_t last = run.first + run.step * (run.count - 1);
    Dims start(x->type().dims.size(), Dim(int64_t{0})), limit = x->type().dims;
    Ints strides(start.size(), 1);
    start[axis] = Dim(std::min(run.first, last));
    limit[axis] = Dim(std::max(run.first, last) + 1);
    strides[axis] = run.step < 0 ? -run.step : run.step;
    Value part = c.build("slice", {x}, {kStart % start, kLimit % limit, kSliceStrides % strides});
    if (run.step < 0) part = c.build("reverse", {part}, {kReversed % dims.map});
    parts.push_back(part);
  }
  Value out = parts.size() == 1 ? parts[0] : c.build("concatenate", parts, {kAxis % dims.map[0]});
  Ints order(x->type().dims.size());
  order[static_cast<size_t>(dims.batch_axes[0])] = dims.map[0];
  for (size_t i = 0; i < dims.offset.size(); ++i)
    order[static_cast<size_t>(dims.offset[i])] = dims.window_axes[i];
  return c.build.transpose(out, order);
}

Op gather_op() {
  return {
      .decl =
          {.name = "gather",
           .python = "",
           .doc = "Slices of an array, each starting where an index vector says, put together.\nAn index out "
                  "of range is clamped so that the whole slice lies inside the array. StableHLO's dimension "
                  "numbers.",
           .operands = {{"x", "The array."}, {"indices", "Integers: where the slices start."}},
           .attrs = {kOffsetDims, kCollapsedDims, kOperandBatchDims, kIndicesBatchDims, kStartIndexMap,
                     kIndexVectorDim, kSliceSizes},
           .traits = Trait::View | Trait::Cheap,
           .front = Front::None,
           .numpy = "none: NumPy has no gather of slices; take and take_along_axis are checked against it",
           .example = "",
           .samples = {{"T[5], i64[3] {4, 0, 2}",
                        "{offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], "
                        "index_vector_dim = 1, slice_sizes = [1]}"},
                       {"T[4, 3], i32[2] {3, 1}",
                        "{offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
                        "index_vector_dim = 1, slice_sizes = [1, 3]}"},
                       {"T[4, 3], i64[2] {-1, 9}",
                        "{offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
                        "index_vector_dim = 1, slice_sizes = [1, 3]}"},
                       {"T[4, 5], i64[2, 2] {0, 1, 3, 4}",
                        "{offset_dims = [1, 2], collapsed_slice_dims = [], start_index_map = [0, 1], "
                        "index_vector_dim = 1, slice_sizes = [2, 2]}"},
                       {"T[4, 5], i64[2, 2] {0, 1, 3, 4}",
                        "{offset_dims = [], collapsed_slice_dims = [0, 1], start_index_map = [1, 0], "
                        "index_vector_dim = 0, slice_sizes = [1, 1]}"},
                       {"T[2, 4, 3], i32[2, 2] {0, 3, 1, 2}",
                        "{offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], "
                        "start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2, "
                        "slice_sizes = [1, 1, 3]}"},
                       {"T[3, 2, 4], u8[2, 2] {2, 1, 0, 2}",
                        "{offset_dims = [0, 3], collapsed_slice_dims = [0], start_index_map = [0], "
                        "index_vector_dim = 2, slice_sizes = [1, 1, 4]}"},
                       {"T[5, 2], i64[0] {}",
                        "{offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
                        "index_vector_dim = 1, slice_sizes = [1, 2]}"},
                       {"T[5], i64[] {2}",
                        "{offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], "
                        "index_vector_dim = 0, slice_sizes = [1]}"}},
           .bad_samples = {{"T[5], i64[3] {0, 0, 0}",
                            "{offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], "
                            "index_vector_dim = 2, slice_sizes = [1]}",
                            "IndexError: gather: index_vector_dim 2 is not an axis of the indices, nor their "
                            "rank 1"},
                           {"T[5], i64[3] {0, 0, 0}",
                            "{offset_dims = [1, 0], collapsed_slice_dims = [], start_index_map = [0], "
                            "index_vector_dim = 1, slice_sizes = [1]}",
                            "ValueError: gather: offset_dims has 2 entries, but 1 is needed"},
                           {"T[5], i64[3] {0, 0, 0}",
                            "{offset_dims = [], collapsed_slice_dims = [1], start_index_map = [0], "
                            "index_vector_dim = 1, slice_sizes = [1]}",
                            "IndexError: gather: collapsed_slice_dims holds 1, but there are 1 axes"}},
           // Columns, places along two axes, and places in each row.
           .usual = {{{"f32[2, 3]", "i64[4, 1]"},
                      make_attrs({kOffsetDims % Ints{0}, kCollapsedDims % Ints{1}, kStartIndexMap % Ints{1},
                                  kIndexVectorDim % 1, kSliceSizes % Dims{2, 1}})},
                     {{"f32[5, 3]", "i64[4, 2]"},
                      make_attrs({kOffsetDims % Ints{}, kCollapsedDims % Ints{0, 1},
                                  kStartIndexMap % Ints{0, 1}, kIndexVectorDim % 1,
                                  kSliceSizes % Dims{1, 1}})},
                     {{"f32[5, 3]", "i64[5, 4]"},
                      make_attrs({kOffsetDims % Ints{}, kCollapsedDims % Ints{1}, kOperandBatchDims % Ints{0},
                                  kIndicesBatchDims % Ints{0}, kStartIndexMap % Ints{1}, kIndexVectorDim % 2,
                                  kSliceSizes % Dims{1, 1}})}}},
      .rules = {.infer = infer_gather,
                .reference = reference_gather,
                .lower = LowerRule::of_point(point_gather),
                .simplify = simplify_gather,
                .jvp = linear_jvp,
                .transpose = transpose_gather,
                .batch = batch_gather,
                .body = no_body(),
                .bounds = bounds_of_first},
      .id = {}};
}

}  // namespace

std::vector<Op> indexing_ops() {
  std::vector<Op> ops;
  ops.push_back(gather_op());
  for (Op& op : scatter_ops()) ops.push_back(std::move(op));
  return ops;
}

}  // namespace ig::ops
