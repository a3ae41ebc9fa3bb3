// What singular values are good for: the pseudo-inverse and least squares. Both have derivatives of their
// own, which hold where singular values are equal; those of the vectors would not.
//
// Source: G. Golub and V. Pereyra, "The differentiation of pseudo-inverses", 1973.
#include "ops/families/compose.h"
#include "ops/families/linalg_rules.h"

namespace ig::ops {

std::vector<Op> linalg_least_squares();

namespace {

using namespace factors;

struct Factors {
  Value left, s, right;  // x = left diag(s) rightᴴ
};

Factors factors_of(Builder& b, Value x) {
  std::vector<Value> f = b.many("svd", {x});
  return {f[0], f[1], adjoint(b, f[2])};
}

// 1 / s as a row, and 0 for what counts as nothing: not above rtol times the largest. NaN stays.
struct Inverse {
  Value small, numbers;
};

Inverse inverse_of(Builder& b, Value s, Value rtol) {
  Compose m(b);
  Value limit = m.mul(m.top_keep(s, {s->type().rank() - 1}), column_of(b, rtol));
  Value small = m.less_equal(s, m.b.broadcast_to(limit, s->type().dims));
  Value safe = m.where(small, m.number(s, 1), s);
  return {small, m.where(small, m.number(s, 0), m.div(m.number(s, 1), safe))};
}

void require_limits(InferContext& c, size_t operand) {
  const Type &x = c.operand(0), &rtol = c.operand(operand);
  if (rtol.dtype != real_of(x.dtype))
    c.fail(ErrorKind::Type,
           fmt::format("x is {}, but rtol is {}", info(x.dtype).api_name, info(rtol.dtype).api_name),
           "singular values are real numbers of the precision of x, and rtol is a part of the largest one",
           fmt::format("convert rtol with astype(\"{}\")", info(real_of(x.dtype)).api_name));
  c.require_rank(operand, x.rank() - 2);
  for (size_t i = 0; i < rtol.dims.size(); ++i)
    c.require_equal(x.dims[i], rtol.dims[i], "the leading axes of the matrices and of rtol");
}

void infer_pinv(InferContext& c) {
  require_matrices(c, 0);
  require_limits(c, 1);
  tools::infer_by_body(c);
}

std::vector<Value> pinv_body(BodyContext& c) {
  Builder& b = c.build;
  Factors f = factors_of(b, c.operands[0]);
  Inverse inverse = inverse_of(b, f.s, c.operands[1]);
  Value scaled = Compose(b).mul(f.right, of_type(b, row_of(b, inverse.numbers), f.right));
  return {product_of(b, scaled, adjoint(b, f.left))};
}

// Of matrices whose rank stays: dP = -P dx P + P Pᴴ dxᴴ (1 - x P) + (1 - P x) dxᴴ Pᴴ P.
std::vector<Value> jvp_pinv(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Builder& b = c.build;
  Compose m(b);
  Value x = c.operands[0], p = c.results[0], t = c.tangents[0];
  Value pt = adjoint(b, p), tt = adjoint(b, t);
  Value first = product_of(b, product_of(b, p, t), p);
  Value left = product_of(b, product_of(b, p, pt), tt), right = product_of(b, tt, product_of(b, pt, p));
  Value outer = m.sub(left, product_of(b, product_of(b, left, x), p));
  Value inner = m.sub(right, product_of(b, p, product_of(b, x, right)));
  return {m.add(m.sub(outer, first), inner)};
}

void infer_least_squares(InferContext& c) {
  require_matrices(c, 0);
  c.require_same_dtype(0, 1);
  require_limits(c, 2);
  const Type &a = c.operand(0), &y = c.operand(1);
  c.require_rank(1, a.rank());
  for (size_t i = 0; i + 1 < a.dims.size(); ++i)
    c.require_equal(a.dims[i], y.dims[i],
                    i + 2 < a.dims.size() ? "the leading axes" : "the rows of a and of b");
  tools::infer_by_body(c);
}

std::vector<Value> least_squares_body(BodyContext& c) {
  Builder& b = c.build;
  Compose m(b);
  Factors f = factors_of(b, c.operands[0]);
  Inverse inverse = inverse_of(b, f.s, c.operands[2]);
  Value along = product_of(b, adjoint(b, f.left), c.operands[1]);
  Value x = product_of(b, f.right, m.mul(of_type(b, column_of(b, inverse.numbers), along), along));
  Value one = b.full(Type::tensor(DType::I64, f.s->type().dims), 1);
  Value counts = m.sub(one, b.convert(inverse.small, DType::I64));
  return {x, last_sum(b, counts, 1), f.s};
}

// x = P b: dx = P (db - da x) + P Pᴴ daᴴ (b - a x) + (1 - P a) daᴴ Pᴴ x; ds = diag(Uᴴ da V).
std::vector<Value> jvp_least_squares(JvpContext& c) {
  Builder& b = c.build;
  Compose m(b);
  Value a = c.operands[0], y = c.operands[1], da = c.tangents[0], db = c.tangents[1], x = c.results[0];
  if (!da && !db) return {nullptr, nullptr, nullptr};
  Value p = b("pseudo_inverse", {a, c.operands[2]});
  Value right = db;
  if (da) {
    Value moved = m.neg(product_of(b, da, x));
    right = right ? m.add(right, moved) : moved;
  }
  Value dx = product_of(b, p, right);
  if (!da) return {dx, nullptr, nullptr};
  Value pt = adjoint(b, p), dat = adjoint(b, da);
  Value rest = m.sub(y, product_of(b, a, x));
  dx = m.add(dx, product_of(b, p, product_of(b, pt, product_of(b, dat, rest))));
  Value g = product_of(b, dat, product_of(b, pt, x));
  dx = m.add(dx, m.sub(g, product_of(b, p, product_of(b, a, g))));
  Factors f = factors_of(b, a);
  return {dx, nullptr, real_part(b, last_sum(b, m.mul(conjugate(b, f.left), product_of(b, da, f.right)), 2))};
}

}  // namespace

std::vector<Op> linalg_least_squares() {
  const std::string square = "T[3, 3] {1, 2, -0.5, 4, -1, 0.5, 0.25, 3, 2}",
                    tall = "T[2, 3, 2] {1, 2, 3, -1, 0.5, 2, -1, 1, 2, 0.5, 3, 1}",
                    wide = "T[2, 3] {1, 2, -0.5, 4, -1, 0.5}", limit = ", R[] {0.001}",
                    limits = ", R[2] {0.001, 0.01}",
                    turned_tall = "T[3, 2] {(1, 2), (0.5, -1), (-1, 0.5), (2, 3), (0, 4), (1, 1)}",
                    turned_wide = "T[2, 3] {(-1, 2), (0.5, -1), (-1, 0.5), (2, 3), (0, 4), (1, 1)}";
  std::vector<Op> ops;
  auto add = [&](OpDecl decl, BodyFn body, InferFn infer, JvpFn jvp) {
    decl.dtypes = DTypeSet::FloatComplex;
    decl.front = Front::None;
    Op op = composite(std::move(decl), body, infer);
    op.rules.jvp = jvp;
    ops.push_back(std::move(op));
  };
  add({.name = "pseudo_inverse",
       .doc = "The pseudo-inverse of matrices, by singular values; those that are not above rtol times the "
              "largest count as 0.\nIts derivative is that of matrices whose rank stays.",
       .operands = {{"x", "[..., m, n]."}, {"rtol", "[...]: what is small, for each matrix."}},
       .numpy = "np.linalg.pinv(x" + std::string(kWideNumbers) + ", rtol)",
       .samples = {{square + limit, "{}"},
                   {tall + limits, "{}"},
                   {wide + limit, "{}"},
                   {turned_tall + limit, "{}"},
                   {turned_wide + limit, "{}"},
                   {"T[2, 2] {(1, 2), (2, -1), (-2, 1), (1, 2)}" + limit, "{}"},  // of rank 1 where complex
                   {"T[1, 1] {-8}" + limit, "{}"},
                   {"T[0, 2, 2], R[0]", "{}"}},
       .bad_samples = {{"f32[2, 2], f64[]", "{}",
                        "TypeError: pseudo_inverse: x is float32, but rtol is float64"},
                       {"c64[2, 2], c64[]", "{}",
                        "TypeError: pseudo_inverse: x is complex64, but rtol is complex64"}},
       .ulp = 1024,
       .complex_ulp = 1024},
      pinv_body, infer_pinv, jvp_pinv);
  add({.name = "least_squares",
       .doc = "The x with the least |a x - b|, of several the shortest; the rank of a, and its singular "
              "values.\nThose that are not above rtol times the largest count as 0. Its derivative is that "
              "of matrices whose rank stays.",
       .operands = {{"a", "[..., m, n]."},
                    {"b", "[..., m, k]."},
                    {"rtol", "[...]: what is small, for each matrix."}},
       .results = 3,
       .numpy =
           "(lambda one: tuple(np.stack(part) for part in zip(*map(one, a, b, rtol))) if a.ndim > 2 else "
           "one(a, b, rtol))(lambda a, b, rtol: (lambda t: tuple(np.linalg.lstsq(a.astype(t), b.astype(t), "
           "float(rtol))[k] for k in (0, 2, 3)))('D' if a.dtype.kind == 'c' else float))",
       .samples = {{square + ", T[3, 2]" + limit, "{}"},
                   {tall + ", T[2, 3, 2]" + limits, "{}"},
                   {wide + ", T[2, 1]" + limit, "{}"},
                   {turned_tall + ", T[3, 1]" + limit, "{}"},
                   {turned_wide + ", T[2, 2]" + limit, "{}"},
                   {"T[1, 1] {-8}, T[1, 3]" + limit, "{}"}},
       .bad_samples = {{"f32[2, 2], f32[3, 1], f32[]", "{}",
                        "ShapeError: least_squares: the rows of a and of b: 2 and 3 differ"}},
       .ulp = 1024,
       .complex_ulp = 1024},
      least_squares_body, infer_least_squares, jvp_least_squares);
  return ops;
}

}  // namespace ig::ops
