// Schur's form as an op of its own, Sylvester's equation by it, and the square root and the logarithm of
// matrices.
//
// Sources: R. Bartels and G. Stewart, "Solution of the matrix equation AX + XB = C" (1972); Å. Björck and
// S. Hammarling, "A Schur method for the square root of a matrix" (1983); A. Al-Mohy and N. Higham, "Improved
// inverse scaling and squaring algorithms for the matrix logarithm" (2012).
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "loop/math_complex.h"
#include "ops/families/batch_rules.h"
#include "ops/families/compose.h"
#include "ops/families/linalg_reference.h"
#include "ops/families/linalg_rules.h"
#include "ops/families/linalg_schur.h"

namespace ig::ops {

std::vector<Op> linalg_roots();

namespace {

using namespace factors;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

DType complex_type(const Type& x) { return complex_of(real_of(x.dtype)); }

// --- Schur's form
// -----------------------------------------------------------------------------------------------------------
// The phases that the steps end with are any: as elsewhere, the first element of a vector within a hundredth
// of the largest is made positive, so that results agree between precisions and machines.
void infer_schur(InferContext& c) {
  require_square(c, 0);
  const Type& x = c.operand(0);
  c.result(complex_type(x), x.dims);
  c.result(complex_type(x), x.dims);
}

void reference_schur(ReferenceContext& c) {
  const Literal& x = c.operands[0];
  int64_t n = x.dims().back();
  each_matrix(x, [&](int64_t at, int64_t) {
    Schur s = schur_of(x, at);
    std::vector<Complex> phases;
    for (int64_t k = 0; k < n; ++k) {
      double top = 0;
      for (int64_t j = 0; j < n; ++j) top = std::max(top, std::abs(s.basis(k, j)));
      int64_t first = 0;
      while (first + 1 < n && std::abs(s.basis(k, first)) < 0.99 * top) ++first;
      phases.push_back(std::conj(phase_of(s.basis(k, first))));
    }
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        Complex p = phases[static_cast<size_t>(i)], q = phases[static_cast<size_t>(j)];
        Complex t = i < j ? std::conj(p) * s.at(i, j) * q * s.scale : i == j ? s.at(i, i) * s.scale : 0;
        Complex z = s.basis(j, i) * q;
        if (s.failed) t = z = Complex(kNan, kNan);
        set_element(c.results[0], at + i * n + j, t);
        set_element(c.results[1], at + i * n + j, z);
      }
  });
}

void nest_schur(NestContext& c) {
  loop::Builder& b = *c.build;
  const Type& type = c.node->operand(0)->type();
  const Dim& order = type.dims.back();
  c.set_blocks(product(batch_of(type)));
  Tools t(b, real_of(type.dtype), lanes_of(type.dtype, order));
  SchurForm form(c, t, order, true);
  Expr n = form.n, base = b.let(b.block() * n * n);
  SchurForm::Outcome found = form.reduce({b, c.operands[0], base, n});
  Grid triangle{b, c.results[0], base, n}, basis{b, c.results[1], base, n};
  Expr nan = loop::complex(t.nan(), t.nan()), zero = b.constant(complex_type(type), 0);
  Tools of_complex(b, complex_type(type), t.lanes);
  b.serial_for(b.index(0), n, [&](Expr k) { form.u.store(k, of_complex.sign_of_row(form.v, k, n)); });
  b.serial_for(b.index(0), n, [&](Expr i) {
    Expr mine = b.let(times(found.scale, conj(form.u.load(i))));
    t.each(b.index(0), n, [&](Expr j) {
      Expr value = b.let(form.h.load(i, j));
      Expr other = b.let(mine * b.let(value * form.u.load(j)));
      Expr kept = select(i < j, other, select(i == j, times(found.scale, value), zero));
      triangle.store(i, j, select(found.done, kept, nan));
      basis.store(i, j, select(found.done, form.v.load(j, i) * b.let(form.u.load(j)), nan));
    });
  });
}

// --- the square root of a triangle
// -----------------------------------------------------------------------------------------------------------
void infer_root(InferContext& c) {
  require_square(c, 0);
  c.result(complex_type(c.operand(0)), c.operand(0).dims);
}

// Column by column: r_ij = (t_ij - Σ r_ik r_kj) / (r_ii + r_jj), i < k < j; 0 where both parts of it are.
void reference_triangular_root(ReferenceContext& c) {
  const Literal& x = c.operands[0];
  int64_t n = x.dims().back();
  each_matrix(x, [&](int64_t at, int64_t) {
    Dense r(n, n);
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = j; i >= 0; --i) {
        Complex rest = x.as_complex(at + i * n + j);
        if (i == j) {
          r.at(i, i) = std::sqrt(rest);
          continue;
        }
        for (int64_t k = i + 1; k < j; ++k) rest -= r.at(i, k) * r.at(k, j);
        Complex divisor = r.at(i, i) + r.at(j, j);
        r.at(i, j) = rest == Complex(0) && divisor == Complex(0) ? 0 : complex_quotient(rest, divisor);
      }
    for (int64_t i = 0; i < n * n; ++i) set_element(c.results[0], at + i, r.elements[static_cast<size_t>(i)]);
  });
}

void nest_triangular_root(NestContext& c) {
  loop::Builder& b = *c.build;
  const Type& type = c.node->operand(0)->type();
  const Dim& order = type.dims.back();
  DType element = complex_type(type);
  c.set_blocks(product(batch_of(type)));
  Tools t(b, element, lanes_of(element, order));
  Expr n = b.let(c.size(order)), zero = b.index(0), one = b.index(1), base = b.let(b.block() * n * n);
  Grid x{b, c.operands[0], base, n}, out{b, c.results[0], base, n};
  Grid r = scratch_grid(c, element, order, order, "root");
  Line column = scratch_line(c, element, order, "column");
  Expr none = b.constant(element, 0);
  auto given = [&](Expr i, Expr j) { return convert(x.load(i, j), element); };
  t.each_of(n, n, [&](Expr i, Expr j) { r.store(i, j, none); });
  b.serial_for(zero, n, [&](Expr j) {
    Expr own = b.let(loop::complex_math::sqrt(b.let(given(j, j))));
    column.store(j, own);
    t.backwards(zero, j, [&](Expr i) {
      Expr sum = t.sum_of_elements(b.let(i + one), j,
                                   [&](Expr k) { return b.let(r.load(i, k)) * b.let(column.load(k)); });
      Expr rest = b.let(given(i, j) - sum), divisor = b.let(r.load(i, i) + own);
      Expr nothing = b.let((rest == none) & (divisor == none));
      column.store(i, select(nothing, none, rest / select(nothing, b.constant(element, 1), divisor)));
    });
    b.serial_for(zero, b.let(j + one), [&](Expr i) { r.store(i, j, column.load(i)); });
  });
  t.each_of(n, n, [&](Expr i, Expr j) { out.store(i, j, r.load(i, j)); });
}

Value triangular_sylvester(Builder& b, Value left, Value right, Value y) {
  return b("triangular_sylvester", {left, right, y});
}

// r dr + dr r = dt.
std::vector<Value> jvp_triangular_root(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Builder& b = c.build;
  Value r = c.results[0], t = b.convert(triangle(b, c.tangents[0], false, 0), r->type().dtype);
  return {triangular_sylvester(b, r, r, t)};
}

// --- Sylvester's equation
// -----------------------------------------------------------------------------------------------------------
// a [n, n], b [m, m], c [n, m].
void infer_sylvester(InferContext& c) {
  require_square(c, 0);
  require_square(c, 1);
  require_matrices(c, 2);
  c.require_same_dtype(0, 1);
  c.require_same_dtype(0, 2);
  const Type &a = c.operand(0), &b = c.operand(1), &y = c.operand(2);
  c.require_rank(1, a.rank());
  c.require_rank(2, a.rank());
  for (size_t i = 0; i + 2 < a.dims.size(); ++i) {
    c.require_equal(a.dims[i], b.dims[i], "the leading axes of a and b");
    c.require_equal(a.dims[i], y.dims[i], "the leading axes of a and c");
  }
  c.require_equal(a.dims.back(), y.dims[y.dims.size() - 2], "the rows of a and of c");
  c.require_equal(b.dims.back(), y.dims.back(), "the columns of b and of c");
  c.result(y.dtype, y.dims);
}

// Row by row from the last one: x_i (b + a_ii) = c_i - Σ a_ik x_k, k > i; along a row from the first column.
void reference_triangular_sylvester(ReferenceContext& c) {
  const Literal &a = c.operands[0], &b = c.operands[1], &y = c.operands[2];
  int64_t n = a.dims().back(), m = b.dims().back();
  each_matrix(y, [&](int64_t at, int64_t number) {
    auto left = [&](int64_t i, int64_t k) { return a.as_complex(number * n * n + i * n + k); };
    auto right = [&](int64_t k, int64_t j) { return b.as_complex(number * m * m + k * m + j); };
    Dense x(n, m);
    for (int64_t i = n - 1; i >= 0; --i)
      for (int64_t j = 0; j < m; ++j) {
        Complex rest = y.as_complex(at + i * m + j);
        for (int64_t k = i + 1; k < n; ++k) rest -= left(i, k) * x.at(k, j);
        for (int64_t k = 0; k < j; ++k) rest -= x.at(i, k) * right(k, j);
        Complex divisor = left(i, i) + right(j, j);
        x.at(i, j) = divisor.imag() == 0 ? Complex(rest.real() / divisor.real(), rest.imag() / divisor.real())
                                         : complex_quotient(rest, divisor);
      }
    for (int64_t i = 0; i < n * m; ++i) set_element(c.results[0], at + i, x.elements[static_cast<size_t>(i)]);
  });
}

void nest_triangular_sylvester(NestContext& c) {
  loop::Builder& b = *c.build;
  const Type &at = c.node->operand(0)->type(), &yt = c.node->operand(2)->type();
  DType element = yt.dtype;
  c.set_blocks(product(batch_of(yt)));
  Tools t(b, element, lanes_of(element, yt.dims.back()));
  Expr n = b.let(c.size(at.dims.back())), m = b.let(c.size(yt.dims.back())), zero = b.index(0),
       one = b.index(1);
  Grid left{b, c.operands[0], b.let(b.block() * n * n), n};
  Grid right{b, c.operands[1], b.let(b.block() * m * m), m};
  Expr base = b.let(b.block() * n * m);
  Grid y{b, c.operands[2], base, m}, out{b, c.results[0], base, m};
  Grid x = scratch_grid(c, element, at.dims.back(), yt.dims.back(), "x");
  t.each_of(n, m, [&](Expr i, Expr j) { x.store(i, j, y.load(i, j)); });
  t.backwards(zero, n, [&](Expr i) {
    b.serial_for(b.let(i + one), n, [&](Expr k) {
      Expr factor = b.let(left.load(i, k));
      t.each(zero, m, [&](Expr j) { x.store(i, j, x.load(i, j) - factor * b.let(x.load(k, j))); });
    });
    Expr own = b.let(left.load(i, i));
    b.serial_for(zero, m, [&](Expr j) {
      Expr found = b.let(b.let(x.load(i, j)) / b.let(own + right.load(j, j)));
      x.store(i, j, found);
      t.each(b.let(j + one), m,
             [&](Expr k) { x.store(i, k, x.load(i, k) - found * b.let(right.load(j, k))); });
    });
  });
  t.each_of(n, m, [&](Expr i, Expr j) { out.store(i, j, x.load(i, j)); });
}

// da x + a dx + dx b + x db = dc, where da and db have their triangles alone.
std::vector<Value> jvp_triangular_sylvester(JvpContext& c) {
  Builder& b = c.build;
  Compose m(b);
  Value x = c.results[0], rest = c.tangents[2];
  auto less = [&](Value moved) { rest = rest ? m.sub(rest, moved) : m.neg(moved); };
  if (Value t = c.tangents[0]) less(product_of(b, triangle(b, t, false, 0), x));
  if (Value t = c.tangents[1]) less(product_of(b, x, triangle(b, t, false, 0)));
  if (!rest) return {nullptr};
  return {triangular_sylvester(b, c.operands[0], c.operands[1], rest)};
}

// aᵀ y + y bᵀ = g is b yᵀ + yᵀ a = gᵀ.
std::vector<Value> transpose_triangular_sylvester(TransposeContext& c) {
  if (!c.cotangents[0] || !c.linear[2]) return {nullptr, nullptr, nullptr};
  Builder& b = c.build;
  Value found = triangular_sylvester(b, c.operands[1], c.operands[0], turned(b, c.cotangents[0]));
  return {nullptr, nullptr, turned(b, found)};
}

std::vector<Value> sylvester_body(BodyContext& c) {
  Builder& b = c.build;
  std::vector<Value> left = b.many("schur", {c.operands[0]}), right = b.many("schur", {c.operands[1]});
  Value y = b.convert(c.operands[2], left[0]->type().dtype);
  Value inner = product_of(b, product_of(b, adjoint(b, left[1]), y), right[1]);
  inner = triangular_sylvester(b, left[0], right[0], inner);
  Value x = product_of(b, product_of(b, left[1], inner), adjoint(b, right[1]));
  return {is_complex(c.operands[2]->type().dtype) ? x : b("real", {x})};
}

std::vector<Value> jvp_sylvester(JvpContext& c) {
  Builder& b = c.build;
  Compose m(b);
  Value x = c.results[0], rest = c.tangents[2];
  auto less = [&](Value moved) { rest = rest ? m.sub(rest, moved) : m.neg(moved); };
  if (Value t = c.tangents[0]) less(product_of(b, t, x));
  if (Value t = c.tangents[1]) less(product_of(b, x, t));
  if (!rest) return {nullptr};
  return {b("sylvester", {c.operands[0], c.operands[1], rest})};
}

// Whole, since what is linear in c only is not to be opened: Schur's form has no derivative.
std::vector<Value> transpose_sylvester(TransposeContext& c) {
  if (!c.cotangents[0] || !c.linear[2]) return {nullptr, nullptr, nullptr};
  Builder& b = c.build;
  return {nullptr, nullptr,
          b("sylvester", {turned(b, c.operands[0]), turned(b, c.operands[1]), c.cotangents[0]})};
}

// --- the square root, and the logarithm
// -----------------------------------------------------------------------------------------------------------
std::vector<Value> root_body(BodyContext& c) {
  Builder& b = c.build;
  std::vector<Value> form = b.many("schur", {c.operands[0]});
  Value root = b("triangular_square_root", {form[0]});
  return {product_of(b, product_of(b, form[1], root), adjoint(b, form[1]))};
}

// s ds + ds s = dx.
std::vector<Value> jvp_root(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Builder& b = c.build;
  Value s = c.results[0];
  return {b("sylvester", {s, s, b.convert(c.tangents[0], s->type().dtype)})};
}

// How many roots are taken at most: eleven bring any number of float64 within the limit of 1.
constexpr int kMostRoots = 16;
// The approximant of degree 7 is right in float64 up to here (Al-Mohy and Higham's theta).
constexpr double kLimit = 0.264;
// Gauss' points and weights of degree 7 on [0, 1].
constexpr double kPoints[] = {0.025446043828620736, 0.12923440720030277, 0.2970774243113014, 0.5,
                              0.7029225756886986,   0.8707655927996972,  0.9745539561713793};
constexpr double kWeights[] = {0.06474248308443485, 0.13985269574463835, 0.19091502525255946,
                               0.20897959183673470, 0.19091502525255946, 0.13985269574463835,
                               0.06474248308443485};

// log x = 2^s log(1 + y), 1 + y being the root that was taken s times: log(1 + y) is the sum of w_i y / (1 +
// p_i y).
std::vector<Value> logarithm_body(BodyContext& c) {
  Builder& b = c.build;
  Compose m(b);
  Value x = c.operands[0];
  if (x->type().dims.back() == 0) return {b.convert(x, complex_type(x->type()))};
  x = b.convert(x, complex_type(x->type()));
  Value one = identity_like(b, x);
  int64_t rows = x->type().rank() - 2;
  auto norm_of = [&](Value y) { return m.top_keep(m.sum_keep(m.abs(y), {rows}), {rows + 1}); };
  Value scale = m.number(norm_of(x), 1), again = nullptr;
  for (int step = 0; step <= kMostRoots; ++step) {
    Value y = b("stop_gradient", {m.sub(x, one)}), square = product_of(b, y, y);
    Value size = m.max(m.sqrt(norm_of(square)), b("cbrt", {norm_of(product_of(b, square, y))}));
    again = b("logical_not", {m.less_equal(size, m.number(size, kLimit))});  // of NaN too: products overflow
    if (step == kMostRoots) break;
    x = m.where(again, b("matrix_square_root", {x}), x);
    scale = m.where(again, m.mul(scale, 2.0), scale);
  }
  scale = m.where(again, m.number(scale, kNan), scale);  // a singular matrix stays far from 1
  Value y = m.sub(x, one), sum = nullptr;
  for (size_t i = 0; i < std::size(kPoints); ++i) {
    Value part = m.mul(b("solve", {m.add(m.mul(y, kPoints[i]), one), y}), kWeights[i]);
    sum = sum ? m.add(sum, part) : part;
  }
  return {m.mul(sum, of_type(b, scale, sum))};
}

Op primitive(OpDecl decl, InferFn infer, ReferenceFn reference, NestFn nest, Rule<JvpFn> jvp,
             Rule<TransposeFn> transpose) {
  decl.dtypes = DTypeSet::FloatComplex;
  decl.front = Front::None;
  return {.decl = std::move(decl),
          .rules = {.infer = infer,
                    .reference = reference,
                    .lower = LowerRule::of_nest(nest),
                    .simplify = tools::no_rule("no identity keeps every bit"),
                    .jvp = std::move(jvp),
                    .transpose = std::move(transpose),
                    .batch = &batch_in_front,
                    .body = tools::no_body()},
          .id = {}};
}

}  // namespace

std::vector<Op> linalg_roots() {
  const std::string square = "T[3, 3] {4, 1, 0.5, 1, 3, 0.25, 0.5, -0.25, 2}",
                    turned_square = "T[2, 2] {(2, 1), (0.5, -1), (-1, 0.5), (3, -2)}",
                    triangle = "T[3, 3] {4, 1, (0.5, 1), 0, (1, 1), (0.25, -1), 0, 0, 2}",
                    empty = "T[0, 2, 2]", none = "T[0, 0]";
  auto bad = [&](const std::string& name) {
    return std::vector<BadSample>{
        {"f16[2, 2]", "{}", "TypeError: " + name + ": matrices of float16 have no factors"},
        {"f32[2, 3]", "{}",
         "ShapeError: " + name + ": the rows and the columns of a square matrix: 2 and 3 differ"}};
  };
  auto bad_system = [&](const std::string& name) {
    return std::vector<BadSample>{{"f32[2, 2], f32[3, 3], f32[3, 2]", "{}",
                                   "ShapeError: " + name + ": the rows of a and of c: 2 and 3 differ"},
                                  {"f32[2, 2], f32[3, 3], f32[2, 2]", "{}",
                                   "ShapeError: " + name + ": the columns of b and of c: 3 and 2 differ"}};
  };
  std::vector<Op> ops;
  ops.push_back(primitive(
      {.name = "schur",
       .doc =
           "Schur's form x = Z T Zᴴ of square matrices: T is upper triangular, Z unitary, both complex.\nThe "
           "diagonal of T are the eigenvalues, in no order. NaN where an element is NaN or infinite.",
       .operands = {{"x", "[..., n, n]."}},
       .results = 2,
       .numpy = "none: the order of the values is open; the tests of ig.linalg multiply the factors again",
       .samples = {{square, "{}"},
                   {turned_square, "{}"},
                   {"T[2, 3, 3]", "{}"},
                   {"T[1, 1] {(-9, 1)}", "{}"},
                   {empty, "{}"},
                   {none, "{}"}},
       .bad_samples = bad("schur"),
       .ulp = 512,
       .complex_ulp = 512},
      infer_schur, reference_schur, nest_schur,
      tools::no_rule("the order of the values and the phases of the basis are any that the steps find"),
      tools::not_linear()));
  ops.push_back(primitive(
      {.name = "triangular_square_root",
       .doc = "The principal square root of upper triangular matrices, complex; what is below the diagonal "
              "is not read.",
       .operands = {{"x", "[..., n, n]."}},
       .numpy = "none: SciPy's function is of any matrix; the tests of ig.linalg square the root again",
       .samples = {{triangle, "{}"},
                   {"T[2, 2] {0, 0, 0, 0}", "{}"},
                   {"T[1, 1] {(-9, 1)}", "{}"},
                   {empty, "{}"},
                   {none, "{}"}},
       .bad_samples = bad("triangular_square_root"),
       .ulp = 256,
       .complex_ulp = 256},
      infer_root, reference_triangular_root, nest_triangular_root, jvp_triangular_root, tools::not_linear()));
  ops.push_back(
      primitive({.name = "triangular_sylvester",
                 .doc = "The x with a x + x b = c, for upper triangular a and b; what is below their "
                        "diagonals is not read.",
                 .operands = {{"a", "[..., n, n]."}, {"b", "[..., m, m]."}, {"c", "[..., n, m]."}},
                 .numpy = "none: SciPy's function is of any matrices; the tests of ig.linalg put the "
                          "solution into the equation",
                 .samples = {{triangle + ", " + turned_square + ", T[3, 2]", "{}"},
                             {"T[2, 2, 2] {1, 2, 0, 3, 2, -1, 0, 5}, T[2, 1, 1] {2, 1}, T[2, 2, 1]", "{}"},
                             {"T[1, 1] {2}, " + triangle + ", T[1, 3]", "{}"},
                             {"T[2, 2] {2, 0, 1, 1}, T[0, 0], T[2, 0]", "{}"},
                             {"T[0, 2, 2], T[0, 2, 2], T[0, 2, 2]", "{}"}},
                 .bad_samples = bad_system("triangular_sylvester"),
                 .ulp = 256,
                 .complex_ulp = 256},
                infer_sylvester, reference_triangular_sylvester, nest_triangular_sylvester,
                jvp_triangular_sylvester, &transpose_triangular_sylvester));
  auto add = [&](OpDecl decl, BodyFn body, InferFn infer, JvpFn jvp) {
    decl.dtypes = DTypeSet::FloatComplex;
    decl.front = Front::None;
    Op op = composite(std::move(decl), body, infer);
    if (jvp) op.rules.jvp = jvp;
    if (jvp == jvp_sylvester) op.rules.transpose = &transpose_sylvester;
    ops.push_back(std::move(op));
  };
  add({.name = "sylvester",
       .doc = "The x with a x + x b = c, by the forms of Schur of a and b. Infinities or NaN where an "
              "eigenvalue of a is "
              "one of -b.",
       .operands = {{"a", "[..., n, n]."}, {"b", "[..., m, m]."}, {"c", "[..., n, m]."}},
       .numpy =
           "(lambda one: np.stack([one(*k) for k in zip(a, b, c)]) if a.ndim > 2 else one(a, b, c))(lambda "
           "*k: "
           "scipy.linalg.solve_sylvester(*(m.astype('D' if m.dtype.kind == 'c' else float) for m in k)))",
       .samples = {{square + ", " + turned_square + ", T[3, 2]", "{}"},
                   {"T[2, 2, 2] {1, 2, 0, 3, 2, -1, 1, 5}, T[2, 1, 1] {2, 1}, T[2, 2, 1]", "{}"},
                   {"T[1, 1] {2}, " + square + ", T[1, 3]", "{}"}},
       .bad_samples = bad_system("sylvester"),
       .ulp = 1024,
       .complex_ulp = 1024},
      sylvester_body, infer_sylvester, jvp_sylvester);
  add({.name = "matrix_square_root",
       .doc = "The principal square root of square matrices, complex: by Schur's form. Infinities or NaN "
              "where there is "
              "none.",
       .operands = {{"x", "[..., n, n]."}},
       .numpy =
           "(lambda one: np.stack([one(k) for k in x]) if x.ndim > 2 and len(x) else one(x) if x.size else "
           "x.astype('D'))(lambda k: scipy.linalg.sqrtm(k.astype('D')))",
       .samples = {{square, "{}"},
                   {turned_square, "{}"},
                   {"T[2, 2, 2] {0, 1, -1, 0, 4, 1, 0, 9}", "{}"},
                   {"T[1, 1] {(-9, 1)}", "{}"},
                   {empty, "{}"}},
       .bad_samples = bad("matrix_square_root"),
       .ulp = 1024,
       .complex_ulp = 1024},
      root_body, infer_root, jvp_root);
  add({.name = "matrix_logarithm",
       .doc = "The principal logarithm of square matrices, complex: square roots until the matrix is near to "
              "1, and "
              "Gauss' rule of degree 7. Infinities or NaN of singular matrices.",
       .operands = {{"x", "[..., n, n]."}},
       .numpy =
           "(lambda one: np.stack([one(k) for k in x]) if x.ndim > 2 and len(x) else one(x) if x.size else "
           "x.astype('D'))(lambda k: scipy.linalg.logm(k.astype('D')))",
       .samples = {{square, "{}"},
                   {turned_square, "{}"},
                   {"T[2, 2, 2] {0, 1, -1, 0, 4, 1, 0, 9}", "{}"},
                   {"T[1, 1] {(-9, 1)}", "{}"},
                   {empty, "{}"}},
       .bad_samples = bad("matrix_logarithm"),
       .ulp = 4096,
       .complex_ulp = 4096},
      logarithm_body, infer_root, nullptr);
  return ops;
}

}  // namespace ig::ops
