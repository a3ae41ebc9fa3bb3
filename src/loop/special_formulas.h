// The formulas of the special functions, written once for two kinds of number: `double`, which is the
// definition that the reference rules run, and `Expr`, of which kernels are made. What they stand on
// (logarithms with twenty digits, sums without error, loops of a fixed length) is given for both first.
//
// A formula never branches: every region's value is computed, and chosen. Loops have a fixed number of steps,
// from the last term to the first, so a row of elements is computed in vectors; how many are needed, and how
// far the results are right, is measured by tests/python/test_special_accuracy.py against values of mpmath.
//
// Sources: W. Gautschi, "A computational procedure for incomplete gamma functions" (1979); N. Temme, "The
// asymptotic expansion of the incomplete gamma functions" (1979); A. DiDonato and A. Morris, "Algorithm 708:
// significant digit computation of the incomplete beta function ratios" (1992); the DLMF, chapters 5, 7, 8,
// 10 and 25.
#pragma once

#include <array>
#include <cmath>
#include <limits>

#include "loop/math_detail.h"
#include "loop/special_coefficients.h"

namespace ig::loop::special {

using math::kInfinity;
using math::kPi;
inline constexpr double kHalfLog2Pi = 9.18938533204672669541e-01, kRootTwo = 1.41421356237309514547e+00,
                        kTwoOverRootPi = 1.12837916709551255856e+00;

// --- numbers of both kinds
// -------------------------------------------------------------------------------------------------------
struct Twofold {  // math::Pair, of doubles
  double high, low;
};
inline double number(double, double value) { return value; }
inline double select(bool condition, double then, double otherwise) { return condition ? then : otherwise; }
inline double select_lazy(bool condition, double then, double otherwise) {
  return condition ? then : otherwise;
}
inline bool no(bool condition) { return !condition; }
inline double abs(double x) { return std::fabs(x); }
inline double sqrt(double x) { return std::sqrt(x); }
inline double floor(double x) { return std::floor(x); }
inline double round_even(double x) { return std::nearbyint(x); }
inline double fma(double a, double b, double c) { return std::fma(a, b, c); }
inline double with_sign_of(double magnitude, double sign) { return std::copysign(magnitude, sign); }
inline double exp(double x) { return std::exp(x); }
inline double expm1(double x) { return std::expm1(x); }
inline double log(double x) { return std::log(x); }
inline double log1p(double x) { return std::log1p(x); }
inline double erf(double x) { return std::erf(x); }
inline double erfc(double x) { return std::erfc(x); }
inline double lgamma(double x) { return std::lgamma(x); }
inline double sin(double x) { return std::sin(x); }
inline double cos(double x) { return std::cos(x); }
inline double sine_of_pi(double d) { return std::sin(kPi * d); }  // |d| <= 1/2
inline double exp_of(double high, double low) {
  return static_cast<double>(std::exp(static_cast<long double>(high) + low));
}
inline Twofold log_pair(double x) {
  long double l = std::log(static_cast<long double>(x));
  auto high = static_cast<double>(l);
  return {high, std::isfinite(high) ? static_cast<double>(l - high) : 0};
}
inline Twofold two_sum(double a, double b) {
  double s = a + b, part = s - a;
  return {s, (a - (s - part)) + (b - part)};
}
inline Twofold two_product(double a, double b) { return {a * b, std::fma(a, b, -(a * b))}; }
template <size_t N>
double polynomial(double x, const double (&c)[N]) {
  double sum = c[N - 1];
  for (size_t i = N - 1; i-- > 0;) sum = std::fma(sum, x, c[i]);
  return sum;
}
template <size_t N>
double polynomial_slope(double x, const double (&c)[N]) {
  double sum = (N - 1) * c[N - 1];
  for (size_t i = N - 1; i-- > 1;) sum = std::fma(sum, x, static_cast<double>(i) * c[i]);
  return sum;
}
// `count` steps: the state becomes step(i, state), for i from 0 on.
template <size_t N, typename Step>
std::array<double, N> iterate(int count, std::array<double, N> state, const Step& step) {
  for (int i = 0; i < count; ++i) state = step(static_cast<double>(i), state);
  return state;
}

using loop::abs;
using loop::floor;
using loop::fma;
using loop::round_even;
using loop::select;
using loop::sqrt;
using math::cos;
using math::erf;
using math::erfc;
using math::exp;
using math::exp_of;
using math::expm1;
using math::lgamma;
using math::log;
using math::log1p;
using math::log_pair;
using math::number;
using math::polynomial;
using math::sin;
using math::two_product;
using math::two_sum;
using math::with_sign_of;
inline Expr no(Expr condition) { return ~condition; }
inline Expr sine_of_pi(Expr d) { return math::sin64(d * kPi); }
template <size_t N>
Expr polynomial_slope(Expr x, const double (&c)[N]) {
  Expr sum = number(x, (N - 1) * c[N - 1]);
  for (size_t i = N - 1; i-- > 1;) sum = fma(sum, x, number(x, static_cast<double>(i) * c[i]));
  return sum;
}
template <size_t N, typename Step>
std::array<Expr, N> iterate(int count, const std::array<Expr, N>& start, const Step& step) {
  Builder& b = start[0].builder();
  std::array<uint32_t, N> cells;
  std::array<Expr, N> now = start;
  for (size_t k = 0; k < N; ++k) {
    cells[k] = b.local(DType::F64, b.enclosing_lanes(), 1, "state");
    b.assign(cells[k], start[k]);
  }
  auto read = [&] {
    for (size_t k = 0; k < N; ++k) now[k] = b.let(b.read(cells[k]));
  };
  b.serial_for(b.index(0), b.index(count), [&](Expr i) {
    read();
    std::array<Expr, N> next = step(convert(i, DType::F64), now);
    for (size_t k = 0; k < N; ++k) b.assign(cells[k], next[k]);
  });
  read();
  return now;
}

template <typename R>
R not_a_number_like(R x) {
  return number(x, std::numeric_limits<double>::quiet_NaN());
}
template <typename R>
auto nan_in(R x) {
  return x != x;
}
// Once, where a kernel uses a value in several places.
inline double kept(double x) { return x; }
inline Expr kept(Expr x) { return x.builder().let(x); }

// --- gamma
// -----------------------------------------------------------------------------------------------------------------
// What Stirling's series adds to log(gamma(z)), and the same of the slope; z >= 10.
inline constexpr double kStirling[] = {8.3333333333333333e-2,  -2.7777777777777778e-3, 7.9365079365079365e-4,
                                       -5.9523809523809524e-4, 8.4175084175084175e-4,  -1.9175269175269175e-3,
                                       6.4102564102564103e-3,  -2.9550653594771242e-2};
inline constexpr double kSlopeStirling[] = {
    8.3333333333333333e-2, -8.3333333333333333e-3, 3.9682539682539683e-3, -4.1666666666666667e-3,
    7.5757575757575758e-3, -2.1092796092796093e-2, 8.3333333333333333e-2, -4.4325980392156863e-1};

template <typename R>
R stirling(R z) {
  R r = kept(1.0 / z);
  return r * polynomial(r * r, kStirling);
}

// gamma(x) for 0 < x < 3 + steps: brought to [2, 3), where it is a polynomial that is 1 at 2, by products
// without error. So it is exact at whole numbers as far as they are representable.
template <typename R>
R gamma_near(R x, int steps) {
  R z0 = kept(select(x < 1.0, x + 2.0, select(x < 2.0, x + 1.0, x)));
  auto [z, high, low] = iterate(steps, std::array<R, 3>{z0, number(x, 1), number(x, 0)},
                                [](R, const std::array<R, 3>& s) -> std::array<R, 3> {
                                  auto above = s[0] >= 3.0;
                                  R less = s[0] - 1.0;
                                  auto next = two_product(s[1], less);
                                  return {select(above, less, s[0]), select(above, next.high, s[1]),
                                          select(above, next.low + s[2] * less, s[2])};
                                });
  R own = kept(polynomial(z - 2.0, coefficients::kGamma));
  R up = fma(own, high, own * low);
  return select(x < 1.0, up / (x * (x + 1.0)), select(x < 2.0, up / x, up));
}

// log(gamma(x)) of x >= 10 with more digits than one number holds.
template <typename R>
auto log_gamma_far(R x) {
  auto l = log_pair(x);
  R shifted = x - 0.5;
  auto e = two_product(shifted, l.high);
  auto s = two_sum(e.high, -x);
  auto t = two_sum(s.high, number(x, kHalfLog2Pi));
  return decltype(e){t.high, t.low + (s.low + (e.low + fma(shifted, l.low, stirling(x))))};
}

// sin(pi x), by the distance to the nearest whole number.
template <typename R>
R sine_pi(R x) {
  R whole = kept(round_even(x)), half = whole * 0.5;
  R sine = sine_of_pi(x - whole);
  return select(floor(half) != half, -sine, sine);
}

constexpr int kGammaSteps = 31;
constexpr double kGammaFar = 34;

template <typename R>
R gamma_of(R x) {
  R a = kept(abs(x));
  R near = gamma_near(select((a > 0.0) & (a < kGammaFar), a, number(x, 1)), kGammaSteps);
  auto far = log_gamma_far(
      kept(select((a >= kGammaFar) & (a < 200.0), a, select(a < kGammaFar, number(x, 34), number(x, 200)))));
  R grown = exp_of(far.high, far.low), shrunk = exp_of(-far.high, -far.low);
  auto is_near = a < kGammaFar;
  R right = select(is_near, near, grown);
  R d = a - round_even(a);
  R factor = -kPi / (a * sine_pi(a));  // gamma(-a) = -pi / (a sin(pi a) gamma(a))
  R left = select(is_near, factor / near, factor * shrunk);
  R y = select(x > 0.0, right, left);
  // Large numbers are whole: there is no value between poles any more.
  y = select((x < 0.0) & ((d == 0.0) | (a == kInfinity)), not_a_number_like(x), y);
  y = select(x == 0.0, with_sign_of(number(x, kInfinity), x), y);
  return select(nan_in(x), x, select(x == kInfinity, x, y));
}

// The sign of gamma(x): NaN at the poles left of 0.
template <typename R>
R gamma_sign_of(R x) {
  R down = floor(x), half = down * 0.5;
  R sign = select(floor(half) == half, number(x, 1), number(x, -1));
  sign = select(x == down, not_a_number_like(x), sign);
  sign = select(x > 0.0, number(x, 1), select(x == 0.0, with_sign_of(number(x, 1), x), sign));
  return select(nan_in(x), x, sign);
}

// log(x) - digamma(z), z > 0, of which log_x is the logarithm: without loss where the two are near.
template <typename R>
R log_less_digamma(R x, R log_x, R z0) {
  auto [z, sum] =
      iterate(10, std::array<R, 2>{z0, number(x, 0)}, [](R, const std::array<R, 2>& s) -> std::array<R, 2> {
        auto below = s[0] < 10.0;
        return {select(below, s[0] + 1.0, s[0]), select(below, s[1] + 1.0 / s[0], s[1])};
      });
  R r = kept(1.0 / z), square = kept(r * r);
  R apart = kept((x - z) * r);
  R ratio = select(abs(apart) < 0.5, log1p(apart), log_x - log(z));
  return ratio + (0.5 * r + square * polynomial(square, kSlopeStirling)) + sum;
}

// --- the error function's kin
// ----------------------------------------------------------------------------------------------
template <typename R>
R erfcx_right(R x) {  // x >= 1/2
  // Of what is beyond 2^60 only 1 / x counts.
  R bounded = select(x < 0x1p60, x, number(x, 0x1p60));
  R t = (bounded - 3.75) / (bounded + 3.75);
  return polynomial(t, coefficients::kErfcx) / (x * 2.0 + 1.0);
}

template <typename R>
R erfcx_of(R x) {
  R a = kept(abs(x));
  auto right = x >= 0.5, left = x <= -0.5;
  R far = erfcx_right(kept(select(a < 0.5, number(x, 0.5), a)));
  auto square = two_product(x, x);
  R grown = exp_of(square.high, select(square.high < 1e4, square.low, number(x, 0)));
  R near = grown * erfc(select(a < 0.5, x, number(x, 0)));
  R y = select(right, far, select(left, 2.0 * grown - far, near));
  return select(nan_in(x), x, y);
}

// The integral of the normal density up to x: exp(-x^2 / 2) erfcx(-x / sqrt 2) / 2 left of 0, where the
// exponent needs all its digits.
template <typename R>
R normal_cdf(R x) {
  R z = kept(abs(x) * (1 / kRootTwo));
  R bounded = kept(select(abs(x) < 40.0, x, number(x, 40)));
  auto square = two_product(bounded, bounded);
  R tail = exp_of(-0.5 * square.high, -0.5 * square.low) *
           (0.5 * erfcx_right(kept(select(z < 0.5, number(x, 0.5), z))));
  tail = select(abs(x) < 40.0, tail, number(x, 0));
  R near = 0.5 + 0.5 * erf(select(z < 0.5, x * (1 / kRootTwo), number(x, 0)));
  return select(nan_in(x), x, select(z < 0.5, near, select(x < 0.0, tail, 1.0 - tail)));
}

template <typename R>
R log_normal_cdf(R x) {
  R z = kept(x * (-1 / kRootTwo));
  R right = log1p(-normal_cdf(kept(select(x > -1.0, -x, number(x, 0)))));
  R far = kept(select(z < 0.5, number(x, 0.5), z));
  R left = log(0.5 * erfcx_right(far)) - (0.5 * x) * x;
  left = select(x == -kInfinity, x, left);
  return select(nan_in(x), x, select(x > -1.0, right, left));
}

// erfc_inv(y): around 1 that of erf; below, in w = -log(y (2 - y)), the polynomials of erf_inv, and beyond
// theirs two of Newton's steps on log(erfc), whose slope is nearly constant.
template <typename R>
R erfc_inverse(R y) {
  R x = 1.0 - y;  // exact where it is used
  R small = kept(select(y > 1.0, 2.0 - y, y));
  auto inside = (small > 0.0) & (small < 0.5);
  R s = kept(select(inside, small, number(y, 0.5)));
  R w = kept(-log(s * (2.0 - s)));
  R root = kept(sqrt(w));
  R p = select(w < 6.25, polynomial(w - 3.125, math::coefficients::kErfInvCentral),
               select(w < 16.0, polynomial(root - 3.25, math::coefficients::kErfInvMiddle),
                      polynomial(root - 5.0, math::coefficients::kErfInvTail)));
  R usual = (1.0 - s) * p;
  R far_root = kept(select(root < 6.0, number(y, 6), root));
  R z = kept(far_root * polynomial((far_root - 16.5) * (1 / 11.5), coefficients::kErfcInvFar));
  R log_y = kept(log(select(root < 6.0, number(y, 1), s)));
  for (int step = 0; step < 2; ++step) {
    R scaled = kept(erfcx_right(z));
    z = kept(z + (log(scaled) - z * z - log_y) * (scaled * (1 / kTwoOverRootPi)));
  }
  R tail = select(root < 6.0, usual, z);
  R near = x * polynomial(x * x, math::coefficients::kErfInvSmall);
  R out = select(small < 0.5, select(y > 1.0, -tail, tail), near);
  R edge =
      select(y == 0.0, number(y, kInfinity), select(y == 2.0, number(y, -kInfinity), not_a_number_like(y)));
  return select(small > 0.0, out, edge);
}

// --- entropies
// -------------------------------------------------------------------------------------------------------------
// log(x / y) of positive, finite numbers: small where they are near, and without overflow.
template <typename R>
R log_ratio(R x, R y) {
  auto a = log_pair(x);
  auto b = log_pair(y);
  R apart = kept((x - y) / y);
  return select(abs(apart) < 0.25, log1p(apart), (a.high - b.high) + (a.low - b.low));
}

template <typename R>
R relative_entropy(R x, R y) {
  auto usual = (x > 0.0) & (x < kInfinity) & (y > 0.0) & (y < kInfinity);
  R sx = kept(select(usual, x, number(x, 1))), sy = kept(select(usual, y, number(x, 1)));
  R edge = select(
      (x == 0.0) & (y >= 0.0), number(x, 0),
      select((x > 0.0) & (x < kInfinity) & (y == kInfinity), number(x, -kInfinity), number(x, kInfinity)));
  R out = select(usual, sx * log_ratio(sx, sy), edge);
  return select(nan_in(x) | nan_in(y), x + y, out);
}

// (mu - log(1 + mu)) / mu^2, for |mu| <= 1/2, by the series of atanh(mu / (2 + mu)).
template <typename R>
R log1p_rest(R mu) {
  R r = kept(1.0 / (mu + 2.0));
  R s = kept(mu * r);
  R square = kept(s * s);
  constexpr double kTerms[] = {1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11, 1.0 / 13,
                               1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23, 1.0 / 25,
                               1.0 / 27, 1.0 / 29, 1.0 / 31, 1.0 / 33, 1.0 / 35};
  return r - 2.0 * s * (r * r) * polynomial(square, kTerms);
}

// mu - log(1 + mu) for mu > -1, where 1 + mu is given too: it may be small.
template <typename R>
R log1p_excess(R mu, R ratio) {
  auto near = abs(mu) < 0.5;
  R small = kept(select(near, mu, number(mu, 0)));
  return select(near, small * small * log1p_rest(small), mu - log(ratio));
}

template <typename R>
R divergence(R x, R y) {  // x log(x / y) - x + y
  auto usual = (x > 0.0) & (x < kInfinity) & (y > 0.0) & (y < kInfinity);
  R sx = kept(select(usual, x, number(x, 1))), sy = kept(select(usual, y, number(x, 1)));
  R apart = kept((sx - sy) / sy);
  auto near = abs(apart) < 0.5;
  R mu = kept(select(near, apart, number(x, 0)));
  R square = mu * mu;
  R close = sy * (square - (1.0 + mu) * square * log1p_rest(mu));
  R far = sx * log_ratio(sx, sy) - sx + sy;
  R edge = select((x == 0.0) & (y >= 0.0), y, number(x, kInfinity));
  R out = select(usual, select(near, close, far), edge);
  return select(nan_in(x) | nan_in(y), x + y, out);
}

// log(p / (1 - p)), with the rounding of 1 - p taken back.
template <typename R>
R logit_of(R p) {
  auto inside = (p > 0.0) & (p < 1.0);
  R s = kept(select(inside, p, number(p, 0.5)));
  auto other = two_sum(number(p, 1), -s);
  auto a = log_pair(s);
  auto b = log_pair(other.high);
  R far = (a.high - b.high) + (a.low - b.low - other.low / other.high);
  R twice = 2.0 * s - 1.0;  // exact where it is used
  R y = select(abs(twice) < 0.25, log1p(twice / other.high), far);
  R edge =
      select(p == 0.0, number(p, -kInfinity), select(p == 1.0, number(p, kInfinity), not_a_number_like(p)));
  return select(inside, y, edge);
}

// --- Bessel functions
// ------------------------------------------------------------------------------------------------------
// e^-|x| I0(x) and e^-|x| I1(x), by polynomials up to 8 and from there on. What serves one side alone is not
// kept, so that it is worked out where a group of lanes asks for it.
template <typename R, size_t N, size_t M>
R bessel_i_scaled(R a, const double (&near_zero)[N], const double (&far)[M]) {  // I1: over a, below 8
  R t = select(a < 8.0, a, number(a, 8)) * 0.25 - 1.0;
  R root = 1.0 / sqrt(select(a < 8.0, number(a, 8), a));
  return select_lazy(a < 8.0, polynomial(t, near_zero), polynomial(16.0 * root * root - 1.0, far) * root);
}
template <typename R, size_t N, size_t M>
R bessel_i0e_by(R x, const double (&near_zero)[N], const double (&far)[M]) {
  return select(nan_in(x), x, bessel_i_scaled(kept(abs(x)), near_zero, far));
}
template <typename R, size_t N, size_t M>
R bessel_i1e_by(R x, const double (&near_zero)[N], const double (&far)[M]) {
  R a = kept(abs(x)), scaled = bessel_i_scaled(a, near_zero, far);
  return select(nan_in(x), x, with_sign_of(select(a < 8.0, a * scaled, scaled), x));
}
template <typename R>
R bessel_i0e_of(R x) {
  return bessel_i0e_by(x, coefficients::kBesselI0Near, coefficients::kBesselI0Far);
}
template <typename R>
R bessel_i1e_of(R x) {
  return bessel_i1e_by(x, coefficients::kBesselI1Near, coefficients::kBesselI1Far);
}

// e^a in two halves: the product with it overflows only where the function does.
template <typename R>
R grown_by(R scaled, R a) {
  R half = kept(exp(a * 0.5));
  return select(a == kInfinity, a, scaled * half * half);
}
template <typename R>
R bessel_i0_from(R x, R scaled) {
  return grown_by(scaled, kept(abs(x)));
}
template <typename R>
R bessel_i1_from(R x, R scaled) {
  return select(nan_in(x), x, with_sign_of(grown_by(abs(scaled), kept(abs(x))), x));
}
template <typename R>
R bessel_i0_of(R x) {
  return bessel_i0_from(x, bessel_i0e_of(x));
}
template <typename R>
R bessel_i1_of(R x) {
  return bessel_i1_from(x, bessel_i1e_of(x));
}

// Two zeros are factors, so that the function keeps its digits around them.
template <typename R, size_t N>
R bessel_j_near(R a, const double (&zeros)[2], const double (&rests)[2], const double (&rest)[N]) {
  R x = select(a < 8.0, a, number(a, 8));
  R y = polynomial(x * x * 0.03125 - 1.0, rest);
  for (int i = 0; i < 2; ++i) y = y * (((x - zeros[i]) - rests[i]) * (x + zeros[i]));
  return y;
}
// Of x >= 8: P and Q / x with the factor of both, and the sine and the cosine of x.
template <typename R, size_t N, size_t M>
std::array<R, 4> bessel_j_far(R a, const double (&p)[N], const double (&q)[M]) {
  R x = select((a >= 8.0) & (a < kInfinity), a, number(a, 8));
  R t = 128.0 / (x * x) - 1.0;
  R size = 1.0 / sqrt(x * kPi);
  return {size * polynomial(t, p), size * (polynomial(t, q) / x), sin(x), cos(x)};
}

template <typename R>
R bessel_j0_of(R x) {
  R a = kept(abs(x));
  R near = bessel_j_near(a, coefficients::kBesselJ0Zeros, coefficients::kBesselJ0ZerosRest,
                         coefficients::kBesselJ0Near);
  auto [p, q, sine, cosine] = bessel_j_far(a, coefficients::kBesselJ0P, coefficients::kBesselJ0Q);
  R far = select(a == kInfinity, number(x, 0), p * (cosine + sine) - q * (sine - cosine));
  return select(nan_in(x), x, select_lazy(a < 8.0, near, far));
}

template <typename R>
R bessel_j1_of(R x) {
  R a = kept(abs(x));
  R near = a * bessel_j_near(a, coefficients::kBesselJ1Zeros, coefficients::kBesselJ1ZerosRest,
                             coefficients::kBesselJ1Near);
  auto [p, q, sine, cosine] = bessel_j_far(a, coefficients::kBesselJ1P, coefficients::kBesselJ1Q);
  R far = select(a == kInfinity, number(x, 0), p * (sine - cosine) + q * (sine + cosine));
  R y = kept(select_lazy(a < 8.0, near, far));
  return select(nan_in(x) | (x == 0.0), x, select(x < 0.0, -y, y));
}

// --- exponential integrals
// ------------------------------------------------------------------------------------------------------
template <typename R>
R exp1_of(R x0) {
  auto usual = (x0 > 0.0) & (x0 < kInfinity);
  R x = kept(select(usual, x0, number(x0, 1)));
  R small = kept(select(x < 1.0, x, number(x, 1))), large = kept(select(x < 1.0, number(x, 1), x));
  R near = polynomial(small, coefficients::kExp1Near) - log(small);
  R far = polynomial((large - 2.0) / (large + 2.0), coefficients::kExp1Far) * exp(-large) / large;
  R edge = select(x0 == 0.0, number(x, kInfinity), select(x0 > 0.0, number(x, 0), not_a_number_like(x)));
  return select(nan_in(x0), x0, select(usual, select(x < 1.0, near, far), edge));
}

template <typename R>
R expi_of(R x0) {
  auto usual = (x0 > 0.0) & (x0 < kInfinity);
  R x = kept(select(usual, x0, number(x0, 1)));
  R small = kept(select(x < 6.0, x, number(x, 1))), large = kept(select(x < 6.0, number(x, 6), x));
  R apart = kept((small - coefficients::kExpiZero) - coefficients::kExpiZeroRest);
  R ratio = kept(apart / coefficients::kExpiZero);
  auto around = abs(ratio) < 0.5;
  R logarithm =
      select(around, log1p(select(around, ratio, number(x, 0))), log(small / coefficients::kExpiZero));
  R near = logarithm + apart * polynomial(small / 3.0 - 1.0, coefficients::kExpiNear);
  R inverse = kept(1.0 / large);
  R middle =
      polynomial(24.0 * select(large < 12.0, inverse, number(x, 1.0 / 12)) - 3.0, coefficients::kExpiMiddle);
  auto before_last = (large >= 12.0) & (large < 36.0);
  R far = polynomial(36.0 * select(before_last, inverse, number(x, 1.0 / 12)) - 2.0, coefficients::kExpiFar);
  R last =
      polynomial(72.0 * select(large < 36.0, number(x, 1.0 / 36), inverse) - 1.0, coefficients::kExpiLast);
  R factor = select(large < 12.0, middle, select(large < 36.0, far, last)) / large;
  R half = kept(exp(large * 0.5));  // the product overflows only where the function does
  R right = select(x < 6.0, near, factor * half * half);
  R edge = select(x0 > 0.0, number(x, kInfinity), -exp1_of(-x0));
  return select(nan_in(x0), x0, select(usual, right, edge));
}

// --- zeta
// ----------------------------------------------------------------------------------------------------------------
// The sum of (q + k)^-s over k >= 0, by its first terms and Euler's and Maclaurin's formula for the rest.
template <typename R>
R zeta_of(R s0, R q0) {
  auto usual = (s0 > 1.0) & (q0 > 0.0) & (s0 < kInfinity) & (q0 < kInfinity);
  R s = kept(select(usual, s0, number(s0, 2))), q = kept(select(usual, q0, number(s0, 1)));
  constexpr int kFirst = 10;
  auto power = [&](R base) {
    auto l = log_pair(base);
    auto e = two_product(-s, l.high);
    // Beyond the range of exp what is behind the point does not matter, and may overflow.
    return exp_of(e.high, select(abs(e.high) < 1e4, e.low - s * l.low, number(s, 0)));
  };
  auto [sum] = iterate(kFirst, std::array<R, 1>{number(s, 0)},
                       [&](R i, const std::array<R, 1>& t) -> std::array<R, 1> {
                         return {t[0] + power(kept(q + ((kFirst - 1.0) - i)))};
                       });
  R w = kept(q + static_cast<double>(kFirst));
  R last = kept(power(w));
  R r = 1.0 / w;
  R square = kept(r * r);
  // B_2j / (2j)!
  constexpr double kNumbers[] = {8.3333333333333333e-2,   -1.3888888888888889e-3,  3.3068783068783069e-5,
                                 -8.2671957671957672e-7,  2.0876756987868099e-8,   -5.2841901386874932e-10,
                                 1.3382536530684679e-11,  -3.3896802963225829e-13, 8.5860620562778446e-15,
                                 -2.1748686985580619e-16, 5.5090028283602295e-18,  -1.3954464685812523e-19};
  R term = s * r, tail = number(s, 0);
  for (int j = 0; j < 12; ++j) {
    tail = fma(term, number(s, kNumbers[j]), tail);
    term = kept(term * ((s + (2 * j + 1.0)) * (s + (2 * j + 2.0))) * square);
  }
  // Where the powers are 0, so is the tail, whatever its factors have become.
  R rest = select(last > 0.0, last * (w / (s - 1.0) + 0.5 + tail), number(s, 0));
  R y = sum + rest;
  R edge = select((s0 == 1.0) | ((s0 > 1.0) & (q0 <= 0.0) & (q0 == floor(q0))), number(s, kInfinity),
                  not_a_number_like(s));
  edge = select((s0 > 1.0) & (q0 == kInfinity), number(s, 0), edge);
  // Of an infinite s only the size of the first term counts.
  edge = select((s0 == kInfinity) & (q0 > 0.0),
                select(q0 < 1.0, number(s, kInfinity), select(q0 == 1.0, number(s, 1), number(s, 0))), edge);
  return select(nan_in(s0) | nan_in(q0), s0 + q0, select(usual, y, edge));
}

}  // namespace ig::loop::special
