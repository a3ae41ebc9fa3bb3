// What the factors of a matrix are good for: systems, determinants, powers.
#include "ops/families/compose.h"
#include "ops/families/linalg_rules.h"

namespace ig::ops {

std::vector<Op> linalg_composites();

namespace {

constexpr Attr<int64_t> kPower{"n", "How many factors; the inverse's where negative."};

using factors::identity_like;
using factors::solved;

// a x = b by the factors of a: L U x = b, its rows in the order of the pivots.
Value solution(Builder& b, Value a, Value y) {
  if (a->type().dims.back() == 0) return y;  // no rows to put in order
  std::vector<Value> factors = b.many("lu", {a});
  Dims column = factors[2]->type().dims;
  column.push_back(1);
  Value rows = b.broadcast_to(b.reshape(factors[2], column), y->type().dims);
  Value ordered = b("take_along_axis", {y, rows}, {{"axis", int64_t{-2}}});
  return solved(b, factors[0], solved(b, factors[0], ordered, true, false, true), false, false, false);
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

std::vector<Value> solve_body(BodyContext& c) { return {solution(c.build, c.operands[0], c.operands[1])}; }
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

std::vector<Value> det_body(BodyContext& c) {
  Compose m(c.build);
  std::vector<Value> factors = c.build.many("lu", {c.operands[0]});
  Value d = c.build("diagonal", {factors[0]});
  Value all = c.build("reduce_prod", {d}, {{"axes", Ints{d->type().rank() - 1}}});
  return {m.mul(all, parity(c.build, factors[1], all->type().dtype))};
}

// The logarithm of a zero has no slope that could be used; its derivative is that of LU.
std::vector<Value> slogdet_body(BodyContext& c) {
  Compose m(c.build);
  std::vector<Value> factors = c.build.many("lu", {c.operands[0]});
  Value d = c.build("diagonal", {factors[0]});
  Ints last{d->type().rank() - 1};
  Value signs = c.build("reduce_prod", {c.build("sign", {d})}, {{"axes", last}});
  Value sign = m.mul(signs, parity(c.build, factors[1], signs->type().dtype));
  return {sign, m.sum(m.log(m.abs(d)), last)};
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

}  // namespace

std::vector<Op> linalg_composites() {
  std::vector<Op> ops;
  const std::string three = "T[3, 3] {1, 2, -0.5, 4, -1, 0.5, 0.25, 3, 2}",
                    two = "T[2, 2, 2] {0, 1, 2, 3, 2, -1, -1, 5}",
                    turned = "T[2, 2] {(1, 2), (0.5, -1), (-1, 0.5), (2, 3)}";
  std::vector<Sample> square{
      {three, "{}"}, {two, "{}"}, {turned, "{}"}, {"T[1, 1] {4}", "{}"}, {"T[0, 2, 2]", "{}"}};
  auto add = [&](OpDecl decl, BodyFn body, InferFn infer = infer_square) {
    decl.dtypes = DTypeSet::FloatComplex;
    decl.front = Front::None;
    ops.push_back(composite(std::move(decl), body, infer));
  };
  add({.name = "solve",
       .doc = "The x with a x = b, by the factors of LU.",
       .operands = {{"a", "[..., n, n]."}, {"b", "[..., n, m]."}},
       .numpy =
           "(lambda t: np.linalg.solve(a.astype(t), b.astype(t)))('D' if a.dtype.kind == 'c' else float)",
       .samples = {{three + ", T[3, 2]", "{}"},
                   {two + ", T[2, 2, 1]", "{}"},
                   {turned + ", T[2, 2]", "{}"},
                   {"T[1, 1] {4}, T[1, 3]", "{}"}},
       .ulp = 1024,
       .complex_ulp = 1024},
      solve_body, infer_system);
  add({.name = "inverse",
       .doc = "The inverse of each matrix, by the factors of LU.",
       .operands = {{"x", "[..., n, n]."}},
       .numpy = "np.linalg.inv(x.astype('D' if x.dtype.kind == 'c' else float))",
       .samples = square,
       .ulp = 1024,
       .complex_ulp = 1024},
      inv_body);
  add({.name = "determinant",
       .doc = "The determinant of each matrix, by the factors of LU; 0 of a singular one, where its slope is "
              "not a number.",
       .operands = {{"x", "[..., n, n]."}},
       .numpy = "np.linalg.det(x" + std::string(factors::kWideNumbers) + ")",
       .samples = square,
       .ulp = 1024,
       .complex_ulp = 1024},
      det_body);
  add({.name = "sign_and_log_determinant",
       .doc = "The sign of the determinant of each matrix (a complex number of size 1, where they are "
              "complex), and the logarithm of its size.",
       .operands = {{"x", "[..., n, n]."}},
       .results = 2,
       .numpy = "tuple(np.linalg.slogdet(x" + std::string(factors::kWideNumbers) + "))",
       .samples = square,
       .ulp = 1024,
       .complex_ulp = 1024},
      slogdet_body);
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
