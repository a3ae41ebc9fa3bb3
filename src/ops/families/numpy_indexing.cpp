// The array API's ways to pick elements, as composites: take, take_along_axis, one_hot, tril, triu, diagonal,
// trace. An index out of range is clamped, as gather's are.
#include <numeric>

#include "ops/families/compose.h"
#include "ops/shape_attrs.h"

namespace ig::ops {

std::vector<Op> numpy_indexing();

namespace {

constexpr Attr<int64_t> kTakeAxis{"axis", "The axis that is indexed.", "0"};
constexpr Attr<int64_t> kAlong{"axis", "The axis that is indexed.", "-1"};
constexpr Attr<int64_t> kClasses{"num_classes", "The size of the new last axis."};
constexpr Attr<DType> kHotType{"dtype", "The element type of the result.", "f32"};
constexpr Attr<int64_t> kTriangle{"k", "Which diagonal: above the main one where positive.", "0"};
constexpr Attr<int64_t> kOffset{"offset", "Which diagonal: above the main one where positive.", "0"};
constexpr Attr<int64_t> kRows{"axis1", "The axis of the rows.", "0"};
constexpr Attr<int64_t> kColumns{"axis2", "The axis of the columns.", "1"};

void infer_take(InferContext& c) {
  tools::require_index_dtype(c, 1);
  c.require_rank(1, 1);
  tools::infer_by_body(c);
}

std::vector<Value> take_body(BodyContext& c) {
  Value x = c.operands[0], indices = c.operands[1];
  int rank = x->type().rank();
  int64_t axis = checked_axis("take", c.get(kTakeAxis), rank);
  Ints offset;
  Dims sizes = x->type().dims;
  sizes[static_cast<size_t>(axis)] = 1;
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis) offset.push_back(i);
  return {c.build("gather", {x, indices},
                  {kOffsetDims % offset, kCollapsedDims % Ints{axis}, kStartIndexMap % Ints{axis},
                   kIndexVectorDim % int64_t{1}, kSliceSizes % sizes})};
}

void infer_along(InferContext& c) {
  tools::require_index_dtype(c, 1);
  c.require_rank(1, c.operand(0).rank());
  int64_t axis = checked_axis("take_along_axis", c.get(kAlong), c.operand(0).rank());
  for (size_t i = 0; i < c.operand(0).dims.size(); ++i) {
    const Dim &of_array = c.operand(0).dims[i], &of_indices = c.operand(1).dims[i];
    if (static_cast<int64_t>(i) != axis && !(of_array == 1) && !(of_indices == 1))
      c.require_equal(of_array, of_indices, "the axes of the array and of the indices");
  }
  tools::infer_by_body(c);
}

std::vector<Value> along_body(BodyContext& c) {
  Value x = c.operands[0], indices = c.operands[1];
  Dims from = x->type().dims, places = indices->type().dims, sizes(from.size(), Dim(int64_t{1})), named;
  const auto axis = static_cast<size_t>(checked_axis("take_along_axis", c.get(kAlong), x->type().rank()));
  // An index that stands for a whole axis of the array takes slices along it; an axis of one element is
  // repeated.
  Ints batch, batch_of_indices, slices;
  for (size_t i = 0; i < from.size(); ++i) {
    if (i != axis && places[i] == 1 && !(from[i] == 1)) {
      slices.push_back(static_cast<int64_t>(i));
      sizes[i] = from[i];
      continue;
    }
    if (i != axis) {
      from[i] = places[i];
      batch.push_back(static_cast<int64_t>(i));
      batch_of_indices.push_back(static_cast<int64_t>(named.size()));
    }
    named.push_back(places[i]);
  }
  Ints all(from.size());
  std::iota(all.begin(), all.end(), 0);
  if (from != x->type().dims) x = c.build.broadcast(x, from, all);
  if (!slices.empty()) indices = c.build.reshape(indices, named);
  return {c.build(
      "gather", {x, indices},
      {kOffsetDims % slices, kCollapsedDims % Ints{static_cast<int64_t>(axis)}, kOperandBatchDims % batch,
       kIndicesBatchDims % batch_of_indices, kStartIndexMap % Ints{static_cast<int64_t>(axis)},
       kIndexVectorDim % static_cast<int64_t>(named.size()), kSliceSizes % sizes})};
}

void infer_one_hot(InferContext& c) {
  tools::require_index_dtype(c, 0);
  if (c.get(kClasses) < 0)
    c.fail(ErrorKind::Value, fmt::format("num_classes is {}, below 0", c.get(kClasses)),
           "it is the size of the new axis", "give the number of classes");
  tools::infer_by_body(c);
}

std::vector<Value> one_hot_body(BodyContext& c) {
  Compose m(c.build);
  Value x = c.build.convert(c.operands[0], DType::I64);
  Dims column = x->type().dims, shape = column;
  column.push_back(1);
  shape.push_back(c.get(kClasses));
  Value numbers = m.iota(DType::I64, shape, static_cast<int64_t>(shape.size()) - 1);
  return {c.build.convert(m.equal(c.build.reshape(x, column), numbers), c.get(kHotType))};
}

void infer_matrix(InferContext& c) {
  if (c.operand(0).rank() < 2)
    c.fail(ErrorKind::Shape, fmt::format("needs [..., rows, columns], got {}", c.operand(0).str()),
           "the last two axes are the matrix", "reshape the array to two axes or more");
  tools::infer_by_body(c);
}

Value triangle(BodyContext& c, bool lower) {
  Compose m(c.build);
  Value x = c.operands[0];
  Dims square(x->type().dims.end() - 2, x->type().dims.end());
  Value row = m.iota(DType::I64, square, 0), column = m.iota(DType::I64, square, 1);
  row = m.add(row, static_cast<double>(c.get(kTriangle)));
  Value inside = lower ? m.less_equal(column, row) : m.less_equal(row, column);
  return m.where(inside, x, m.number(x, 0));
}

std::vector<Value> tril_body(BodyContext& c) { return {triangle(c, true)}; }
std::vector<Value> triu_body(BodyContext& c) { return {triangle(c, false)}; }

// The square that the diagonal crosses, as one row with one element put behind each of its rows: the diagonal
// then stands in a column of its own.
Value last_diagonal(Compose& m, Value x, int64_t k) {
  const Dims& dims = x->type().dims;
  int64_t rank = x->type().rank();
  Dim rows = dims[dims.size() - 2], columns = dims.back();
  if (k >= 0)
    columns = columns - k;
  else
    rows = rows + k;
  Dim n = min(rows, columns);
  if (n.is_constant() && n.constant() <= 0) n = 0;
  Dims shape(dims.begin(), dims.end() - 2);
  if (n == 0) {
    shape.push_back(n);
    return m.b.full(Type::tensor(x->type().dtype, shape), 0);
  }
  Dim row = std::max<int64_t>(-k, 0), column = std::max<int64_t>(k, 0);
  Value square = m.slice(m.slice(x, rank - 2, row, row + n), rank - 1, column, column + n);
  Dims flat = shape, wide = shape, thin = shape;
  flat.push_back(n * n);
  wide.insert(wide.end(), {n, n + 1});
  thin.push_back(n);
  Dims low(flat.size(), Dim(int64_t{0})), high = low;
  high.back() = n;
  Value padded = m.b("pad", {m.b.reshape(square, flat), m.b.scalar(x->type().dtype, 0)},
                     {kPadLow % low, kPadHigh % high, kPadInterior % Ints(low.size(), 0)});
  return m.b.reshape(m.slice(m.b.reshape(padded, wide), static_cast<int64_t>(wide.size()) - 1, 0, 1), thin);
}

// That of the two axes that the attributes name, which the others come before.
Value diagonal_of(std::string_view op, BodyContext& c) {
  Compose m(c.build);
  Value x = c.operands[0];
  const int rank = x->type().rank();
  const Ints plane = checked_axes(op, {c.get(kRows), c.get(kColumns)}, rank);
  Ints order;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!tools::contains_axis(plane, axis)) order.push_back(axis);
  order.insert(order.end(), plane.begin(), plane.end());
  return last_diagonal(m, order == tools::iota(rank) ? x : c.build.transpose(x, order), c.get(kOffset));
}
std::vector<Value> diagonal_body(BodyContext& c) { return {diagonal_of("diagonal", c)}; }

void infer_diagonal(InferContext& c) {
  if (c.operand(0).rank() < 2)
    c.fail(ErrorKind::Shape, fmt::format("needs two axes or more, got {}", c.operand(0).str()),
           "a diagonal goes along two axes at once", "for a matrix with this diagonal write ig.diag(x)");
  tools::infer_by_body(c);
}
void infer_trace(InferContext& c) {
  c.require_dtype(0, DTypeSet::Numeric);
  infer_diagonal(c);
}

// Small integers are summed in 64 bits, as sums are.
std::vector<Value> trace_body(BodyContext& c) {
  Value d = diagonal_of("trace", c);
  const DType dtype = d->type().dtype;
  if (is_integer(dtype)) d = c.build.convert(d, is_signed_int(dtype) ? DType::I64 : DType::U64);
  return {Compose(c.build).sum(d, {d->type().rank() - 1})};
}

}  // namespace

std::vector<Op> numpy_indexing() {
  const OperandSpec x{"x", "The array."};
  const std::vector<Sample> triangles{
      {"T[3, 3]", "{}"},      {"T[2, 4]", "{k = 1}"}, {"T[4, 2]", "{k = -1}"}, {"T[2, 3, 4]", "{k = 2}"},
      {"T[2, 2]", "{k = 5}"}, {"T[0, 3]", "{}"},      {"T[1, 1]", "{}"}};
  const std::vector<Sample> diagonals{{"T[3, 3]", "{}"},
                                      {"T[2, 4]", "{offset = 1}"},
                                      {"T[4, 2]", "{offset = -1}"},
                                      {"T[2, 3, 4]", "{}"},
                                      {"T[2, 3, 4]", "{offset = 2, axis1 = -2, axis2 = -1}"},
                                      {"T[2, 3, 4]", "{offset = 1, axis1 = 2, axis2 = 0}"},
                                      {"T[2, 2]", "{offset = 5}"},
                                      {"T[0, 3]", "{}"},
                                      {"T[1, 1]", "{}"}};
  std::vector<Op> ops;
  ops.push_back(
      composite({.name = "take",
                 .python = "take",
                 .doc = "The slices along `axis` that the indices name, in their order.",
                 .operands = {x, {"indices", "Integers, one axis."}},
                 .attrs = {kTakeAxis},
                 .numpy = "np.take(x, np.clip(indices.astype(np.int64), 0, x.shape[axis] - 1), axis)",
                 .samples = {{"T[5], i64[3] {4, 0, 4}", "{}"},
                             {"T[2, 3], i32[2] {2, 0}", "{axis = 1}"},
                             {"T[2, 3, 2], i64[4] {1, 1, -5, 9}", "{axis = 1}"},
                             {"T[3], i64[0] {}", "{}"},
                             {"T[1, 2], u8[2] {0, 0}", "{}"}}},
                take_body, infer_take));
  ops.back().decl.usual = {{{"f32[2, 3]", "i64[4]"}, make_attrs({kTakeAxis % 0})}};
  ops.push_back(composite(
      {.name = "take_along_axis",
       .python = "take_along_axis",
       .doc = "For each row along `axis`, the elements that the indices of the same row name.\nOther axes "
              "of one element, of the array or of the indices, stand for any number.",
       .operands = {x, {"indices", "Integers of the same rank."}},
       .attrs = {kAlong},
       .numpy = "np.take_along_axis(x, np.clip(indices.astype(np.int64), 0, x.shape[axis] - 1), "
                "axis)",
       .samples = {{"T[5], i64[3] {4, 0, 4}", "{}"},
                   {"T[2, 3], i64[2, 2] {2, 0, 1, 1}", "{}"},
                   {"T[3, 2], i32[1, 2] {2, 0}", "{axis = 0}"},
                   {"T[2, 3], i64[2, 0] {}", "{}"},
                   {"T[2, 3, 4], i64[2, 2, 1] {2, 0, 1, 1}", "{axis = 1}"},
                   {"T[1, 3, 2], i32[2, 2, 1] {2, 0, 9, 1}", "{axis = 1}"},
                   {"T[3, 1], i64[1, 4] {2, 0, 1, 1}", "{axis = 0}"}}},
      along_body, infer_along));
  ops.push_back(
      composite({.name = "one_hot",
                 .python = "one_hot",
                 .doc = "A new last axis that is 1 where its position is the element, else 0.\nAn element "
                        "out of range gives zeros.",
                 .operands = {{"indices", "Integers."}},
                 .attrs = {kClasses, kHotType},
                 .numpy = "(indices[..., None] == np.arange(num_classes)).astype(dtype)",
                 .samples = {{"i64[3] {0, 2, 1}", "{num_classes = 3}"},
                             {"i32[2] {-1, 5}", "{num_classes = 4}"},
                             {"i64[] {1}", "{num_classes = 2, dtype = i32}"},
                             {"i64[2, 2] {0, 1, 2, 3}", "{num_classes = 4, dtype = bool}"},
                             {"i64[0] {}", "{num_classes = 3}"}}},
                one_hot_body, infer_one_hot));
  auto triangle_op = [&](const char* name, const char* doc, std::string numpy, BodyFn body) {
    ops.push_back(composite({.name = name,
                             .python = name,
                             .doc = doc,
                             .operands = {x},
                             .attrs = {kTriangle},
                             .dtypes = DTypeSet::Numeric,
                             .numpy = std::move(numpy),
                             .samples = triangles},
                            body, infer_matrix));
  };
  triangle_op("tril", "The elements on and below a diagonal of the last two axes; the others are 0.",
              "np.tril(x, k)", tril_body);
  triangle_op("triu", "The elements on and above a diagonal of the last two axes; the others are 0.",
              "np.triu(x, k)", triu_body);
  auto diagonal_op = [&](const char* name, const char* doc, std::string numpy, BodyFn body, InferFn infer) {
    ops.push_back(composite(
        {.name = name,
         .python = name,
         .doc = doc,
         .operands = {x},
         .attrs = {kOffset, kRows, kColumns},
         .dtypes = DTypeSet::Numeric,
         .numpy = std::move(numpy),
         .samples = diagonals,
         .bad_samples =
             {{"f32[2, 3]", "{axis2 = 0}", fmt::format("ValueError: {}: axis 0 is named twice", name)},
              {"f32[3]", "{}", fmt::format("ShapeError: {}: needs two axes or more, got f32[3]", name)}}},
        body, infer));
  };
  diagonal_op("diagonal",
              "A diagonal of two axes, the first two as in NumPy, as the last axis of the result.\n"
              "ig.linalg.diagonal takes that of the last two.",
              "np.diagonal(x, offset, axis1, axis2)", diagonal_body, infer_diagonal);
  diagonal_op("trace",
              "The sum of a diagonal of two axes, the first two as in NumPy. Small integers are summed in 64 "
              "bits.\nig.linalg.trace takes that of the last two.",
              "np.trace(x, offset, axis1, axis2)", trace_body, infer_trace);
  ops.back().decl.ulp = ops.back().decl.complex_ulp = 32;  // its sum's
  give_examples(ops, {
                         {"take", "ig.take(ig.asarray([5, 6, 7]), ig.asarray([2, 0]))"},
                         {"take_along_axis",
                          "ig.take_along_axis(ig.asarray([[5, 6], [7, 8]]), ig.asarray([[1], [0]]))"},
                         {"one_hot", "ig.one_hot(ig.asarray([0, 2]), num_classes=3)"},
                         {"tril", "ig.tril(ig.ones((2, 2)))"},
                         {"triu", "ig.triu(ig.ones((2, 2)))"},
                         {"diagonal", "ig.diagonal(ig.asarray([[1, 2], [3, 4]]))"},
                         {"trace", "ig.asarray([[1, 2], [3, 4]]).trace()"},
                     });
  return ops;
}

}  // namespace ig::ops
