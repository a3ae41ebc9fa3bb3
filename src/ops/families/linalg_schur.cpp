// The definition and the kernel of Schur's form; see linalg_schur.h.
#include "ops/families/linalg_schur.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "loop/math_complex.h"
#include "ops/families/array_tools.h"

namespace ig::ops::factors {
namespace {

constexpr int64_t kMostSteps = 64;  // for each value; two or three are usual
constexpr int64_t kUnusual = 10;    // steps without a value after which the shift is another one

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

}  // namespace

Schur schur_of(const Literal& x, int64_t at) {
  int64_t n = x.dims().back();
  Schur s{n, std::vector<Complex>(static_cast<size_t>(n * n)),
          std::vector<Complex>(static_cast<size_t>(n * n), 0)};
  double top = 0;
  bool finite = true;
  for (int64_t i = 0; i < n * n; ++i) {
    Complex z = x.as_complex(at + i);
    s.h[static_cast<size_t>(i)] = z;
    finite = finite && std::isfinite(z.real()) && std::isfinite(z.imag());
    top = std::max(top, std::max(std::fabs(z.real()), std::fabs(z.imag())));
  }
  s.scale = finite && top > 0 ? std::exp2(std::floor(std::log2(top))) : 1;
  for (Complex& z : s.h) z /= s.scale;
  for (int64_t i = 0; i < n; ++i) s.basis(i, i) = 1;
  if (finite) to_hessenberg(s), to_triangle(s);
  s.failed = s.failed || !finite;
  return s;
}

SchurForm::SchurForm(NestContext& c, const Tools& tools, const Dim& order, bool whole)
    : t(tools),
      b(tools.b),
      whole(whole),
      n(b.let(c.size(order))),
      h(scratch_grid(c, complex_of(t.dtype), order, order, "h")),
      v(scratch_grid(c, complex_of(t.dtype), order, order, "v")),
      u(scratch_line(c, complex_of(t.dtype), order, "u")),
      w(scratch_line(c, complex_of(t.dtype), order, "w")),
      cosines(b.add_scratch(t.dtype, order, "cosines")),
      sines(scratch_line(c, complex_of(t.dtype), order, "sines")) {}

SchurForm::Outcome SchurForm::reduce(const Grid& x) const {
  Tools::Scale scale = load(x);
  if (whole) {
    t.fill_identity(v.real_part(), n, n);
    t.each_of(n, n, [&](Expr i, Expr j) { v.imaginary_part().store(i, j, t.number(0)); });
  }
  b.if_then(scale.finite, [&] { hessenberg(); });
  return {scale.factor, triangle(scale.finite)};
}

Tools::Scale SchurForm::load(const Grid& x) const {
  Grid re = h.real_part(), im = h.imaginary_part(), sizes = v.real_part();
  t.each_of(n, n, [&](Expr i, Expr j) {
    Expr z = x.load(i, j);
    h.store(i, j, is_complex(z.type()) ? z : wide(z));
  });
  // The larger part of each element tells of the scale.
  t.each_of(n, n, [&](Expr i, Expr j) {
    Expr p = b.let(abs(re.load(i, j))), q = b.let(abs(im.load(i, j)));
    // A sum where one is NaN.
    sizes.store(i, j, select(p > q, p, select(q > p, q, p + (q - p))));
  });
  Tools::Scale scale = t.scale_of(sizes, n, [&](Expr) { return n; });
  t.each_of(n, n, [&](Expr i, Expr j) { h.store(i, j, over(h.load(i, j), scale.factor)); });
  return scale;
}

Expr SchurForm::phase(Expr z, Expr size) const {
  Expr none = b.let(size == t.number(0));
  Expr safe = b.let(select(none, t.number(1), size));
  return kept(select(none, wide(t.number(1)), over(z, safe)));
}
Expr SchurForm::sum(Expr begin, Expr end, const std::function<Expr(Expr)>& term) const {
  Expr x = t.sum(begin, end, [&](Expr j) { return real(term(j)); });
  Expr y = t.sum(begin, end, [&](Expr j) { return imag(term(j)); });
  return loop::complex(x, y);
}

void SchurForm::hessenberg() const {
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
      if (!whole) return;
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
Expr SchurForm::shift_of(Expr high, Expr unusual) const {
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

void SchurForm::qr_step(Expr low, Expr high, Expr shift) const {
  Expr rows = b.let(high + one());
  // What is outside of the rows and columns low to high matters to whole alone.
  Expr columns = whole ? n : rows, top = whole ? zero() : low;
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
  if (whole)
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
Expr SchurForm::triangle(Expr finite) const {
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

}  // namespace ig::ops::factors
