// What the files of linear algebra share; see linalg_rules.h.
#include "ops/families/linalg_rules.h"

#include <utility>

#include <fmt/format.h>

#include "ops/families/batch_rules.h"
#include "ops/families/compose.h"
#include "ops/shape_attrs.h"

namespace ig::ops::factors {

std::vector<UsualCall> usual_matrices(std::initializer_list<std::string_view> sizes, Attrs attrs) {
  std::vector<UsualCall> out;
  for (const char* dtype : {"f32", "f64"}) {
    out.push_back({{}, attrs});
    for (std::string_view size : sizes) out.back().operands.push_back(fmt::format("{}[{}]", dtype, size));
  }
  return out;
}

std::vector<UsualCall> usual_batches(std::initializer_list<std::string_view> sizes) {
  std::vector<UsualCall> out = usual_matrices(sizes);
  out.push_back({});
  for (std::string_view size : sizes) out.back().operands.push_back(fmt::format("f32[5, {}]", size));
  return out;
}

void require_matrices(InferContext& c, size_t operand) {
  const Type& x = c.operand(operand);
  c.require_dtype(operand, DTypeSet::FloatComplex);
  if (size_of(x.dtype) == 2)
    c.fail(ErrorKind::Type, fmt::format("matrices of {} have no factors", info(x.dtype).api_name),
           "they are computed in float32, float64, complex64 and complex128",
           "convert with astype, and back afterwards");
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

void set_element(Literal& to, int64_t at, Complex value) {
  if (is_complex(to.dtype())) return tools::set_complex(to, at, value.real(), value.imag());
  tools::set_real(to, at, value.real());
}

Value conjugate(Builder& b, Value x) { return is_complex(x->type().dtype) ? b("conj", {x}) : x; }
Value adjoint(Builder& b, Value x) { return turned(b, conjugate(b, x)); }
Value real_part(Builder& b, Value x) { return is_complex(x->type().dtype) ? b("real", {x}) : x; }
Value imaginary(Builder& b, Value x) { return b("complex", {b.full_like(x, 0), x}); }
Value of_type(Builder& b, Value real, Value like) { return b.convert(real, like->type().dtype); }

Value product_of(Builder& b, Value x, Value y) { return b("matmul", {x, y}); }

Value triangle(Builder& b, Value x, bool lower, int64_t k) {
  return b(lower ? "tril" : "triu", {x}, {{"k", k}});
}

// Half of the diagonal twice: what is imaginary there goes.
Value hermitian_from_lower(Builder& b, Value x) {
  Compose m(b);
  Value half = m.mul(m.add(triangle(b, x, true, 0), triangle(b, x, true, -1)), 0.5);
  return m.add(half, adjoint(b, half));
}

Value turn_of(Builder& b, Value v, Value dv) {
  Compose m(b);
  int64_t rows = v->type().rank() - 2;
  Value size = m.abs(v);
  Value large = m.less_equal(m.mul(m.top_keep(size, {rows}), 0.99), size);
  Value place = m.iota(DType::I64, v->type().dims, rows);
  Value last = m.number(place, 0x1p62);
  Value first = m.keep(b("reduce_min", {m.where(large, place, last)}, {{"axes", Ints{rows}}}), v, {rows});
  Value chosen = m.equal(place, first);
  auto picked = [&](Value z) { return m.sum_keep(m.where(chosen, z, m.number(z, 0)), {rows}); };
  return b("imag", {m.div(picked(dv), picked(v))});
}

Value solved(Builder& b, Value a, Value y, bool lower, bool transposed, bool unit) {
  return b("triangular_solve", {a, y},
           {{"lower", lower}, {"transpose_a", transposed}, {"unit_diagonal", unit}});
}

Value rows_in_order(Builder& b, Value x, Value order) {
  Dims column = order->type().dims;
  column.push_back(1);
  return b("take_along_axis", {x, b.reshape(order, column)}, {{"axis", int64_t{-2}}});
}

Value rows_put_back(Builder& b, Value x, Value order) {
  int64_t rows = x->type().rank() - 2;
  Ints batch = tools::iota(rows);
  return b("scatter", {b.full_like(x, 0), order, x},
           {kUpdateWindowDims % Ints{rows + 1}, kInsertedDims % Ints{rows}, kInputBatchDims % batch,
            kScatterBatchDims % batch, kScatterMap % Ints{rows}, kIndexVectorDim % (rows + 1),
            kUpdate % std::string("set")});
}

Value diagonal_of(Builder& b, Value x) {
  return b("diagonal", {x}, {{"axis1", int64_t{-2}}, {"axis2", int64_t{-1}}});
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
  decl.dtypes = DTypeSet::FloatComplex;
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
