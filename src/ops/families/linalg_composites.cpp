// What the factors of a matrix are good for: systems, determinants, powers.
#include "ops/families/complex.h"
#include "ops/families/compose.h"
#include "ops/families/linalg_rules.h"

namespace ig::ops {

std::vector<Op> linalg_composites();

namespace {

constexpr Attr<int64_t> kRows{"rows", "Of each matrix: 1, 2 or 3."};
constexpr Attr<int64_t> kPower{"n", "How many factors; the inverse's where negative."};

using factors::diagonal_of;
using factors::identity_like;
using factors::kTransposed;
using factors::product_of;
using factors::solved;
using factors::turned;

Value solution(Builder& b, Value a, Value y, bool transposed = false) {
  return b("solve", {a, y}, {{"transpose_a", transposed}});
}

void infer_square(InferContext& c) {
  factors::require_square(c, 0);
  tools::infer_by_body(c);
}
void infer_system(InferContext& c) {
  c.require_same_dtype(0, 1);
  c.require_rank(1, c.operand(0).rank());
  infer_square(c);
}

// The factors L U are those of the rows of a in the order of the pivots; of Aᵀ they are Uᵀ Lᵀ and give the
// unknowns in that order. Both have the same `lu`, which is computed once.
std::vector<Value> solve_body(BodyContext& c) {
  Builder& b = c.build;
  Value a = c.operands[0], y = c.operands[1];
  if (a->type().dims.back() == 0) return {y};  // no rows to put in order
  std::vector<Value> factors = b.many("lu", {a});
  Value lu = factors[0], order = factors[2];
  if (!c.get(kTransposed)) {
    Value below = solved(b, lu, factors::rows_in_order(b, y, order), true, false, true);
    return {solved(b, lu, below, false, false, false)};
  }
  Value ordered = solved(b, lu, solved(b, lu, y, false, true, false), true, true, true);
  return {factors::rows_put_back(b, ordered, order)};
}

// x = a⁻¹ b: dx = a⁻¹ (db - da x), which needs no derivative of the factors.
std::vector<Value> jvp_solve(JvpContext& c) {
  Builder& b = c.build;
  bool transposed = c.node->attrs().get(kTransposed);
  Value right = c.tangents[1];
  if (Value t = c.tangents[0]) {
    Value moved = product_of(b, transposed ? turned(b, t) : t, c.results[0]);
    right = right ? b("subtract", {right, moved}) : b("negate", {moved});
  }
  if (!right) return {nullptr};
  return {solution(b, c.operands[0], right, transposed)};
}

std::vector<Value> transpose_solve(TransposeContext& c) {
  if (!c.cotangents[0] || !c.linear[1]) return {nullptr, nullptr};
  return {nullptr, solution(c.build, c.operands[0], c.cotangents[0], !c.node->attrs().get(kTransposed))};
}

// The trace of a⁻¹ da, by which the logarithm of the determinant moves.
Value trace_of_solution(Builder& b, Value a, Value da) {
  Value d = diagonal_of(b, solution(b, a, da));
  return Compose(b).sum(d, {d->type().rank() - 1});
}
std::vector<Value> inv_body(BodyContext& c) {
  return {solution(c.build, c.operands[0], identity_like(c.build, c.operands[0]))};
}

// The sign of the exchanges of rows, as a number of the matrix's type.
Value parity(Builder& b, Value pivots, DType dtype) {
  Compose m(b);
  int64_t last = pivots->type().rank() - 1;
  Value moved = m.b("not_equal", {pivots, m.iota(DType::I64, pivots->type().dims, last)});
  Value odd = m.rem(m.sum(b.convert(moved, DType::I64), {last}), m.b.scalar(DType::I64, 2));
  return m.sub(m.mul(b.convert(odd, dtype), -2.0), m.number(b.convert(odd, dtype), -1));
}

// Matrices of few rows, whose determinant is a sum of few products. How many is an attribute, so that it is
// known wherever the op is: the bits of arrays whose sizes are symbols are those of all others.
void infer_expansion(InferContext& c) {
  const int64_t rows = c.get(kRows);
  if (rows < 1 || rows > 3)
    c.fail(ErrorKind::Value, fmt::format("rows is {}", rows), "matrices of one to three rows are expanded",
           "use determinant, which takes all sizes");
  factors::require_square(c, 0);
  c.require_equal(c.operand(0).dims.back(), Dim(rows), "the rows of the matrices and the attribute");
  tools::infer_by_body(c);
}

// The element of each matrix in a row and a column, which come round.
Value element_of(Compose& m, Value x, int64_t row, int64_t column) {
  const int64_t rank = x->type().rank(), n = x->type().dims.back().constant();
  row %= n, column %= n;
  Value one = m.slice(m.slice(x, rank - 2, row, row + 1), rank - 1, column, column + 1);
  return m.b.reshape(one, Dims(x->type().dims.begin(), x->type().dims.end() - 2));
}

// What each element of the first rows is multiplied by in the determinant of such a matrix.
std::vector<Value> cofactors(Compose& m, Value x, int64_t rows) {
  const int64_t n = x->type().dims.back().constant();
  auto at = [&](int64_t i, int64_t j) { return element_of(m, x, i, j); };
  if (n == 1) return {m.number(at(0, 0), 1)};
  std::vector<Value> out;
  if (n == 2) {
    for (int64_t i = 0; i < rows; ++i) {
      Value own[] = {at(i + 1, 1), at(i + 1, 0)};
      out.push_back(i == 0 ? own[0] : m.neg(own[0]));
      out.push_back(i == 1 ? own[1] : m.neg(own[1]));
    }
    return out;
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < n; ++j)
      out.push_back(
          m.sub(m.mul(at(i + 1, j + 1), at(i + 2, j + 2)), m.mul(at(i + 1, j + 2), at(i + 2, j + 1))));
  return out;
}

std::vector<Value> det_body(BodyContext& c) {
  Compose m(c.build);
  std::vector<Value> factors = c.build.many("lu", {c.operands[0]});
  Value d = diagonal_of(c.build, factors[0]);
  Value all = c.build("reduce_prod", {d}, {{"axes", Ints{d->type().rank() - 1}}});
  return {m.mul(all, parity(c.build, factors[1], all->type().dtype))};
}

// Jacobi's formula.
std::vector<Value> jvp_det(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  return {Compose(c.build).mul(c.results[0], trace_of_solution(c.build, c.operands[0], c.tangents[0]))};
}

// Along the first row.
std::vector<Value> expansion_body(BodyContext& c) {
  Compose m(c.build);
  Value x = c.operands[0], sum = nullptr;
  const std::vector<Value> with = cofactors(m, x, 1);
  for (size_t j = 0; j < with.size(); ++j) {
    Value term = m.mul(element_of(m, x, 0, static_cast<int64_t>(j)), with[j]);
    sum = sum ? m.add(sum, term) : term;
  }
  return {sum};
}

// Each element's slope is what it is multiplied by, of a singular matrix too.
std::vector<Value> jvp_expansion(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Compose m(c.build);
  Value x = c.operands[0];
  const int64_t rank = x->type().rank();
  std::vector<Value> with = cofactors(m, x, x->type().dims.back().constant());
  Dims one = x->type().dims;
  one[one.size() - 2] = one.back() = 1;
  for (Value& v : with) v = m.b.reshape(v, one);
  Value all = with.size() == 1 ? with[0] : m.b("concatenate", with, {{"axis", rank - 1}});
  return {m.sum(m.mul(m.b.reshape(all, x->type().dims), c.tangents[0]), {rank - 2, rank - 1})};
}

std::vector<Value> slogdet_body(BodyContext& c) {
  Compose m(c.build);
  std::vector<Value> factors = c.build.many("lu", {c.operands[0]});
  Value d = diagonal_of(c.build, factors[0]);
  Ints last{d->type().rank() - 1};
  Value signs = c.build("reduce_prod", {c.build("sign", {d})}, {{"axes", last}});
  Value sign = m.mul(signs, parity(c.build, factors[1], signs->type().dtype));
  return {sign, m.sum(m.log(m.abs(d)), last)};
}

// Of a complex matrix the imaginary part turns the sign.
std::vector<Value> jvp_slogdet(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr, nullptr};
  Builder& b = c.build;
  Value trace = trace_of_solution(b, c.operands[0], c.tangents[0]);
  if (!is_complex(trace->type().dtype)) return {nullptr, trace};
  Value turn = factors::imaginary(b, b("imag", {trace}));
  return {Compose(b).mul(c.results[0], turn), b("real", {trace})};
}

std::vector<Value> power_body(BodyContext& c) {
  Builder& b = c.build;
  Value x = c.operands[0];
  int64_t n = c.get(kPower);
  if (n == 0) return {identity_like(b, x)};
  if (n < 0) x = solution(b, x, identity_like(b, x)), n = -n;
  Value out = nullptr;
  while (true) {
    if (n & 1) out = out ? b("matmul", {out, x}) : x;
    n >>= 1;
    if (n == 0) return {out};
    x = b("matmul", {x, x});
  }
}

// Of a matrix, and of a vector; of float32 turned over, too, as gradients have them.
std::vector<UsualCall> usual_systems() {
  std::vector<UsualCall> out = factors::usual_batches({"2, 2", "2, 3"});
  for (UsualCall& call : factors::usual_matrices({"2, 2", "2, 1"})) out.push_back(std::move(call));
  for (const char* right : {"f32[2, 3]", "f32[2, 1]"})
    out.push_back({{"f32[2, 2]", right}, make_attrs({factors::kTransposed % true})});
  return out;
}

}  // namespace

std::vector<Op> linalg_composites() {
  std::vector<Op> ops;
  const std::string three = "T[3, 3] {1, 2, -0.5, 4, -1, 0.5, 0.25, 3, 2}",
                    two = "T[2, 2, 2] {0, 1, 2, 3, 2, -1, -1, 5}",
                    complex_two = "T[2, 2] {(1, 2), (0.5, -1), (-1, 0.5), (2, 3)}";
  std::vector<Sample> square{
      {three, "{}"}, {two, "{}"}, {complex_two, "{}"}, {"T[1, 1] {4}", "{}"}, {"T[0, 2, 2]", "{}"}};
  auto add = [&](OpDecl decl, BodyFn body, InferFn infer = infer_square) {
    decl.dtypes = DTypeSet::FloatComplex;
    decl.front = Front::None;
    ops.push_back(composite(std::move(decl), body, infer));
  };
  add({.name = "solve",
       .doc = "The x with a x = b, by the factors of LU.",
       .operands = {{"a", "[..., n, n]."}, {"b", "[..., n, m]."}},
       .attrs = {kTransposed},
       .traits = static_cast<uint32_t>(Trait::Prepares),
       .numpy = "(lambda t: np.linalg.solve((np.swapaxes(a, -1, -2) if transpose_a else a).astype(t), "
                "b.astype(t)))('D' if a.dtype.kind == 'c' else float)",
       .samples = {{three + ", T[3, 2]", "{}"},
                   {two + ", T[2, 2, 1]", "{}"},
                   {complex_two + ", T[2, 2]", "{}"},
                   {"T[1, 1] {4}, T[1, 3]", "{}"},
                   {three + ", T[3, 2]", "{transpose_a = true}"},
                   {two + ", T[2, 2, 3]", "{transpose_a = true}"},
                   {complex_two + ", T[2, 1]", "{transpose_a = true}"}},
       .usual = usual_systems(),
       .ulp = 1024,
       .complex_ulp = 1024},
      solve_body, infer_system);
  ops.back().rules.jvp = jvp_solve;
  ops.back().rules.transpose = transpose_solve;
  add({.name = "inverse",
       .doc = "The inverse of each matrix, by the factors of LU.",
       .operands = {{"x", "[..., n, n]."}},
       .numpy = "np.linalg.inv(x.astype('D' if x.dtype.kind == 'c' else float))",
       .samples = square,
       .usual = factors::usual_batches({"2, 2"}),
       .ulp = 1024,
       .complex_ulp = 1024},
      inv_body);
  add({.name = "determinant",
       .doc = "The determinant of each matrix, by the factors of LU; 0 of a singular one, where its slope is "
              "not a number.",
       .operands = {{"x", "[..., n, n]."}},
       .numpy = "np.linalg.det(x" + std::string(factors::kWideNumbers) + ")",
       .samples = square,
       .usual = factors::usual_batches({"2, 2"}),
       .ulp = 1024,
       .complex_ulp = 1024},
      det_body);
  ops.back().rules.jvp = jvp_det;
  add({.name = "determinant_by_expansion",
       .doc = "The determinant of each matrix of one to three rows, as the sum of its products along the "
              "first row.",
       .operands = {{"x", "[..., rows, rows]."}},
       .attrs = {kRows},
       .numpy = "np.linalg.det(x" + std::string(factors::kWideNumbers) + ")",
       .samples = {{three, "{rows = 3}"},
                   {two, "{rows = 2}"},
                   {complex_two, "{rows = 2}"},
                   {"T[5, 3, 3]", "{rows = 3}"},
                   {"T[1, 1] {4}", "{rows = 1}"},
                   {"T[0, 2, 2]", "{rows = 2}"}},
       .bad_samples = {{"f32[2, 2]", "{rows = 3}",
                        "ShapeError: determinant_by_expansion: the rows of the matrices and the attribute: 2 "
                        "and 3 differ"},
                       {"f32[4, 4]", "{rows = 4}", "ValueError: determinant_by_expansion: rows is 4"},
                       {"f32[2, 3]", "{rows = 2}",
                        "ShapeError: determinant_by_expansion: the rows and the columns of a square matrix: "
                        "2 and 3 differ"}},
       .ulp = 1024,
       .complex_ulp = 1024},
      expansion_body, infer_expansion);
  ops.back().rules.jvp = jvp_expansion;
  add({.name = "sign_and_log_determinant",
       .doc = "The sign of the determinant of each matrix (a complex number of size 1, where they are "
              "complex), and the logarithm of its size.",
       .operands = {{"x", "[..., n, n]."}},
       .results = 2,
       .numpy = "tuple(np.linalg.slogdet(x" + std::string(factors::kWideNumbers) + "))",
       .samples = square,
       .usual = factors::usual_matrices({"2, 2"}),
       .ulp = 1024,
       .complex_ulp = 1024},
      slogdet_body);
  ops.back().rules.jvp = jvp_slogdet;
  add({.name = "matrix_power",
       .doc = "The product of n factors x, by squares; of the inverse where n is negative; the identity "
              "where it is 0.",
       .operands = {{"x", "[..., n, n]."}},
       .attrs = {kPower},
       .numpy = "np.linalg.matrix_power(x.astype('D' if x.dtype.kind == 'c' else float), n)",
       .samples = {{three, "{n = 3}"}, {three, "{n = 0}"}, {three, "{n = -2}"}, {two, "{n = 1}"}},
       .ulp = 4096,
       .complex_ulp = 4096},
      power_body);
  return ops;
}

}  // namespace ig::ops
