// Products of arrays with NumPy's names, as composites over dot_general and element-wise products.
#include <fmt/format.h>

#include "ops/contraction.h"
#include "ops/families/compose.h"

namespace ig::ops {

std::vector<Op> matmul_composites();

namespace {

constexpr Attr<int64_t> kLastAxis{"axis", "The axis, counted from the end where negative.", "-1"};
constexpr Attr<Ints> kAxesX{"x_axes", "The axes of x that are summed over."};
constexpr Attr<Ints> kAxesY{"y_axes", "The axes of y, paired in order."};

void infer_product(InferContext& c) {
  c.require_same_dtype(0, 1);
  c.require_dtype(0, DTypeSet::Numeric);
  tools::infer_by_body(c);
}

void infer_matmul(InferContext& c) {
  c.require_same_dtype(0, 1);
  c.require_dtype(0, DTypeSet::Numeric);
  const Type &x = c.operand(0), &y = c.operand(1);
  for (const Type* t : {&x, &y})
    if (t->rank() == 0)
      c.fail(ErrorKind::Shape, "a scalar has no axis to sum over", "matmul takes arrays of one axis or more",
             "multiply by a scalar with *");
  const Dim& rows = y.rank() == 1 ? y.dims[0] : y.dims[y.dims.size() - 2];
  if (!c.scope.decide_equal(x.dims.back(), rows))
    c.fail(ErrorKind::Shape, fmt::format("shapes {} and {} do not fit", str(x.dims), str(y.dims)),
           fmt::format("the last axis of x has {} elements, the rows of y are {}", x.dims.back().str(),
                       rows.str()),
           "transpose or reshape one of them");
  tools::infer_by_body(c);
}

Value dot(Builder& b, Value x, Value y, Ints x_batch, Ints y_batch, Ints x_axes, Ints y_axes) {
  return b("dot_general", {x, y},
           {kLhsBatch % x_batch, kRhsBatch % y_batch, kLhsContract % x_axes, kRhsContract % y_axes});
}

std::vector<Value> matmul_body(BodyContext& c) {
  Builder& b = c.build;
  Value x = c.operands[0], y = c.operands[1];
  int xr = x->type().rank(), yr = y->type().rank();
  // One matrix (or vector) on the right: no batch to pair, the left operand's axes all stay free.
  if (yr <= 2) return {dot(b, x, y, {}, {}, {xr - 1}, {yr == 1 ? 0 : yr - 2})};
  if (xr == 1) {  // the vector meets each matrix: sums over the rows
    Value out = dot(b, y, x, {}, {}, {yr - 2}, {0});
    return {out};
  }
  Dims x_batch(x->type().dims.begin(), x->type().dims.end() - 2),
      y_batch(y->type().dims.begin(), y->type().dims.end() - 2);
  Dims batch = broadcast_shapes(x_batch, y_batch, b.graph().dims, "matmul");
  auto spread = [&](Value v) {
    Dims shape = batch;
    shape.insert(shape.end(), v->type().dims.end() - 2, v->type().dims.end());
    return b.broadcast_to(v, shape);
  };
  auto n = static_cast<int64_t>(batch.size());
  return {dot(b, spread(x), spread(y), tools::iota(n), tools::iota(n), {n + 1}, {n})};
}

std::vector<Value> tensordot_body(BodyContext& c) {
  Ints x = checked_axes("tensordot", c.get(kAxesX), c.operands[0]->type().rank());
  Ints y = checked_axes("tensordot", c.get(kAxesY), c.operands[1]->type().rank());
  return {dot(c.build, c.operands[0], c.operands[1], {}, {}, x, y)};
}

// Broadcasts both, then sums products along the axis: a dot with every other axis a batch axis.
std::vector<Value> vecdot_body(BodyContext& c) {
  Builder& b = c.build;
  Value x = c.operands[0], y = c.operands[1];
  Dims shape = broadcast_shapes(x->type().dims, y->type().dims, b.graph().dims, "vecdot");
  auto rank = static_cast<int64_t>(shape.size());
  int64_t axis = checked_axis("vecdot", c.get(kLastAxis), static_cast<int>(rank));
  Ints batch;
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis) batch.push_back(i);
  if (is_complex(x->type().dtype)) x = b("conj", {x});
  return {dot(b, b.broadcast_to(x, shape), b.broadcast_to(y, shape), batch, batch, {axis}, {axis})};
}

void infer_outer(InferContext& c) {
  c.require_rank(0, 1);
  c.require_rank(1, 1);
  infer_product(c);
}

std::vector<Value> outer_body(BodyContext& c) {
  Compose m(c.build);
  Dims column = c.operands[0]->type().dims;
  column.push_back(1);
  return {m.mul(c.build.reshape(c.operands[0], column), c.operands[1])};
}

// Each axis of x next to the same axis of y, then joined.
std::vector<Value> kron_body(BodyContext& c) {
  Compose m(c.build);
  Dims x = c.operands[0]->type().dims, y = c.operands[1]->type().dims;
  while (x.size() < y.size()) x.insert(x.begin(), Dim(int64_t{1}));
  while (y.size() < x.size()) y.insert(y.begin(), Dim(int64_t{1}));
  Dims wide_x, wide_y, joined;
  for (size_t i = 0; i < x.size(); ++i) {
    wide_x.insert(wide_x.end(), {x[i], Dim(int64_t{1})});
    wide_y.insert(wide_y.end(), {Dim(int64_t{1}), y[i]});
    joined.push_back(x[i] * y[i]);
  }
  Value all = m.mul(c.build.reshape(c.operands[0], wide_x), c.build.reshape(c.operands[1], wide_y));
  return {c.build.reshape(all, joined)};
}

// NumPy's dot: numbers scale; else sums over the last axis of x and the last but one of y.
std::vector<Value> numpy_dot_body(BodyContext& c) {
  Compose m(c.build);
  Value x = c.operands[0], y = c.operands[1];
  int64_t xr = x->type().rank(), yr = y->type().rank();
  if (xr == 0 || yr == 0) return {m.mul(x, y)};
  return {dot(c.build, x, y, {}, {}, {xr - 1}, {yr == 1 ? 0 : yr - 2})};
}

std::vector<Value> inner_body(BodyContext& c) {
  Compose m(c.build);
  Value x = c.operands[0], y = c.operands[1];
  int64_t xr = x->type().rank(), yr = y->type().rank();
  if (xr == 0 || yr == 0) return {m.mul(x, y)};
  return {dot(c.build, x, y, {}, {}, {xr - 1}, {yr - 1})};
}

std::vector<Value> vdot_body(BodyContext& c) {
  Value x = c.build.reshape(c.operands[0], {c.operands[0]->type().elements()});
  Value y = c.build.reshape(c.operands[1], {c.operands[1]->type().elements()});
  if (is_complex(x->type().dtype)) x = c.build("conj", {x});
  return {dot(c.build, x, y, {}, {}, {0}, {0})};
}

template <int Rank>
void infer_dot(InferContext& c) {
  c.require_same_dtype(0, 1);
  c.require_dtype(0, DTypeSet::Numeric);
  const Type &x = c.operand(0), &y = c.operand(1);
  if (Rank == 0) {
    c.require_equal(x.elements(), y.elements(), "the numbers of elements");
  } else if (x.rank() > 0 && y.rank() > 0) {
    const Dim& rows = y.rank() == 1 || Rank == 1 ? y.dims.back() : y.dims[y.dims.size() - 2];
    c.require_equal(x.dims.back(), rows, "the axes that are summed over");
  }
  tools::infer_by_body(c);
}

void infer_cross(InferContext& c) {
  c.require_same_shape(0, 1);
  int64_t axis = checked_axis("cross", c.get(kLastAxis), c.operand(0).rank());
  c.require_equal(c.operand(0).dims[static_cast<size_t>(axis)], 3, "the size of the axis");
  infer_product(c);
}

std::vector<Value> cross_body(BodyContext& c) {
  Compose m(c.build);
  Value x = c.operands[0], y = c.operands[1];
  int64_t axis = checked_axis("cross", c.get(kLastAxis), x->type().rank());
  auto part = [&](Value v, int64_t i) { return m.slice(v, axis, i, i + 1); };
  auto entry = [&](int64_t i, int64_t j) {
    return m.sub(m.mul(part(x, i), part(y, j)), m.mul(part(x, j), part(y, i)));
  };
  return {c.build("concatenate", {entry(1, 2), entry(2, 0), entry(0, 1)}, {kAxis % axis})};
}

OpDecl product_decl(std::string name, std::string doc, std::vector<AttrSpec> attrs, std::string numpy,
                    std::vector<Sample> samples, std::vector<BadSample> bad = {}) {
  for (Sample& s : samples) s.low = -2, s.high = 2;
  return {.name = name,
          .python = name,
          .doc = std::move(doc),
          .operands = {{"x", "The left array."}, {"y", "The right array, of the same type."}},
          .attrs = std::move(attrs),
          .dtypes = DTypeSet::Numeric,
          .numpy = std::move(numpy),
          .samples = std::move(samples),
          .bad_samples = std::move(bad)};
}

}  // namespace

std::vector<Op> matmul_composites() {
  std::vector<Op> ops;
  ops.push_back(composite(
      product_decl("matmul",
                   "The matrix product of the last two axes, the others broadcast; one axis is a vector.\n"
                   "NumPy's rules; each element is dot_general's sum.",
                   {}, "np.matmul(x, y)",
                   {{"T[3], T[3]", "{}"},
                    {"T[2, 3], T[3]", "{}"},
                    {"T[3], T[3, 2]", "{}"},
                    {"T[2, 3], T[3, 4]", "{}"},
                    {"T[2, 3, 4], T[4, 5]", "{}"},
                    {"T[3, 4], T[2, 4, 5]", "{}"},
                    {"T[4], T[2, 4, 5]", "{}"},
                    {"T[2, 1, 3, 4], T[3, 4, 2]", "{}"},
                    {"T[2, 0], T[0, 3]", "{}"},
                    {"T[0, 2], T[2, 3]", "{}"},
                    {"T[1, 1], T[1, 1]", "{}"},
                    {"T[2, 3, 4], T[4]", "{}"}},
                   {{"T[], T[3]", "{}", "ShapeError: matmul: a scalar has no axis to sum over"},
                    {"T[2, 3], T[4, 5]", "{}", "ShapeError: matmul: shapes [2, 3] and [4, 5] do not fit"}}),
      matmul_body, infer_matmul));
  ops.back().decl.traits |= static_cast<uint32_t>(Trait::Product);
  for (const char* type : {"f64", "i32", "i64", "bf16"})
    ops.back().decl.usual.push_back({{fmt::format("{}[2, 3]", type), fmt::format("{}[3, 4]", type)}});
  for (const char* batch : {"2", "2, 3"})
    ops.back().decl.usual.push_back(
        {{fmt::format("f32[{}, 4, 5]", batch), fmt::format("f32[{}, 5, 6]", batch)}});
  ops.push_back(composite(product_decl("tensordot", "Sums of products over pairs of axes.", {kAxesX, kAxesY},
                                       "np.tensordot(x, y, (list(x_axes), list(y_axes)))",
                                       {{"T[2, 3], T[3, 4]", "{x_axes = [1], y_axes = [0]}"},
                                        {"T[2, 3, 4], T[4, 3, 5]", "{x_axes = [1, 2], y_axes = [1, 0]}"},
                                        {"T[2], T[3]", "{x_axes = [], y_axes = []}"},
                                        {"T[0, 2], T[2]", "{x_axes = [1], y_axes = [0]}"}}),
                          tensordot_body, infer_product));
  ops.push_back(composite(product_decl("vecdot",
                                       "Sums of products along an axis, the others broadcast; of complex "
                                       "arrays the first is conjugated.",
                                       {kLastAxis}, "(lambda a: a.sum(axis, dtype=x.dtype))(np.conj(x) * y)",
                                       {{"T[3], T[3]", "{}"},
                                        {"T[2, 3], T[3]", "{}"},
                                        {"T[2, 3], T[2, 3]", "{axis = 0}"},
                                        {"T[2, 0], T[2, 0]", "{}"}}),
                          vecdot_body, infer_product));
  ops.push_back(
      composite(product_decl("outer", "All products of an element of x with one of y.", {}, "np.outer(x, y)",
                             {{"T[3], T[4]", "{}"}, {"T[1], T[2]", "{}"}, {"T[0], T[3]", "{}"}}),
                outer_body, infer_outer));
  ops.push_back(composite(
      product_decl("kron", "Each element of x times the whole of y, in x's arrangement.", {}, "np.kron(x, y)",
                   {{"T[2], T[3]", "{}"},
                    {"T[2, 2], T[1, 3]", "{}"},
                    {"T[2, 1, 2], T[1, 2, 2]", "{}"},
                    {"T[2], T[2, 3]", "{}"}}),
      kron_body, infer_product));
  ops.push_back(composite(product_decl("cross", "The vector product along an axis of size 3.", {kLastAxis},
                                       "np.cross(x, y, axis=axis)",
                                       {{"T[3], T[3]", "{}"},
                                        {"T[2, 3], T[2, 3]", "{}"},
                                        {"T[3, 4], T[3, 4]", "{axis = 0}"},
                                        {"T[0, 3], T[0, 3]", "{}"}}),
                          cross_body, infer_cross));
  ops.push_back(composite(
      product_decl(
          "dot",
          "NumPy's product: of vectors and matrices as matmul, numbers scale.\nSums over the last axis "
          "of x and the last but one of y; the other axes follow one another.",
          {}, "np.dot(x, y)",
          {{"T[3], T[3]", "{}"},
           {"T[], T[2, 3]", "{}"},
           {"T[2, 3], T[3]", "{}"},
           {"T[2, 3], T[3, 4]", "{}"},
           {"T[2, 3], T[2, 3, 2]", "{}"},
           {"T[0], T[0]", "{}"}},
          {{"f32[2, 3], f32[2, 3]", "{}", "ShapeError: dot: the axes that are summed over: 3 and 2 differ"}}),
      numpy_dot_body, infer_dot<2>));
  ops.push_back(composite(
      product_decl(
          "inner", "Sums of products over the last axes; numbers scale.", {}, "np.inner(x, y)",
          {{"T[3], T[3]", "{}"}, {"T[2, 3], T[4, 3]", "{}"}, {"T[2, 3], T[3]", "{}"}, {"T[3], T[]", "{}"}},
          {{"f32[3], f32[2]", "{}", "ShapeError: inner: the axes that are summed over: 3 and 2 differ"}}),
      inner_body, infer_dot<1>));
  ops.push_back(composite(
      product_decl("vdot", "The sum of products of all elements; of complex arrays the first is conjugated.",
                   {}, "np.vdot(x, y)",
                   {{"T[3], T[3]", "{}"}, {"T[2, 3], T[3, 2]", "{}"}, {"T[], T[]", "{}"}},
                   {{"f32[3], f32[2]", "{}", "ShapeError: vdot: the numbers of elements: 3 and 2 differ"}}),
      vdot_body, infer_dot<0>));
  give_examples(ops,
                {
                    {"dot", "ig.dot(ig.asarray([1.0, 2.0]), ig.asarray([3.0, 4.0]))"},
                    {"inner", "ig.inner(ig.asarray([1, 2]), ig.asarray([3, 4]))"},
                    {"vdot", "ig.vdot(ig.asarray([1, 2]), ig.asarray([3, 4]))"},
                    {"matmul", "ig.matmul(ig.asarray([[1.0, 2.0], [3.0, 4.0]]), ig.asarray([1.0, 1.0]))"},
                    {"tensordot",
                     "ig.tensordot(ig.asarray([[1, 2], [3, 4]]), ig.asarray([[1, 0], [0, 1]]), x_axes=(1,), "
                     "y_axes=(0,))"},
                    {"vecdot", "ig.vecdot(ig.asarray([1.0, 2.0]), ig.asarray([3.0, 4.0]))"},
                    {"outer", "ig.outer(ig.asarray([1, 2]), ig.asarray([3, 4]))"},
                    {"kron", "ig.kron(ig.asarray([1, 2]), ig.asarray([1, 1]))"},
                    {"cross", "ig.cross(ig.asarray([1, 0, 0]), ig.asarray([0, 1, 0]))"},
                });
  return ops;
}

}  // namespace ig::ops
