// Arrays out of nothing: the constant and the counter; and composites of them (full, zeros, ones, eye, triangles).
#include "ops/attrs.h"
#include "ops/create_attrs.h"
#include "ops/families/elementwise.h"
#include "ops/families/families.h"

namespace ig::ops {
namespace {

using namespace elements;
using loop::Expr;

// --- constant ----------------------------------------------------------------------------------------------------------
void infer_constant(InferContext& c) { c.results.push_back(c.get(kValue).type()); }
void reference_constant(ReferenceContext& c) { c.results[0] = c.attrs.get(kValue); }
Batched batch_unbatched(BatchContext& c) {
  Node* made = c.build.node(op_of(c.node), {}, c.node->attrs());
  return {{made->result()}, {-1}};
}

// --- iota ----------------------------------------------------------------------------------------------------------------
void require_sizes(const InferContext& c, const Dims& shape) {
  for (const Dim& d : shape) c.require_less_equal(int64_t{0}, d, "the sizes of the result");
}
void infer_iota(InferContext& c) {
  const Dims& shape = c.get(kShape);
  require_sizes(c, shape);
  if (!contains(DTypeSet::Numeric, c.get(kDType)))
    c.fail(ErrorKind::Type, fmt::format("cannot count in {}", info(c.get(kDType)).api_name), "a counter is a number",
           "give a numeric type");
  c.axis(c.get(kAxis), static_cast<int>(shape.size()));
  c.result(c.get(kDType), shape);
}
void reference_iota(ReferenceContext& c) {
  auto axis = static_cast<size_t>(c.attrs.get(kAxis));
  tools::each_index(c.results[0].dims(), [&](const tools::Index& index, int64_t i) { store(c.results[0], i, index[axis]); });
}
Expr point_iota(PointContext& c) {
  Expr i = c.index[static_cast<size_t>(c.node->attrs().get(kAxis))];
  DType to = tools::is_half(c.node->result()->type().dtype) ? DType::F32 : c.node->result()->type().dtype;
  return to == DType::I64 ? i : loop::convert(i, to);
}

OpRules leaf_rules(InferFn infer, ReferenceFn reference, LowerRule lower) {
  return {.infer = infer,
          .reference = reference,
          .lower = std::move(lower),
          .simplify = tools::no_rule("it reads nothing"),
          .jvp = zero_jvp,
          .transpose = tools::no_rule("it reads nothing"),
          .batch = batch_unbatched,
          .body = tools::no_body()};
}

// --- composites ----------------------------------------------------------------------------------------------------------
std::vector<Value> full_body(BodyContext& c) { return {c.build.broadcast(c.operands[0], c.get(kShape), {})}; }
void infer_full(InferContext& c) {
  c.require_rank(0, 0);
  require_sizes(c, c.get(kShape));
  c.result(c.operand(0).dtype, c.get(kShape));
}
template <int Number>
std::vector<Value> number_body(BodyContext& c) {
  return {c.build.full(Type::tensor(c.get(kElement), c.get(kShape)), Number)};
}
void infer_number(InferContext& c) {
  require_sizes(c, c.get(kShape));
  if (c.get(kElement) == DType::Key)
    c.fail(ErrorKind::Type, "a random key is no number", "keys are opaque", "make one with ig.random.key");
  c.result(c.get(kElement), c.get(kShape));
}
template <int Number>
std::vector<Value> like_body(BodyContext& c) { return {c.build.full_like(c.operands[0], Number)}; }

// row - column of each element's index, as int64.
Value diagonal_of(Compose& m, const Dims& shape) {
  auto rank = static_cast<int64_t>(shape.size());
  return m.sub(m.iota(DType::I64, shape, rank - 1), m.iota(DType::I64, shape, rank - 2));
}
std::vector<Value> eye_body(BodyContext& c) {
  Compose m(c.build);
  int64_t rows = c.get(kRows), columns = c.get(kColumns) < 0 ? rows : c.get(kColumns);
  Value diagonal = diagonal_of(m, {rows, columns});
  return {c.build.convert(m.equal(diagonal, m.number(diagonal, static_cast<double>(c.get(kDiagonal)))), c.get(kElement))};
}
void infer_eye(InferContext& c) {
  int64_t rows = c.get(kRows), columns = c.get(kColumns) < 0 ? rows : c.get(kColumns);
  if (rows < 0) c.fail(ErrorKind::Value, fmt::format("n_rows is {}, but it counts rows", rows), "", "give 0 or more");
  c.result(c.get(kElement), {rows, columns});
}
template <bool Lower>
std::vector<Value> triangle_body(BodyContext& c) {
  Compose m(c.build);
  Value x = c.operands[0], diagonal = diagonal_of(m, x->type().dims);
  Value k = m.number(diagonal, static_cast<double>(c.get(kDiagonal)));
  Value kept = Lower ? m.less_equal(diagonal, k) : m.less_equal(k, diagonal);
  return {m.where(kept, x, m.number(x, 0))};
}
void infer_triangle(InferContext& c) {
  c.require_dtype(0, DTypeSet::NumericBool);
  if (c.operand(0).rank() < 2)
    c.fail(ErrorKind::Shape, fmt::format("expected a matrix, but the shape of x is {}", str(c.operand(0).dims)),
           "a triangle is cut out of the last two axes", "add axes with reshape");
  c.result(c.operand(0).dtype, c.operand(0).dims);
}

Op triangle(std::string name, std::string doc, BodyFn body) {
  return composite({.name = name, .python = name,
                    .doc = std::move(doc) + "\n\nThe last two axes are matrices; `k` moves the diagonal up.",
                    .operands = {{"x", "The matrices."}}, .attrs = {kDiagonal}, .dtypes = DTypeSet::NumericBool,
                    .numpy = "np." + name + "(x, k)", .example = "ig." + name + "(ig.asarray([[1, 2], [3, 4]]))",
                    .samples = {{"T[3, 4]", "{}"}, {"T[2, 3, 3]", "{k = 1}"}, {"T[4, 3]", "{k = -1}"}, {"T[0, 3]", "{}"}, {"T[1, 1]", "{k = 1}"}},
                    .bad_samples = {{"f32[3]", "{}", "ShapeError: " + name + ": expected a matrix, but the shape of x is [3]"}}},
                   body, infer_triangle);
}

Op number(std::string name, std::string doc, BodyFn body) {
  return composite({.name = name, .python = name, .doc = std::move(doc), .attrs = {kShape, kElement},
                    .dtypes = DTypeSet::NumericBool, .numpy = "np." + name + "(shape, dtype)",
                    .example = "ig." + name + "((2, 3))",
                    .samples = {{"", "{shape = <2, 3>}"}, {"", "{shape = <>, dtype = i32}"}, {"", "{shape = <0, 2>, dtype = f64}"}, {"", "{shape = <33>, dtype = bool}"}},
                    .bad_samples = {{"", "{shape = <-1>}", "ShapeError: " + name + ": the sizes of the result: 0 is more than -1"},
                                    {"", "{shape = <2>, dtype = key}", "TypeError: " + name + ": a random key is no number"}}},
                   body, infer_number);
}
Op like(std::string name, std::string doc, BodyFn body) {
  return composite({.name = name, .python = name, .doc = std::move(doc), .operands = {{"x", "The array."}},
                    .dtypes = DTypeSet::NumericBool, .numpy = "np." + name + "(x)",
                    .example = "ig." + name + "(ig.asarray([1.5, 2.5]))",
                    .samples = {{"T[2, 3]", "{}"}, {"T[]", "{}"}, {"T[0]", "{}"}},
                    .bad_samples = {{"key[2]", "{}", "TypeError: " + name + ": expected a numeric type or bool, but x is key"}}},
                   body, infer_same);
}

}  // namespace

std::vector<Op> create_ops() {
  std::vector<Op> ops;
  ops.push_back({.decl = {.name = "constant",
                          .doc = "The array that the attribute holds.\n\nStableHLO constant.",
                          .attrs = {kValue},
                          .traits = static_cast<uint32_t>(Trait::Constant),
                          .front = Front::None,
                          .numpy = "value",
                          .samples = {{"", "{value = f32[2] {0x1p+0, nan}}"}, {"", "{value = i64[] {7}}"}, {"", "{value = bool[0] {}}"}},
                          .bad_samples = {{"", "{}", "TypeError: constant: the attribute value is missing"}}},
                 .rules = leaf_rules(infer_constant, reference_constant,
                                     LowerRule::none("a number stands in the kernel that reads it, an array in the "
                                                     "executable's data")),
                 .id = {}});
  ops.push_back({.decl = {.name = "iota",
                          .doc = "The index along `axis`, as a number.\n\nStableHLO iota.",
                          .attrs = {kShape, kDType, kAxis},
                          .dtypes = DTypeSet::Numeric,
                          .traits = Trait::Constant | Trait::Cheap,
                          .front = Front::None,
                          .numpy = "np.broadcast_to(np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in "
                                   "range(len(shape))]), shape).astype(dtype)",
                          .samples = {{"", "{shape = <5>, dtype = i64, axis = 0}"}, {"", "{shape = <3, 4>, dtype = f32, axis = 1}"},
                                      {"", "{shape = <3, 4>, dtype = i8, axis = 0}"}, {"", "{shape = <0>, dtype = f64, axis = 0}"},
                                      {"", "{shape = <40>, dtype = bf16, axis = 0}"}},
                          .bad_samples = {{"", "{shape = <2>, dtype = bool, axis = 0}", "TypeError: iota: cannot count in bool"},
                                          {"", "{shape = <2>, dtype = i32, axis = 1}", "IndexError: iota: axis 1 is out of range for rank 1"}}},
                 .rules = leaf_rules(infer_iota, reference_iota, LowerRule::of_point(point_iota)),
                 .id = {}});
  ops.push_back(composite({.name = "full", .python = "full_of",
                           .doc = "An array of the given shape, each element the one number.",
                           .operands = {{"fill_value", "A scalar."}}, .attrs = {kShape},
                           .numpy = "np.full(shape, fill_value)", .example = "ig.full_of(ig.asarray(1.5), shape=(2, 2))",
                           .samples = {{"T[]", "{shape = <2, 3>}"}, {"T[]", "{shape = <>}"}, {"T[]", "{shape = <0>}"}},
                           .bad_samples = {{"f32[2]", "{shape = <2>}", "ShapeError: full_of: expected fill_value of rank 0, but its shape is [2]"}}},
                          full_body, infer_full));
  ops.push_back(number("zeros", "An array of zeros (false for bool).", number_body<0>));
  ops.push_back(number("ones", "An array of ones (true for bool).", number_body<1>));
  ops.push_back(like("zeros_like", "Zeros in the shape and element type of x.", like_body<0>));
  ops.push_back(like("ones_like", "Ones in the shape and element type of x.", like_body<1>));
  ops.push_back(composite({.name = "eye", .python = "eye",
                           .doc = "A matrix of zeros with ones on the diagonal that `k` says.",
                           .attrs = {kRows, kColumns, kDiagonal, kElement}, .dtypes = DTypeSet::NumericBool,
                           .numpy = "np.eye(n_rows, n_cols if n_cols >= 0 else n_rows, k, dtype)", .example = "ig.eye(2)",
                           .samples = {{"", "{n_rows = 3}"}, {"", "{n_rows = 2, n_cols = 4, k = 1}"}, {"", "{n_rows = 3, k = -1, dtype = i32}"}, {"", "{n_rows = 0}"}},
                           .bad_samples = {{"", "{n_rows = -2}", "ValueError: eye: n_rows is -2, but it counts rows"}}},
                          eye_body, infer_eye));
  ops.push_back(triangle("tril", "x with zeros above the diagonal.", triangle_body<true>));
  ops.push_back(triangle("triu", "x with zeros below the diagonal.", triangle_body<false>));
  return ops;
}

}  // namespace ig::ops
