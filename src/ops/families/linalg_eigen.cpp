// Eigenvalues and vectors of square matrices that need not be symmetric, real or complex: reduced to
// Hessenberg's form by reflectors, and from there to a triangle by QR steps with Wilkinson's shifts, in
// complex arithmetic; the vectors are those of the triangle, turned back.
//
// Sources: G. Golub and C. Van Loan, "Matrix Computations", 7.4 to 7.6; the steps are those of EISPACK's
// comqr2, with matrices brought to a largest element between 1 and 2 first.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "loop/math_complex.h"
#include "ops/families/batch_rules.h"
#include "ops/families/complex.h"
#include "ops/families/compose.h"
#include "ops/families/linalg_kernels.h"
#include "ops/families/linalg_rules.h"

namespace ig::ops {

std::vector<Op> linalg_eigen();

namespace {

using namespace factors;

constexpr int64_t kMostSteps = 64;  // for each value; two or three are usual
constexpr int64_t kUnusual = 10;    // steps without a value after which the shift is another one
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

// --- the definition: the same steps in double, one number at a time
// --------------------------------------------------------------
struct Schur {
  int64_t n;
  std::vector<Complex> h, v;  // v: transposed, its rows are the basis
  bool failed = false;
  Complex& at(int64_t i, int64_t j) { return h[static_cast<size_t>(i * n + j)]; }
  Complex& basis(int64_t i, int64_t j) { return v[static_cast<size_t>(i * n + j)]; }
};

double size1(Complex z) { return std::fabs(z.real()) + std::fabs(z.imag()); }
Complex phase_of(Complex z) { return z == Complex(0) ? Complex(1) : z / std::abs(z); }

void to_hessenberg(Schur& s) {
  int64_t n = s.n;
  for (int64_t k = 0; k + 2 < n; ++k) {
    double rest = 0;
    for (int64_t i = k + 2; i < n; ++i) rest += std::norm(s.at(i, k));
    if (rest > 0) {
      Complex alpha = s.at(k + 1, k);
      double total = std::sqrt(std::norm(alpha) + rest), factor = 1 / (total * (total + std::abs(alpha)));
      std::vector<Complex> u(static_cast<size_t>(n), 0);
      for (int64_t i = k + 1; i < n; ++i) u[static_cast<size_t>(i)] = s.at(i, k);
      u[static_cast<size_t>(k + 1)] += phase_of(alpha) * total;
      auto at = [&](int64_t i) { return u[static_cast<size_t>(i)]; };
      for (int64_t j = k; j < n; ++j) {
        Complex w = 0;
        for (int64_t i = k + 1; i < n; ++i) w += std::conj(at(i)) * s.at(i, j);
        for (int64_t i = k + 1; i < n; ++i) s.at(i, j) -= factor * at(i) * w;
      }
      for (int64_t i = 0; i < n; ++i) {
        Complex w = 0, z = 0;
        for (int64_t j = k + 1; j < n; ++j) w += s.at(i, j) * at(j), z += s.basis(j, i) * at(j);
        for (int64_t j = k + 1; j < n; ++j) {
          s.at(i, j) -= factor * w * std::conj(at(j));
          s.basis(j, i) -= factor * z * std::conj(at(j));
        }
      }
    }
    for (int64_t i = k + 2; i < n; ++i) s.at(i, k) = 0;
  }
}

void to_triangle(Schur& s) {
  int64_t n = s.n, high = n - 1, unusual = 0;
  double epsilon = std::numeric_limits<double>::epsilon();
  for (int64_t step = 0; step < n * kMostSteps && high > 0; ++step) {
    int64_t low = 0;
    for (int64_t i = 0; i < high; ++i) {
      double off = size1(s.at(i + 1, i)), around = size1(s.at(i, i)) + size1(s.at(i + 1, i + 1));
      if (off <= epsilon * around || off <= epsilon * epsilon) low = i + 1;
    }
    if (low > 0) s.at(low, low - 1) = 0;
    if (low == high) {
      --high, unusual = 0;
      continue;
    }
    Complex a = s.at(high - 1, high - 1), d = s.at(high, high),
            bc = s.at(high - 1, high) * s.at(high, high - 1);
    Complex half = 0.5 * (a - d), root = std::sqrt(half * half + bc);
    Complex more = half + root, less = half - root, divisor = std::norm(more) < std::norm(less) ? less : more;
    Complex shift = divisor == Complex(0) ? d : d - bc / divisor;
    if (unusual % kUnusual == kUnusual - 1) shift = d + size1(s.at(high, high - 1));
    ++unusual;
    for (int64_t i = low; i <= high; ++i) s.at(i, i) -= shift;
    std::vector<double> cosines(static_cast<size_t>(n));
    std::vector<Complex> sines(static_cast<size_t>(n));
    for (int64_t k = low; k < high; ++k) {
      Complex x = s.at(k, k), y = s.at(k + 1, k);
      double r = std::sqrt(std::norm(x) + std::norm(y));
      double cosine = r == 0 ? 1 : std::sqrt(std::norm(x)) / r;
      Complex sine = r == 0 ? 0 : phase_of(x) * std::conj(y) / r;
      for (int64_t j = k; j < n; ++j) {
        Complex p = s.at(k, j), q = s.at(k + 1, j);
        s.at(k, j) = cosine * p + sine * q;
        s.at(k + 1, j) = cosine * q - std::conj(sine) * p;
      }
      s.at(k + 1, k) = 0;
      cosines[static_cast<size_t>(k)] = cosine, sines[static_cast<size_t>(k)] = sine;
    }
    for (int64_t k = low; k < high; ++k) {
      double cosine = cosines[static_cast<size_t>(k)];
      Complex sine = sines[static_cast<size_t>(k)];
      for (int64_t i = 0; i <= k + 1; ++i) {
        Complex p = s.at(i, k), q = s.at(i, k + 1);
        s.at(i, k) = cosine * p + std::conj(sine) * q;
        s.at(i, k + 1) = cosine * q - sine * p;
      }
      for (int64_t j = 0; j < n; ++j) {
        Complex p = s.basis(k, j), q = s.basis(k + 1, j);
        s.basis(k, j) = cosine * p + std::conj(sine) * q;
        s.basis(k + 1, j) = cosine * q - sine * p;
      }
    }
    for (int64_t i = low; i <= high; ++i) s.at(i, i) += shift;
  }
  s.failed = high > 0;
}

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
    Schur s{n, std::vector<Complex>(static_cast<size_t>(n * n)),
            std::vector<Complex>(static_cast<size_t>(n * n), 0)};
    double top = 0;
    bool finite = true, complex = is_complex(x.dtype());
    for (int64_t i = 0; i < n * n; ++i) {
      Complex z = complex ? x.as_complex(at + i) : Complex(x.as_double(at + i));
      s.h[static_cast<size_t>(i)] = z;
      finite = finite && std::isfinite(z.real()) && std::isfinite(z.imag());
      top = std::max(top, std::max(std::fabs(z.real()), std::fabs(z.imag())));
    }
    double scale = finite && top > 0 ? std::exp2(std::floor(std::log2(top))) : 1;
    for (Complex& z : s.h) z /= scale;
    for (int64_t i = 0; i < n; ++i) s.basis(i, i) = 1;
    if (finite) to_hessenberg(s), to_triangle(s);
    double nan = std::numeric_limits<double>::quiet_NaN(),
           level = static_cast<double>(n) * std::numeric_limits<double>::epsilon();
    for (int64_t k = 0; k < n; ++k) {
      Complex value = finite && !s.failed ? s.at(k, k) : Complex(nan, nan);
      bool real = !complex && std::fabs(value.imag()) <= level;
      tools::set_complex(w, number * n + k, value.real() * scale, real ? 0 : value.imag() * scale);
      if (!v) continue;
      std::vector<Complex> own = vector_of(s, k);
      for (int64_t j = 0; j < n; ++j) {
        Complex z = finite && !s.failed ? own[static_cast<size_t>(j)] : Complex(nan, nan);
        tools::set_complex(*v, at + j * n + k, z.real(), real ? 0 : z.imag());
      }
    }
  });
}
void reference_eig(ReferenceContext& c) { reference_eigen(c.operands[0], c.results[0], &c.results[1]); }
void reference_eigvals(ReferenceContext& c) { reference_eigen(c.operands[0], c.results[0], nullptr); }

// --- the kernel
// -----------------------------------------------------------------------------------------------------------------
struct Eigen {
  const Tools& t;
  loop::Builder& b;
  Expr n;
  Grid h, v;  // v: transposed
  Line u, w;
  uint32_t cosines;
  Line sines;
  bool vectors;

  Expr zero() const { return b.index(0); }
  Expr one() const { return b.index(1); }
  Expr kept(Expr z) const { return b.let(z); }
  Expr size1(Expr z) const { return abs(real(z)) + abs(imag(z)); }
  Expr wide(Expr r) const { return loop::complex(r, t.number(0)); }
  // z / |z|, and 1 of 0; `size` is |z|.
  Expr phase(Expr z, Expr size) const {
    Expr none = b.let(size == t.number(0));
    Expr safe = b.let(select(none, t.number(1), size));
    return kept(select(none, wide(t.number(1)), over(z, safe)));
  }
  // The sum of products along a line, in fixed lanes.
  Expr sum(Expr begin, Expr end, const std::function<Expr(Expr)>& term) const {
    Expr x = t.sum(begin, end, [&](Expr j) { return real(term(j)); });
    Expr y = t.sum(begin, end, [&](Expr j) { return imag(term(j)); });
    return loop::complex(x, y);
  }

  void hessenberg() const {
    b.serial_for(zero(), n - b.index(2), [&](Expr k) {
      Expr first = b.let(k + one());
      Cell rest(b, t.number(0), "rest");
      b.serial_for(first + one(), n, [&](Expr i) { rest.set(rest.get() + norm(h.load(i, k))); });
      b.if_then(rest.get() > t.number(0), [&] {
        Expr alpha = kept(h.load(first, k));
        Expr size = b.let(sqrt(norm(alpha))), total = b.let(sqrt(norm(alpha) + rest.get()));
        Expr factor = b.let(t.number(1) / (total * (total + size)));
        b.serial_for(first, n, [&](Expr i) { u.store(i, h.load(i, k)); });
        u.store(first, alpha + times(total, phase(alpha, size)));
        // h = (1 - factor u uᴴ) h: by rows.
        t.each(k, n, [&](Expr j) { w.store(j, wide(t.number(0))); });
        b.serial_for(first, n, [&](Expr i) {
          Expr own = kept(conj(u.load(i)));
          t.each(k, n, [&](Expr j) { w.store(j, w.load(j) + own * h.load(i, j)); });
        });
        b.serial_for(first, n, [&](Expr i) {
          Expr own = kept(times(factor, u.load(i)));
          t.each(k, n, [&](Expr j) { h.store(i, j, h.load(i, j) - own * w.load(j)); });
        });
        // h = h (1 - factor u uᴴ).
        b.serial_for(zero(), n, [&](Expr i) {
          Expr along = kept(times(factor, sum(first, n, [&](Expr j) { return h.load(i, j) * u.load(j); })));
          t.each(first, n, [&](Expr j) { h.store(i, j, h.load(i, j) - along * conj(u.load(j))); });
        });
        if (!vectors) return;
        t.each(zero(), n, [&](Expr j) { w.store(j, wide(t.number(0))); });
        b.serial_for(first, n, [&](Expr i) {
          Expr own = kept(u.load(i));
          t.each(zero(), n, [&](Expr j) { w.store(j, w.load(j) + own * v.load(i, j)); });
        });
        b.serial_for(first, n, [&](Expr i) {
          Expr own = kept(times(factor, conj(u.load(i))));
          t.each(zero(), n, [&](Expr j) { v.store(i, j, v.load(i, j) - own * w.load(j)); });
        });
      });
      b.serial_for(first + one(), n, [&](Expr i) { h.store(i, k, wide(t.number(0))); });
    });
  }

  // The eigenvalue of the last two rows that is nearer to the last element.
  Expr shift_of(Expr high, Expr unusual) const {
    Expr before = b.let(high - one());
    Expr a = kept(h.load(before, before)), d = kept(h.load(high, high)), off = kept(h.load(high, before));
    Expr bc = kept(h.load(before, high) * off);
    Expr half = kept(times(t.number(0.5), a - d));
    Expr root = kept(loop::complex_math::sqrt(kept(half * half + bc)));
    Expr more = kept(half + root), less = kept(half - root);
    Expr divisor = kept(select(norm(more) < norm(less), less, more));
    Expr none = b.let(norm(divisor) == t.number(0));
    Expr usual = kept(select(none, d, d - bc / select(none, wide(t.number(1)), divisor)));
    Expr rare = b.let(unusual % b.index(kUnusual) == b.index(kUnusual - 1));
    return kept(select(rare, d + wide(size1(off)), usual));
  }

  void qr_step(Expr low, Expr high, Expr shift) const {
    Expr rows = b.let(high + one());
    // What is outside of the rows and columns low to high matters to vectors alone.
    Expr columns = vectors ? n : rows, top = vectors ? zero() : low;
    b.serial_for(low, rows, [&](Expr i) { h.store(i, i, h.load(i, i) - shift); });
    b.serial_for(low, high, [&](Expr k) {
      Expr next = b.let(k + one());
      Expr x = kept(h.load(k, k)), y = kept(h.load(next, k));
      Expr size = b.let(sqrt(norm(x))), r = b.let(sqrt(norm(x) + norm(y)));
      Expr none = b.let(r == t.number(0)), safe = b.let(select(none, t.number(1), r));
      Expr cosine = b.let(select(none, t.number(1), size / safe));
      Expr turned = kept(phase(x, size) * conj(y));
      Expr sine = kept(over(turned, safe));
      b.store(cosines, k, cosine);
      sines.store(k, sine);
      t.each(k, columns, [&](Expr j) {
        Expr p = kept(h.load(k, j)), q = kept(h.load(next, j));
        h.store(k, j, times(cosine, p) + sine * q);
        h.store(next, j, times(cosine, q) - conj(sine) * p);
      });
      h.store(next, k, wide(t.number(0)));
    });
    b.serial_for(top, rows, [&](Expr i) {
      Expr before = b.let(i - one());
      b.serial_for(b.let(select(before < low, low, before)), high, [&](Expr k) {
        Expr next = b.let(k + one()), cosine = b.let(b.load(cosines, k)), sine = kept(sines.load(k));
        Expr p = kept(h.load(i, k)), q = kept(h.load(i, next));
        h.store(i, k, times(cosine, p) + conj(sine) * q);
        h.store(i, next, times(cosine, q) - sine * p);
      });
    });
    if (vectors)
      b.serial_for(low, high, [&](Expr k) {
        Expr next = b.let(k + one()), cosine = b.let(b.load(cosines, k)), sine = kept(sines.load(k));
        t.each(zero(), n, [&](Expr j) {
          Expr p = kept(v.load(k, j)), q = kept(v.load(next, j));
          v.store(k, j, times(cosine, p) + conj(sine) * q);
          v.store(next, j, times(cosine, q) - sine * p);
        });
      });
    b.serial_for(low, rows, [&](Expr i) { h.store(i, i, h.load(i, i) + shift); });
  }

  // Gives whether it has come to an end.
  Expr triangle(Expr finite) const {
    Cell high(b, b.let(n - one()), "high"), unusual(b, zero(), "unusual");
    Expr limit = b.let(select(finite, n * b.index(kMostSteps), zero()));
    iterate(
        t, limit, kChains, [&] { return high.get() > zero(); },
        [&](Expr, const Cell&) {
          Expr end = high.get();
          Cell begin(b, zero(), "begin");
          b.serial_for(zero(), end, [&](Expr i) {
            Expr next = b.let(i + one());
            Expr off = b.let(size1(h.load(next, i)));
            Expr around = b.let(size1(h.load(i, i)) + size1(h.load(next, next)));
            Expr none = (off <= t.epsilon() * around) | (off <= t.epsilon() * t.epsilon());
            begin.set(select(none, next, begin.get()));
          });
          Expr low = begin.get();
          b.if_then(low > zero(), [&] { h.store(low, low - one(), wide(t.number(0))); });
          b.if_then(
              low == end,
              [&] {
                high.set(end - one());
                unusual.set(zero());
              },
              [&] {
                Expr shift = shift_of(end, unusual.get());
                unusual.set(unusual.get() + one());
                qr_step(low, end, shift);
              });
        },
        [](Expr) {});
    return b.let(finite & (high.get() <= zero()));
  }

  // The vector of the value k, in w, of any length; gives the factor that makes it a unit vector.
  Expr vector(Expr k) const {
    u.store(k, wide(t.number(1)));
    Expr own = kept(h.load(k, k));
    t.backwards(zero(), k, [&](Expr i) {
      Expr total =
          kept(sum(b.let(i + one()), b.let(k + one()), [&](Expr j) { return h.load(i, j) * u.load(j); }));
      Expr apart = kept(h.load(i, i) - own);
      Expr near = b.let(size1(apart) < t.epsilon());
      Expr y = kept(-total / select(near, wide(t.epsilon()), apart));
      u.store(i, y);
      Expr size = b.let(size1(y));
      b.if_then(size > t.number(kGrown), [&] {
        Expr less = b.let(t.number(1) / size);
        t.each(i, b.let(k + one()), [&](Expr j) { u.store(j, times(less, u.load(j))); });
      });
    });
    t.each(zero(), n, [&](Expr j) { w.store(j, wide(t.number(0))); });
    b.serial_for(zero(), b.let(k + one()), [&](Expr i) {
      Expr share = kept(u.load(i));
      t.each(zero(), n, [&](Expr j) { w.store(j, w.load(j) + share * v.load(i, j)); });
    });
    Expr length = b.let(sqrt(t.sum(zero(), n, [&](Expr j) { return norm(w.load(j)); })));
    Cell top(b, t.number(0), "top"), place(b, zero(), "place");
    b.serial_for(zero(), n, [&](Expr j) {
      Expr size = b.let(norm(w.load(j)));
      top.set(select(top.get() < size, size, top.get()));
    });
    t.backwards(zero(), n, [&](Expr j) {
      place.set(select(norm(w.load(j)) >= t.number(0.98) * top.get(), j, place.get()));
    });
    Expr first = kept(w.load(place.get()));
    Expr turn = kept(conj(phase(first, b.let(sqrt(norm(first))))));
    return kept(over(turn, length));
  }
};

void nest_eigen(NestContext& c, bool vectors) {
  loop::Builder& b = *c.build;
  const Type& type = c.node->operand(0)->type();
  const Dim& order = type.dims.back();
  DType dtype = real_of(type.dtype);
  bool complex = is_complex(type.dtype);
  c.set_blocks(product(batch_of(type)));
  Expr n = b.let(c.size(order)), zero = b.index(0);
  Tools t(b, dtype, lanes_of(dtype, order));
  Grid x{b, c.operands[0], b.let(b.block() * n * n), n};
  DType element = complex_of(dtype);
  Grid h = scratch_grid(c, element, order, order, "h"), v = scratch_grid(c, element, order, order, "v");
  Grid h_re = h.real_part(), h_im = h.imaginary_part(), v_re = v.real_part(), v_im = v.imaginary_part();
  Line u = scratch_line(c, element, order, "u"), w = scratch_line(c, element, order, "w");
  uint32_t cosines = b.add_scratch(dtype, order, "cosines");
  Eigen e{t, b, n, h, v, u, w, cosines, scratch_line(c, element, order, "sines"), vectors};

  t.each_of(n, n, [&](Expr i, Expr j) {
    Expr z = x.load(i, j);
    h.store(i, j, complex ? z : loop::complex(z, t.number(0)));
  });
  // The larger part of each element tells of the scale.
  t.each_of(n, n, [&](Expr i, Expr j) {
    Expr p = b.let(abs(h_re.load(i, j))), q = b.let(abs(h_im.load(i, j)));
    // A sum where one is NaN.
    v_re.store(i, j, select(p > q, p, select(q > p, q, p + (q - p))));
  });
  Tools::Scale scale = t.scale_of(v_re, n, [&](Expr) { return n; });
  t.each_of(n, n, [&](Expr i, Expr j) {
    Expr z = h.load(i, j);
    h.store(i, j, over(z, scale.factor));
  });
  if (vectors) {
    t.fill_identity(v_re, n, n);
    t.each_of(n, n, [&](Expr i, Expr j) { v_im.store(i, j, t.number(0)); });
  }
  b.if_then(scale.finite, [&] { e.hessenberg(); });
  Expr done = e.triangle(scale.finite);
  Expr level = b.let(convert(n, dtype) * t.epsilon()), row = b.let(b.block() * n);
  b.serial_for(zero, n, [&](Expr k) {
    Expr value = e.kept(h.load(k, k));
    // A trace that rounding left is nothing where the matrix is real.
    Expr is_real = b.let(complex ? t.number(1) < t.number(0) : abs(imag(value)) <= level);
    auto finished = [&](Expr z) { return select(done, z, t.nan()); };
    auto imaginary = [&](Expr z) { return select(is_real, t.number(0), finished(z)); };
    b.store(c.results[0], row + k,
            loop::complex(finished(real(value) * scale.factor), imaginary(imag(value) * scale.factor)));
    if (!vectors) return;
    Expr factor = e.vector(k);
    b.serial_for(zero, n, [&](Expr j) {
      Expr z = e.kept(w.load(j) * factor);
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
  return {b("diagonal", {inner}), m.sub(dv, m.mul(v, less))};
}

std::vector<Value> jvp_eigvals(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Builder& b = c.build;
  std::vector<Value> both = b.many("eig", {c.operands[0]});
  c.replaced = {both[0]};
  return {b("diagonal", {inner_product(b, c.tangents[0], both[1])})};
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
       .numpy = "none: the order of the values is open; the tests of ig.linalg multiply the factors again"},
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
