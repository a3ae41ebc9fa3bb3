// The primitives of linear algebra: the factors of Cholesky and of LU, and systems with a triangular matrix.
// The last two axes are the matrix; each matrix is a block of its own, and its rows are updated in vectors.
// Float32, float64, and complex numbers of these.
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "ops/families/batch_rules.h"
#include "ops/families/compose.h"
#include "ops/families/families.h"
#include "ops/families/linalg_blocked.h"
#include "ops/families/linalg_kernels.h"
#include "ops/families/linalg_rules.h"
#include "ops/families/linalg_small.h"

namespace ig::ops {

std::vector<Op> linalg_composites();     // linalg_composites.cpp
std::vector<Op> linalg_orthogonal();     // linalg_orthogonal.cpp
std::vector<Op> linalg_spectral();       // linalg_spectral.cpp
std::vector<Op> linalg_least_squares();  // linalg_least_squares.cpp
std::vector<Op> linalg_eigen();          // linalg_eigen.cpp
std::vector<Op> linalg_functions();      // linalg_functions.cpp
std::vector<Op> linalg_roots();          // linalg_roots.cpp

namespace {

using namespace factors;

constexpr Attr<bool> kLowerTriangle{"lower", "Whether the lower triangle is the matrix, else the upper one.",
                                    "true"};
constexpr Attr<bool> kUnit{"unit_diagonal", "Takes the diagonal as ones, whatever stands there.", "false"};
constexpr int kLanes = 16;  // columns side by side; each has its own order of operations, so any number does

void each_of(loop::Builder& b, Expr rows, Expr columns, const std::function<void(Expr, Expr)>& body) {
  b.serial_for(b.index(0), rows,
               [&](Expr i) { b.vector_for(b.index(0), columns, kLanes, [&](Expr j) { body(i, j); }); });
}

// --- Cholesky
// -----------------------------------------------------------------------------------------------------------
void infer_cholesky(InferContext& c) {
  require_square(c, 0);
  c.result(c.operand(0).dtype, c.operand(0).dims);
}

void reference_cholesky(ReferenceContext& c) {
  const Literal& x = c.operands[0];
  int64_t n = x.dims().empty() ? 0 : x.dims().back();
  each_matrix(x, [&](int64_t at, int64_t) {
    std::vector<Complex> u(static_cast<size_t>(n * n), 0);  // the transposed factor
    auto e = [&](int64_t i, int64_t j) -> Complex& { return u[static_cast<size_t>(i * n + j)]; };
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = i; j < n; ++j) e(i, j) = x.as_complex(at + j * n + i);
    for (int64_t k = 0; k < n; ++k) {
      double root = std::sqrt(e(k, k).real());
      for (int64_t j = k; j < n; ++j) e(k, j) = j == k ? root : e(k, j) / root;
      for (int64_t i = k + 1; i < n; ++i)
        for (int64_t j = i; j < n; ++j) e(i, j) -= std::conj(e(k, i)) * e(k, j);
    }
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) set_element(c.results[0], at + i * n + j, j <= i ? e(j, i) : 0);
  });
}

void nest_cholesky(NestContext& c) {
  loop::Builder& b = *c.build;
  const Type& type = c.node->operand(0)->type();
  if (many_small(type)) return small_cholesky(c);
  DType dtype = type.dtype;
  c.set_blocks(product(batch_of(type)));
  const Dim& size = type.dims.back();
  Expr n = c.size(size), one = b.index(1);
  Blocked blocked(c, dtype, size);
  Grid u = blocked.grid(size, size, "factor");  // the factor, transposed
  Expr base = b.let(b.block() * n * n);
  Grid x{b, c.operands[0], base, n}, out{b, c.results[0], base, n};
  // Below the diagonal of u nothing that stands there is used.
  if (is_complex(dtype))
    b.serial_for(b.index(0), n,
                 [&](Expr i) { b.vector_for(i, n, kLanes, [&](Expr j) { u.store(i, j, x.load(j, i)); }); });
  else
    b.transpose({u.buffer, u.base, u.step}, {x.buffer, x.base, x.step}, n, n);
  auto left = [&](Expr i, Expr k) { return conj(u.load(k, i)); };
  auto above = [&](Expr k, Expr j) { return u.load(k, j); };
  auto root = [&](Expr i) { return real(u.load(i, i)); };
  blocked.blocks(n, true, [&](Expr first, Expr end) {
    b.serial_for(first, end, [&](Expr k) {
      Expr own = b.let(sqrt(real(u.load(k, k))));
      b.vector_for(k, end, kLanes,
                   [&](Expr j) { u.store(k, j, select(j == k, as(dtype, own), over(u.load(k, j), own))); });
      b.serial_for(k + one, end, [&](Expr i) {
        Expr factor = b.let(-conj(u.load(k, i)));
        b.vector_for(i, end, kLanes,
                     [&](Expr j) { u.store(i, j, madd(factor, u.load(k, j), u.load(i, j))); });
      });
    });
    blocked.solve_rows(u, {first, end}, {end, n}, true, left, root);
    // Of what is left the upper triangle, by bands of columns.
    blocked.blocks(n - end, true, [&](Expr from, Expr to) {
      Expr last = b.let(end + to);
      blocked.subtract(u, {end, last}, {end + from, last}, {first, end}, true, left, above);
    });
  });
  Expr zero = b.constant(dtype, 0);
  b.serial_for(b.index(0), n,
               [&](Expr i) { b.vector_for(b.index(0), i, kLanes, [&](Expr j) { u.store(i, j, zero); }); });
  if (is_complex(dtype))
    b.serial_for(b.index(0), n, [&](Expr i) {
      b.vector_for(b.index(0), n, kLanes, [&](Expr j) { out.store(i, j, u.load(j, i)); });
    });
  else
    b.transpose({out.buffer, out.base, out.step}, {u.buffer, u.base, u.step}, n, n);
}

// The lower triangle is the matrix: dL = L phi(L⁻¹ dA L⁻ᴴ), phi taking the lower triangle and half of the
// diagonal.
std::vector<Value> jvp_cholesky(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Builder& b = c.build;
  Compose m(b);
  Value l = c.results[0];
  Value whole = hermitian_from_lower(b, c.tangents[0]);
  Value half = solved(b, l, whole, true, false, false);
  Value inner = solved(b, l, adjoint(b, half), true, false, false);
  Value below = m.mul(m.add(triangle(b, inner, true, 0), triangle(b, inner, true, -1)), 0.5);
  return {product_of(b, l, below)};
}

// x / y as the kernels have it: each part for itself where y is real.
Complex quotient(Complex x, Complex y) {
  return y.imag() == 0 ? Complex(x.real() / y.real(), x.imag() / y.real()) : complex_quotient(x, y);
}

// --- systems with a triangular matrix
// -----------------------------------------------------------------------------------
void infer_solve(InferContext& c) {
  require_square(c, 0);
  c.require_same_dtype(0, 1);
  const Type &a = c.operand(0), &y = c.operand(1);
  c.require_rank(1, a.rank());
  for (size_t i = 0; i + 1 < a.dims.size(); ++i)
    c.require_equal(a.dims[i], y.dims[i],
                    i + 2 < a.dims.size() ? "the leading axes" : "the rows of a and of b");
  c.result(y.dtype, y.dims);
}

void reference_solve(ReferenceContext& c) {
  const Literal &a = c.operands[0], &y = c.operands[1];
  int64_t n = a.dims().back(), m = y.dims().back(), batch = n > 0 ? a.elements() / (n * n) : 0;
  bool lower = c.attrs.get(kLowerTriangle), transposed = c.attrs.get(kTransposed), unit = c.attrs.get(kUnit);
  for (int64_t at = 0; at < batch; ++at) {
    std::vector<Complex> x(static_cast<size_t>(n * m));
    for (int64_t i = 0; i < n * m; ++i) x[static_cast<size_t>(i)] = y.as_complex(at * n * m + i);
    auto e = [&](int64_t i, int64_t j) -> Complex& { return x[static_cast<size_t>(i * m + j)]; };
    auto entry = [&](int64_t i, int64_t k) {
      return a.as_complex(at * n * n + (transposed ? k * n + i : i * n + k));
    };
    bool down = lower != transposed;
    for (int64_t step = 0; step < n; ++step) {
      int64_t k = down ? step : n - 1 - step;
      for (int64_t j = 0; j < m && !unit; ++j) e(k, j) = quotient(e(k, j), entry(k, k));
      for (int64_t i = down ? k + 1 : 0; i < (down ? n : k); ++i)
        for (int64_t j = 0; j < m; ++j) e(i, j) -= entry(i, k) * e(k, j);
    }
    for (int64_t i = 0; i < n * m; ++i) set_element(c.results[0], at * n * m + i, x[static_cast<size_t>(i)]);
  }
}

void nest_solve(NestContext& c) {
  loop::Builder& b = *c.build;
  const Type &at = c.node->operand(0)->type(), &yt = c.node->operand(1)->type();
  const Attrs& attrs = c.node->attrs();
  bool lower = attrs.get(kLowerTriangle), transposed = attrs.get(kTransposed), unit = attrs.get(kUnit);
  if (many_small(at) && many_small(yt)) return small_solve(c, lower != transposed, transposed, unit);
  c.set_blocks(product(batch_of(at)));
  Expr n = c.size(at.dims.back()), m = c.size(yt.dims.back());
  const Dim &rows = yt.dims[yt.dims.size() - 2], &columns = yt.dims.back();
  Blocked blocked(c, yt.dtype, columns);
  Grid x = blocked.grid(rows, columns, "unknowns");
  Grid a{b, c.operands[0], b.let(b.block() * n * n), n};
  Expr base = b.let(b.block() * n * m), zero = b.index(0);
  Grid y{b, c.operands[1], base, m}, out{b, c.results[0], base, m};
  each_of(b, n, m, [&](Expr i, Expr j) { x.store(i, j, y.load(i, j)); });
  const bool down = lower != transposed;
  auto entry = [&](Expr i, Expr k) { return transposed ? a.load(k, i) : a.load(i, k); };
  auto known = [&](Expr k, Expr j) { return x.load(k, j); };
  std::function<Expr(Expr)> own;
  if (!unit) own = [&](Expr i) { return a.load(i, i); };
  blocked.blocks(n, down, [&](Expr first, Expr end) {
    blocked.solve_rows(x, {first, end}, {zero, m}, down, entry, own);
    Range rest = down ? Range{end, n} : Range{zero, first};
    blocked.subtract(x, rest, {zero, m}, {first, end}, down, entry, known);
  });
  each_of(b, n, m, [&](Expr i, Expr j) { out.store(i, j, x.load(i, j)); });
}

// x = a⁻¹ b: dx = a⁻¹ (db - da x), where da has the triangle alone.
std::vector<Value> jvp_solve(JvpContext& c) {
  Builder& b = c.build;
  Compose m(b);
  const Attrs& attrs = c.node->attrs();
  bool lower = attrs.get(kLowerTriangle), transposed = attrs.get(kTransposed), unit = attrs.get(kUnit);
  Value right = c.tangents[1];
  if (Value t = c.tangents[0]) {
    t = triangle(b, t, lower, unit ? (lower ? -1 : 1) : 0);
    Value moved = m.neg(product_of(b, transposed ? turned(b, t) : t, c.results[0]));
    right = right ? m.add(right, moved) : moved;
  }
  if (!right) return {nullptr};
  return {solved(b, c.operands[0], right, lower, transposed, unit)};
}

std::vector<Value> transpose_solve(TransposeContext& c) {
  if (!c.cotangents[0] || !c.linear[1]) return {nullptr, nullptr};
  const Attrs& attrs = c.node->attrs();
  return {nullptr, solved(c.build, c.operands[0], c.cotangents[0], attrs.get(kLowerTriangle),
                          !attrs.get(kTransposed), attrs.get(kUnit))};
}

// --- LU
// -----------------------------------------------------------------------------------------------------------------
void infer_lu(InferContext& c) {
  require_square(c, 0);
  const Type& x = c.operand(0);
  c.result(x.dtype, x.dims);
  Dims rows(x.dims.begin(), x.dims.end() - 1);
  c.result(DType::I64, rows);
  c.result(DType::I64, rows);
}

void reference_lu(ReferenceContext& c) {
  const Literal& x = c.operands[0];
  int64_t n = x.dims().back();
  each_matrix(x, [&](int64_t at, int64_t) {
    std::vector<Complex> u(static_cast<size_t>(n * n));
    std::vector<int64_t> order = tools::iota(n);
    for (int64_t i = 0; i < n * n; ++i) u[static_cast<size_t>(i)] = x.as_complex(at + i);
    auto e = [&](int64_t i, int64_t j) -> Complex& { return u[static_cast<size_t>(i * n + j)]; };
    auto size = [&](int64_t i, int64_t k) { return std::fabs(e(i, k).real()) + std::fabs(e(i, k).imag()); };
    for (int64_t k = 0; k < n; ++k) {
      int64_t pivot = k;
      for (int64_t i = k + 1; i < n; ++i)
        if (size(i, k) > size(pivot, k)) pivot = i;
      tools::set_whole(c.results[1], at / n + k, pivot);
      for (int64_t j = 0; j < n; ++j) std::swap(e(k, j), e(pivot, j));
      std::swap(order[static_cast<size_t>(k)], order[static_cast<size_t>(pivot)]);
      for (int64_t i = k + 1; i < n; ++i) {
        e(i, k) = e(k, k) == Complex(0) ? 0 : quotient(e(i, k), e(k, k));
        for (int64_t j = k + 1; j < n; ++j) e(i, j) -= e(i, k) * e(k, j);
      }
    }
    for (int64_t i = 0; i < n * n; ++i) set_element(c.results[0], at + i, u[static_cast<size_t>(i)]);
    for (int64_t i = 0; i < n; ++i) tools::set_whole(c.results[2], at / n + i, order[static_cast<size_t>(i)]);
  });
}

void nest_lu(NestContext& c) {
  loop::Builder& b = *c.build;
  const Type& type = c.node->operand(0)->type();
  if (many_small(type)) return small_lu(c);
  c.set_blocks(product(batch_of(type)));
  Expr n = c.size(type.dims.back()), one = b.index(1);
  Blocked blocked(c, type.dtype, type.dims.back());
  Grid u = blocked.grid(type.dims.back(), type.dims.back(), "factors");
  uint32_t order = b.add_scratch(DType::I64, type.dims.back(), "order");
  uint32_t best = b.local(real_of(type.dtype), 1, 1, "best"), place = b.local(DType::I64, 1, 1, "place");
  Expr base = b.let(b.block() * n * n), row = b.let(b.block() * n);
  Grid x{b, c.operands[0], base, n}, out{b, c.results[0], base, n};
  auto size_of_pivot = [&](Expr z) { return is_complex(type.dtype) ? abs(real(z)) + abs(imag(z)) : abs(z); };
  each_of(b, n, n, [&](Expr i, Expr j) { u.store(i, j, x.load(i, j)); });
  b.serial_for(b.index(0), n, [&](Expr i) { b.store(order, i, i); });
  auto factor_column = [&](Expr k, Expr end) {  // and the other columns before `end`
    b.assign(best, size_of_pivot(u.load(k, k)));
    b.assign(place, k);
    b.serial_for(k + one, n, [&](Expr i) {
      Expr size = b.let(size_of_pivot(u.load(i, k)));
      Expr larger = b.let(b.read(best) < size);
      b.assign(place, select(larger, i, b.read(place)));
      b.assign(best, select(larger, size, b.read(best)));
    });
    Expr pivot = b.let(b.read(place));
    b.store(c.results[1], row + k, pivot);
    Expr mine = b.let(b.load(order, k)), other = b.let(b.load(order, pivot));
    b.store(order, k, other);
    b.store(order, pivot, mine);
    b.vector_for(b.index(0), n, kLanes, [&](Expr j) {
      Expr above = b.let(u.load(k, j)), below = b.let(u.load(pivot, j));
      u.store(k, j, below);
      u.store(pivot, j, above);
    });
    Expr own = b.let(u.load(k, k)), zero = b.constant(type.dtype, 0);
    Expr divisor = b.let(select(own == zero, b.constant(type.dtype, 1), own));
    b.serial_for(k + one, n, [&](Expr i) {
      Expr factor = b.let(select(own == zero, zero, u.load(i, k) / divisor));
      u.store(i, k, factor);
      b.vector_for(k + one, end, kLanes,
                   [&](Expr j) { u.store(i, j, madd(-factor, u.load(k, j), u.load(i, j))); });
    });
  };
  auto entry = [&](Expr i, Expr j) { return u.load(i, j); };
  blocked.blocks(n, true, [&](Expr first, Expr end) {
    b.serial_for(first, end, [&](Expr k) { factor_column(k, end); });
    blocked.solve_rows(u, {first, end}, {end, n}, true, entry, {});
    blocked.subtract(u, {end, n}, {end, n}, {first, end}, true, entry, entry);
  });
  each_of(b, n, n, [&](Expr i, Expr j) { out.store(i, j, u.load(i, j)); });
  b.serial_for(b.index(0), n, [&](Expr i) { b.store(c.results[2], row + i, b.load(order, i)); });
}

// With the rows of dA in the order of the pivots: M = L⁻¹ dA U⁻¹, dL = L tril(M, -1), dU = triu(M) U.
std::vector<Value> jvp_lu(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr, nullptr, nullptr};
  Builder& b = c.build;
  Compose m(b);
  Value lu = c.results[0], t = c.tangents[0];
  if (t->type().dims.back() == 0) return {t, nullptr, nullptr};  // no rows to put in order
  Value left = solved(b, lu, rows_in_order(b, t, c.results[2]), true, false, true);
  Value inner = turned(b, solved(b, lu, turned(b, left), false, true, false));
  Value strict = triangle(b, inner, true, -1), upper = triangle(b, inner, false, 0);
  Value below = triangle(b, lu, true, -1);  // L without its ones
  Value d_lower = m.add(strict, product_of(b, below, strict));
  return {m.add(d_lower, product_of(b, upper, triangle(b, lu, false, 0))), nullptr, nullptr};
}

constexpr const char* kSpd3 = "T[3, 3] {4, 1, 0.5, 1, 3, -0.5, 0.5, -0.5, 2}";
constexpr const char* kMixed3 = "T[3, 3] {1, 2, -0.5, 4, -1, 0.5, 0.25, 3, 2}";

Op primitive(OpDecl decl, InferFn infer, ReferenceFn reference, NestFn nest, JvpFn jvp,
             Rule<TransposeFn> transpose) {
  return factorisation(std::move(decl), true, infer, reference, nest, jvp, std::move(transpose));
}

// Of either triangle, of several columns and of one; of float32 of the matrix turned over, too, as gradients
// solve.
std::vector<UsualCall> usual_triangles() {
  std::vector<UsualCall> out;
  for (bool lower : {true, false})
    for (const char* columns : {"2, 3", "2, 1"}) {
      for (UsualCall& call : factors::usual_matrices({"2, 2", columns}, make_attrs({kLowerTriangle % lower})))
        out.push_back(std::move(call));
      out.push_back({{"f32[2, 2]", fmt::format("f32[{}]", columns)},
                     make_attrs({kLowerTriangle % lower, factors::kTransposed % true})});
    }
  return out;
}

}  // namespace

std::vector<Op> linalg_ops() {
  std::vector<Op> ops;
  ops.push_back(primitive(
      {.name = "cholesky",
       .doc = "The lower triangular L with L Lᴴ = x and a real diagonal, for each matrix of the last two "
              "axes.\nThe lower triangle of x is read, of a complex diagonal the real part. Of a matrix that "
              "is not positive definite, NaN from the first column on that shows it.",
       .operands = {{"x", "[..., n, n]."}},
       .numpy = "np.linalg.cholesky(x" + std::string(kWideNumbers) + ")",
       .samples = {{kSpd3, "{}"},
                   {"T[3, 3] {4, 0, 0, (1, 0.5), 3, 0, (0.5, -1), (-0.5, 0.25), 2}", "{}"},
                   {"T[2, 2, 2] {4, 1, 1, 3, 2, -1, -1, 5}", "{}"},
                   {"T[1, 1] {9}", "{}"},
                   {"T[0, 2, 2]", "{}"},
                   {"T[0, 0]", "{}"}},
       .usual = factors::usual_batches({"2, 2"}),
       .ulp = 64,
       .complex_ulp = 64},
      infer_cholesky, reference_cholesky, nest_cholesky, jvp_cholesky, tools::not_linear()));
  ops.push_back(
      primitive({.name = "triangular_solve",
                 .doc = "The x with a x = b, for a triangular a: of each matrix of the last two axes.\nThe "
                        "other triangle of a is not "
                        "read. A zero on the diagonal gives infinities or NaN.",
                 .operands = {{"a", "[..., n, n]."}, {"b", "[..., n, m]."}},
                 .attrs = {kLowerTriangle, kTransposed, kUnit},
                 .numpy = "np.linalg.solve((lambda t: np.swapaxes(t, -1, -2) if transpose_a else t)((lambda "
                          "t: t - (t - 1) * "
                          "np.eye(a.shape[-1]) if unit_diagonal else t)(np.tril(a) if lower else "
                          "np.triu(a))).astype('D' if a.dtype.kind == 'c' else float), "
                          "b.astype('D' if b.dtype.kind == 'c' else float))",
                 .samples = {{std::string(kSpd3) + ", T[3, 2]", "{}"},
                             {std::string(kSpd3) + ", T[3, 1]", "{lower = false}"},
                             {std::string(kSpd3) + ", T[3, 2]", "{transpose_a = true}"},
                             {std::string(kSpd3) + ", T[3, 2]",
                              "{lower = false, transpose_a = true, unit_diagonal = true}"},
                             {"T[2, 2, 2] {4, 1, 1, 3, 2, -1, -1, 5}, T[2, 2, 33]", "{unit_diagonal = true}"},
                             {"T[2, 2] {(2, 1), 0, (1, -1), (1, 3)}, T[2, 2]", "{}"},
                             {"T[2, 2] {(2, 1), 0, (1, -1), (1, 3)}, T[2, 1]", "{transpose_a = true}"},
                             {"T[1, 1] {2}, T[1, 3]", "{}"},
                             {"T[2, 2] {2, 0, 1, 1}, T[2, 0]", "{}"},
                             {"T[0, 0], T[0, 3]", "{}"}},
                 .bad_samples = {{"f32[2, 2], f32[3, 1]", "{}",
                                  "ShapeError: triangular_solve: the rows of a and of b: 2 and 3 differ"}},
                 .usual = usual_triangles(),
                 .ulp = 256,
                 .complex_ulp = 256},
                infer_solve, reference_solve, nest_solve, jvp_solve, &transpose_solve));
  ops.push_back(
      primitive({.name = "lu",
                 .doc = "The factors L and U of x with its rows exchanged, in one matrix; the row that each "
                        "step took; and the order "
                        "of the rows.\nL has ones on its diagonal, which are left out. x[order] = L U. Of "
                        "several largest elements "
                        "the first is the pivot; of complex ones the size is the sum of that of both parts.",
                 .operands = {{"x", "[..., n, n]."}},
                 .results = 3,
                 .numpy = "none: NumPy has no factors of LU; the tests of ig.linalg multiply them again",
                 .samples = {{kMixed3, "{}"},
                             {"T[2, 2] {(0.5, 1), (2, -1), (-2, 3), (1, 1)}", "{}"},
                             {"T[2, 2, 2] {0, 1, 2, 3, 2, -1, -1, 5}", "{}"},
                             {"T[1, 1] {9}", "{}"},
                             {"T[0, 2, 2]", "{}"},
                             {"T[0, 0]", "{}"}},
                 .usual = factors::usual_matrices({"2, 2"}),
                 .ulp = 256,
                 .complex_ulp = 256},
                infer_lu, reference_lu, nest_lu, jvp_lu, tools::not_linear()));
  for (auto family : {linalg_orthogonal, linalg_spectral, linalg_eigen, linalg_composites,
                      linalg_least_squares, linalg_functions, linalg_roots})
    for (Op& op : family()) ops.push_back(std::move(op));
  return ops;
}

}  // namespace ig::ops
