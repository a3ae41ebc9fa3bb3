// What the files of linear algebra share; see linalg_rules.h.
#include "ops/families/linalg_rules.h"

#include <utility>

#include "ops/families/batch_rules.h"
#include "ops/families/compose.h"

namespace ig::ops::factors {

void require_matrices(InferContext& c, size_t operand) {
  const Type& x = c.operand(operand);
  if (is_complex(x.dtype))
    c.fail(ErrorKind::Type, fmt::format("matrices of {} have no factors", info(x.dtype).api_name),
           "they are computed of real numbers, in float32 and float64",
           "write the matrix as a real one, [[re, -im], [im, re]], which is the same map of pairs");
  c.require_dtype(operand, DTypeSet::Float);
  if (size_of(x.dtype) == 2)
    c.fail(ErrorKind::Type, fmt::format("matrices of {} have no factors", info(x.dtype).api_name),
           "they are computed in float32 and float64", "convert with astype, and back afterwards");
  if (x.rank() < 2)
    c.fail(ErrorKind::Shape, fmt::format("needs matrices [..., m, n], got {}", x.str()),
           "the last two axes are the matrix", "reshape the array to two axes or more");
}

void require_square(InferContext& c, size_t operand) {
  require_matrices(c, operand);
  const Type& x = c.operand(operand);
  c.require_equal(x.dims[x.dims.size() - 2], x.dims.back(), "the rows and the columns of a square matrix");
}

Dims batch_of(const Type& x) { return {x.dims.begin(), x.dims.end() - 2}; }

Dims with_last(Dims batch, std::initializer_list<Dim> last) {
  batch.insert(batch.end(), last.begin(), last.end());
  return batch;
}

void each_matrix(const Literal& x, const std::function<void(int64_t at, int64_t number)>& visit) {
  int64_t size = x.dims()[x.dims().size() - 1] * x.dims()[x.dims().size() - 2];
  for (int64_t at = 0, number = 0; size > 0 && at < x.elements(); at += size, ++number) visit(at, number);
}

Value turned(Builder& b, Value x) {
  Ints order = tools::iota(x->type().rank());
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return b.transpose(x, order);
}

Value product_of(Builder& b, Value x, Value y) { return b("matmul", {x, y}); }

Value triangle(Builder& b, Value x, bool lower, int64_t k) {
  return b(lower ? "tril" : "triu", {x}, {{"k", k}});
}

Value symmetric_from_lower(Builder& b, Value x) {
  return Compose(b).add(triangle(b, x, true, 0), turned(b, triangle(b, x, true, -1)));
}

Value solved(Builder& b, Value a, Value y, bool lower, bool transposed, bool unit) {
  return b("triangular_solve", {a, y},
           {{"lower", lower}, {"transpose_a", transposed}, {"unit_diagonal", unit}});
}

Value identity_like(Builder& b, Value x) {
  Compose m(b);
  const Dims& dims = x->type().dims;
  Dims square(dims.end() - 2, dims.end());
  Value same = m.equal(m.iota(DType::I64, square, 0), m.iota(DType::I64, square, 1));
  return b.broadcast_to(b.convert(same, x->type().dtype), dims);
}

Value row_of(Builder& b, Value vector) {
  Dims dims = vector->type().dims;
  dims.insert(dims.end() - 1, Dim(int64_t{1}));
  return b.reshape(vector, dims);
}

Value column_of(Builder& b, Value vector) {
  Dims dims = vector->type().dims;
  dims.push_back(Dim(int64_t{1}));
  return b.reshape(vector, dims);
}

Value last_sum(Builder& b, Value x, int from) { return Compose(b).sum(x, {x->type().rank() - from}); }

bool surely_wide(Builder& b, const Type& x) {
  return b.graph().dims.less(x.dims[x.dims.size() - 2], x.dims.back()) == Truth::Yes;
}

Op factorisation(OpDecl decl, bool square, InferFn infer, ReferenceFn reference, NestFn nest, JvpFn jvp,
                 Rule<TransposeFn> transpose) {
  decl.dtypes = DTypeSet::Float;
  decl.front = Front::None;
  bool system = decl.operands.size() > 1;
  decl.bad_samples.push_back({"f16[2, 2]" + std::string(system ? ", f16[2, 1]" : ""), "{}",
                              "TypeError: " + decl.name + ": matrices of float16 have no factors"});
  if (square)
    decl.bad_samples.push_back(
        {"f32[2, 3]" + std::string(system ? ", f32[2, 1]" : ""), "{}",
         "ShapeError: " + decl.name + ": the rows and the columns of a square matrix: 2 and 3 differ"});
  else
    decl.bad_samples.push_back(
        {"f32[3]", "{}", "ShapeError: " + decl.name + ": needs matrices [..., m, n], got f32[3]"});
  return {.decl = std::move(decl),
          .rules = {.infer = infer,
                    .reference = reference,
                    .lower = LowerRule::of_nest(nest),
                    .simplify = tools::no_rule("no identity keeps every bit"),
                    .jvp = jvp,
                    .transpose = std::move(transpose),
                    .batch = &batch_in_front,
                    .body = tools::no_body()},
          .id = {}};
}

}  // namespace ig::ops::factors
