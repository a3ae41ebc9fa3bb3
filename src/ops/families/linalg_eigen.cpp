// Eigenvalues and vectors of square matrices that need not be symmetric, real or complex: the diagonal of
// Schur's form, and the vectors of its triangle, turned back.
//
// Source: G. Golub and C. Van Loan, "Matrix Computations", 7.6.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "ops/families/batch_rules.h"
#include "ops/families/complex.h"
#include "ops/families/compose.h"
#include "ops/families/linalg_rules.h"
#include "ops/families/linalg_schur.h"

namespace ig::ops {

std::vector<Op> linalg_eigen();

namespace {

using namespace factors;

// A vector's numbers are kept below this while they are found.
constexpr double kGrown = 1e10;

void infer_eig(InferContext& c) {
  require_square(c, 0);
  const Type& x = c.operand(0);
  c.result(complex_of(real_of(x.dtype)), with_last(batch_of(x), {x.dims.back()}));
  c.result(complex_of(real_of(x.dtype)), x.dims);
}
void infer_eigvals(InferContext& c) {
  require_square(c, 0);
  const Type& x = c.operand(0);
  c.result(complex_of(real_of(x.dtype)), with_last(batch_of(x), {x.dims.back()}));
}

// --- the definition
// ------------------------------------------------------------------------------------------------------------
// The unit vector of the value k, whose first element within a hundredth of the largest is positive.
std::vector<Complex> vector_of(Schur& s, int64_t k) {
  double epsilon = std::numeric_limits<double>::epsilon();
  std::vector<Complex> y(static_cast<size_t>(k + 1), 1), x(static_cast<size_t>(s.n), 0);
  for (int64_t i = k - 1; i >= 0; --i) {
    Complex sum = 0, apart = s.at(i, i) - s.at(k, k);
    for (int64_t j = i + 1; j <= k; ++j) sum += s.at(i, j) * y[static_cast<size_t>(j)];
    y[static_cast<size_t>(i)] = -sum / (size1(apart) < epsilon ? Complex(epsilon) : apart);
    double size = size1(y[static_cast<size_t>(i)]);
    if (size > kGrown)
      for (int64_t j = i; j <= k; ++j) y[static_cast<size_t>(j)] /= size;
  }
  double norm = 0, top = 0;
  for (int64_t j = 0; j < s.n; ++j) {
    for (int64_t i = 0; i <= k; ++i) x[static_cast<size_t>(j)] += y[static_cast<size_t>(i)] * s.basis(i, j);
    norm += std::norm(x[static_cast<size_t>(j)]);
    top = std::max(top, std::norm(x[static_cast<size_t>(j)]));
  }
  auto first = std::find_if(x.begin(), x.end(), [&](Complex z) { return std::norm(z) >= 0.98 * top; });
  Complex factor = first == x.end() ? Complex(1) : std::conj(phase_of(*first)) / std::sqrt(norm);
  for (Complex& z : x) z *= factor;
  return x;
}

void reference_eigen(const Literal& x, Literal& w, Literal* v) {
  int64_t n = x.dims().back();
  each_matrix(x, [&](int64_t at, int64_t number) {
    bool complex = is_complex(x.dtype());
    Schur s = schur_of(x, at);
    double nan = std::numeric_limits<double>::quiet_NaN(),
           level = static_cast<double>(n) * std::numeric_limits<double>::epsilon();
    for (int64_t k = 0; k < n; ++k) {
      Complex value = s.failed ? Complex(nan, nan) : s.at(k, k);
      bool real = !complex && std::fabs(value.imag()) <= level;
      tools::set_complex(w, number * n + k, value.real() * s.scale, real ? 0 : value.imag() * s.scale);
      if (!v) continue;
      std::vector<Complex> own = vector_of(s, k);
      for (int64_t j = 0; j < n; ++j) {
        Complex z = s.failed ? Complex(nan, nan) : own[static_cast<size_t>(j)];
        tools::set_complex(*v, at + j * n + k, z.real(), real ? 0 : z.imag());
      }
    }
  });
}
void reference_eig(ReferenceContext& c) { reference_eigen(c.operands[0], c.results[0], &c.results[1]); }
void reference_eigvals(ReferenceContext& c) { reference_eigen(c.operands[0], c.results[0], nullptr); }

// --- the kernel
// -----------------------------------------------------------------------------------------------------------------
// The vector of the value k, in w, of any length; gives the factor that makes it a unit vector.
Expr vector_of(const SchurForm& f, Expr k) {
  const Tools& t = f.t;
  loop::Builder& b = f.b;
  const Line &u = f.u, &w = f.w;
  Expr n = f.n, zero = b.index(0), one = b.index(1);
  u.store(k, f.wide(t.number(1)));
  Expr own = b.let(f.h.load(k, k));
  t.backwards(zero, k, [&](Expr i) {
    Expr total =
        b.let(f.sum(b.let(i + one), b.let(k + one), [&](Expr j) { return f.h.load(i, j) * u.load(j); }));
    Expr apart = b.let(f.h.load(i, i) - own);
    Expr near = b.let(f.size1(apart) < t.epsilon());
    Expr y = b.let(-total / select(near, f.wide(t.epsilon()), apart));
    u.store(i, y);
    Expr size = b.let(f.size1(y));
    b.if_then(size > t.number(kGrown), [&] {
      Expr less = b.let(t.number(1) / size);
      t.each(i, b.let(k + one), [&](Expr j) { u.store(j, times(less, u.load(j))); });
    });
  });
  t.each(zero, n, [&](Expr j) { w.store(j, f.wide(t.number(0))); });
  b.serial_for(zero, b.let(k + one), [&](Expr i) {
    Expr share = b.let(u.load(i));
    t.each(zero, n, [&](Expr j) { w.store(j, w.load(j) + share * f.v.load(i, j)); });
  });
  Expr length = b.let(sqrt(t.sum(zero, n, [&](Expr j) { return norm(w.load(j)); })));
  Cell top(b, t.number(0), "top"), place(b, zero, "place");
  b.serial_for(zero, n, [&](Expr j) {
    Expr size = b.let(norm(w.load(j)));
    top.set(select(top.get() < size, size, top.get()));
  });
  t.backwards(zero, n, [&](Expr j) {
    place.set(select(norm(w.load(j)) >= t.number(0.98) * top.get(), j, place.get()));
  });
  Expr first = b.let(w.load(place.get()));
  Expr turn = b.let(conj(f.phase(first, b.let(sqrt(norm(first))))));
  return b.let(over(turn, length));
}

void nest_eigen(NestContext& c, bool vectors) {
  loop::Builder& b = *c.build;
  const Type& type = c.node->operand(0)->type();
  const Dim& order = type.dims.back();
  DType dtype = real_of(type.dtype);
  bool complex = is_complex(type.dtype);
  c.set_blocks(product(batch_of(type)));
  Tools t(b, dtype, lanes_of(dtype, order));
  SchurForm form(c, t, order, vectors);
  Expr n = form.n, zero = b.index(0);
  Grid x{b, c.operands[0], b.let(b.block() * n * n), n};
  SchurForm::Outcome found = form.reduce(x);
  Expr level = b.let(convert(n, dtype) * t.epsilon()), row = b.let(b.block() * n);
  b.serial_for(zero, n, [&](Expr k) {
    Expr value = b.let(form.h.load(k, k));
    // A trace that rounding left is nothing where the matrix is real.
    Expr is_real = b.let(complex ? t.number(1) < t.number(0) : abs(imag(value)) <= level);
    auto finished = [&](Expr z) { return select(found.done, z, t.nan()); };
    auto imaginary = [&](Expr z) { return select(is_real, t.number(0), finished(z)); };
    b.store(c.results[0], row + k,
            loop::complex(finished(real(value) * found.scale), imaginary(imag(value) * found.scale)));
    if (!vectors) return;
    Expr factor = vector_of(form, k);
    b.serial_for(zero, n, [&](Expr j) {
      Expr z = b.let(form.w.load(j) * factor);
      b.store(c.results[1], x.base + j * n + k, loop::complex(finished(real(z)), imaginary(imag(z))));
    });
  });
}
void nest_eig(NestContext& c) { nest_eigen(c, true); }
void nest_eigvals(NestContext& c) { nest_eigen(c, false); }

// --- derivatives
// ----------------------------------------------------------------------------------------------------------------
// With M = v⁻¹ dx v: dw = diag M, and dv = v (F * M), F_ij = 1 / (w_j - w_i), less what would change the
// length of a vector or turn the element that is kept positive. Of eigenvalues that differ.
Value inner_product(Builder& b, Value tangent, Value v) {
  Value moved = product_of(b, b.convert(tangent, v->type().dtype), v);
  return b("solve", {v, moved});
}

std::vector<Value> jvp_eig(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr, nullptr};
  Builder& b = c.build;
  Compose m(b);
  Value w = c.results[0], v = c.results[1];
  Value inner = inner_product(b, c.tangents[0], v);
  Value apart = m.sub(row_of(b, w), column_of(b, w)), same = identity_like(b, apart);
  Value factor = m.sub(m.div(m.number(apart, 1), m.add(apart, same)), same);
  Value dv = product_of(b, v, m.mul(factor, inner));
  // Along each vector: the real part is its length's, the imaginary one turns its first large element.
  Value along = b("real", {m.sum_keep(m.mul(conjugate(b, v), dv), {v->type().rank() - 2})});
  Value turned_by = turn_of(b, v, dv);
  Value less = b("complex", {along, turned_by});
  return {diagonal_of(b, inner), m.sub(dv, m.mul(v, less))};
}

std::vector<Value> jvp_eigvals(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Builder& b = c.build;
  std::vector<Value> both = b.many("eig", {c.operands[0]});
  c.replaced = {both[0]};
  return {diagonal_of(b, inner_product(b, c.tangents[0], both[1]))};
}

Op eigen_op(OpDecl decl, InferFn infer, ReferenceFn reference, NestFn nest, JvpFn jvp) {
  decl.dtypes = DTypeSet::FloatComplex;
  decl.front = Front::None;
  decl.operands = {{"x", "[..., n, n]."}};
  decl.bad_samples = {
      {"f16[2, 2]", "{}", "TypeError: " + decl.name + ": matrices of float16 have no factors"},
      {"f32[2, 3]", "{}",
       "ShapeError: " + decl.name + ": the rows and the columns of a square matrix: 2 and 3 differ"},
      {"c64[2, 3]", "{}",
       "ShapeError: " + decl.name + ": the rows and the columns of a square matrix: 2 and 3 differ"},
      {"c64[3]", "{}", "ShapeError: " + decl.name + ": needs matrices [..., m, n], got c64[3]"}};
  decl.samples = {{"T[3, 3] {4, 1, 0.5, 1, -3, 0.25, 0.5, -0.25, 1}", "{}"},
                  {"T[2, 2, 2] {0, 2, 1, 0.5, 2, -1, -1, 5}", "{}"},
                  {"T[4, 4] {0, 0, 0, -24, 1, 0, 0, 50, 0, 1, 0, -35, 0, 0, 1, 10}", "{}"},
                  {"T[1, 1] {-9}", "{}"},
                  {"T[0, 2, 2]", "{}"},
                  {"T[0, 0]", "{}"}};
  decl.ulp = 512;
  decl.complex_ulp = 512;
  return {.decl = std::move(decl),
          .rules = {.infer = infer,
                    .reference = reference,
                    .lower = LowerRule::of_nest(nest),
                    .simplify = tools::no_rule("no identity keeps every bit"),
                    .jvp = jvp,
                    .transpose = tools::not_linear(),
                    .batch = &batch_in_front,
                    .body = tools::no_body()},
          .id = {}};
}

}  // namespace

std::vector<Op> linalg_eigen() {
  std::vector<Op> ops;
  ops.push_back(eigen_op(
      {.name = "eig",
       .doc =
           "The eigenvalues of square matrices, as complex numbers in no order, and unit vectors of them as "
           "columns.\nOf a vector's elements that are within a hundredth of the largest in size, the first "
           "is positive. NaN where an element is NaN or infinite. Derivatives of the vectors are those of "
           "eigenvalues that differ.",
       .results = 2,
       .numpy = "none: the order of the values is open; the tests of ig.linalg multiply the factors again",
       .usual = factors::usual_matrices({"2, 2"})},
      infer_eig, reference_eig, nest_eig, jvp_eig));
  ops.push_back(eigen_op(
      {.name = "eigvals",
       .doc =
           "The eigenvalues of square matrices, as complex numbers in no order.\nNaN where an element is NaN "
           "or infinite.",
       .numpy = "none: the order of the values is open; the tests of ig.linalg compare them as sets"},
      infer_eigvals, reference_eigvals, nest_eigvals, jvp_eigvals));
  return ops;
}

}  // namespace ig::ops
