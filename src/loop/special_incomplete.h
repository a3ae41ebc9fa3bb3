// The incomplete integrals: of gamma and its slopes, and of beta; and the logarithm of beta that they are
// divided by. Written for both kinds of number, as special_formulas.h, which names the sources.
#pragma once

#include "loop/special_formulas.h"

namespace ig::loop::special {

// --- the incomplete gamma function
// -----------------------------------------------------------------------------------------
// With D = x^a e^-x / gamma(a + 1), of 0 < a, x < infinity: P and Q = 1 - P, each with its digits where it is
// small, and dP/da = D slope. Four regions:
//  * near the maximum of a large a, Temme's uniform expansion;
//  * to the right of max(a, 1) the continued fraction of Q;
//  * to the left the power series of P; where a and x are below 1, Q by a series of its own.
constexpr int kSeriesSteps = 112, kFractionSteps = 112, kSmallSteps = 20;
constexpr double kTemmeFrom = 100, kTemmeWidth = 0.4;

template <typename R>
struct IncompleteGamma {
  R p, q, slope;
};

enum class GammaParts : uint8_t { Lower, Upper, Slope };

// x^a e^-x / gamma(a + 1).
template <typename R>
R gamma_density(R a, R x) {
  auto small = a < 10.0;
  R sa = kept(select(small, a, number(a, 1)));
  auto l = log_pair(x);
  auto e = two_product(sa, l.high);
  auto sum = two_sum(e.high, -x);
  R low = sum.low + (e.low + sa * l.low);
  R direct = exp_of(sum.high, select(abs(sum.high) < 1e4, low, number(a, 0))) / gamma_near(sa + 1.0, 9);
  R la = kept(select(small, number(a, 10), a));
  // a phi(x / a), the exponent's distance from its maximum.
  R mu = kept((x - la) / la);
  R by_maximum = exp(-(la * log1p_excess(mu, x / la))) / sqrt(2 * kPi * la) * exp(-stirling(la));
  return select(small, direct, by_maximum);
}

template <typename R>
IncompleteGamma<R> incomplete_gamma(R a, R x, R log_x, GammaParts parts) {
  bool slopes = parts == GammaParts::Slope;
  auto uniform = (a >= kTemmeFrom) & (abs(x - a) <= kTemmeWidth * a);
  auto right = no(uniform) & (x >= 1.0) & (x >= a);
  auto left = no(uniform) & no(right);
  IncompleteGamma<R> out{number(a, 0), number(a, 0), number(a, 0)};
  R d = slopes ? number(a, 0) : kept(gamma_density(a, x));
  R more = slopes ? kept(log_less_digamma(x, log_x, kept(a + 1.0))) : number(a, 0);

  // The power series, sum of x^n / ((a + 1) ... (a + n)), and its slope.
  R la = kept(select(left, a, number(a, 1))), lx = kept(select(left, x, number(a, 0.5)));
  auto [s, ds] = iterate(kSeriesSteps, std::array<R, 2>{number(a, 1), number(a, 0)},
                         [&](R i, const std::array<R, 2>& t) -> std::array<R, 2> {
                           R r = 1.0 / (la + (static_cast<double>(kSeriesSteps) - i));
                           R ratio = lx * r;
                           return {fma(t[0], ratio, number(a, 1)), slopes ? ratio * (t[1] - t[0] * r) : t[1]};
                         });

  // The continued fraction of gamma(a, x) = x^a e^-x / f, and its slope.
  R ra = kept(select(right, a, number(a, 1))), rx = kept(select(right, x, number(a, 2)));
  constexpr double kEnd = 2.0 * kFractionSteps + 1;
  auto [f, df] =
      iterate(kFractionSteps, std::array<R, 2>{rx - ra + kEnd, number(a, -1)},
              [&](R i, const std::array<R, 2>& t) -> std::array<R, 2> {
                R k = static_cast<double>(kFractionSteps) - i;
                R r = kept(1.0 / t[0]);
                R over = kept(k * (ra - k) * r);
                return {(rx - ra) + (2.0 * k - 1.0) + over, slopes ? (k - over * t[1]) * r - 1.0 : t[1]};
              });

  // Temme: Q = erfc(eta sqrt(a / 2)) / 2 + R, eta^2 / 2 = mu - log(1 + mu), all over exp(-a eta^2 / 2).
  R ta = kept(select(uniform, a, number(a, 100))), tx = kept(select(uniform, x, number(a, 100)));
  R mu = kept((tx - ta) / ta);
  R per_mu = kept(sqrt(2.0 * log1p_rest(mu)));  // eta / mu
  R eta = kept(mu * per_mu), z = kept(abs(eta) * sqrt(0.5 * ta)), one_over = kept(1.0 / ta);
  R sum = number(a, 0), d_eta = number(a, 0), d_a = number(a, 0);
  constexpr int kTerms = static_cast<int>(std::size(coefficients::kTemme));
  for (int k = kTerms; k-- > 0;) {
    if (slopes) d_eta = kept(fma(d_eta, one_over, polynomial_slope(eta, coefficients::kTemme[k])));
    if (slopes) d_a = kept(fma(d_a, one_over, sum));
    sum = kept(fma(sum, one_over, polynomial(eta, coefficients::kTemme[k])));
  }
  R root = kept(sqrt(2 * kPi * ta));
  if (slopes) {
    // d_a is the slope of the sum by 1 / a; that of eta by a is -mu / (eta a) = -1 / (per_mu a).
    R change = -d_a * one_over * one_over - d_eta * one_over / per_mu;
    R inner = (1.0 / per_mu - 0.5 * eta) + (log1p(mu) - 0.5 * one_over) * sum + change;
    R of_uniform = -(exp(stirling(ta)) * inner);
    R of_left = more * s + ds;
    R of_right = -((a * more + 1.0 - a * df / f) / f);
    out.slope = select(uniform, of_uniform, select(right, of_right, of_left));
    return out;
  }
  R scaled = exp(-(z * z));
  auto above = eta >= 0.0;
  R complement =
      0.5 * select(z < 0.5, exp(z * z) * erfc(z), erfcx_right(kept(select(z < 0.5, number(a, 0.5), z))));
  R near_tail = scaled * (complement + select(above, sum, -sum) / root);  // Q right of a, P left of it
  R q_uniform = select(above, near_tail, 1.0 - near_tail),
    p_uniform = select(above, 1.0 - near_tail, near_tail);
  R p_left = kept(d * s), q_right = kept(d * a / f);
  out.p = select(uniform, p_uniform, select(right, 1.0 - q_right, p_left));
  if (parts == GammaParts::Lower) return out;
  // Q = -expm1(u) - e^u a sum (-x)^n / (n! (a + n)), u = a log(x) - log(gamma(1 + a)).
  auto both_small = (a < 1.0) & (x < 1.0);
  R sa = kept(select(both_small, a, number(a, 0.5))), sx = kept(select(both_small, x, number(a, 0.5)));
  auto [term, series] = iterate(kSmallSteps, std::array<R, 2>{number(a, 1), number(a, 0)},
                                [&](R i, const std::array<R, 2>& t) -> std::array<R, 2> {
                                  R next = -(t[0] * sx) / (i + 1.0);
                                  return {next, t[1] + next / (sa + (i + 1.0))};
                                });
  R u = kept(sa * (log(sx) - polynomial(sa, coefficients::kLogGamma1p)));
  R q_small = -expm1(u) - exp(u) * (sa * series);
  out.q = select(uniform, q_uniform, select(right, q_right, select(both_small, q_small, 1.0 - p_left)));
  return out;
}

// The whole of the functions, with their edges. Negative arguments give NaN, and so do (0, 0) and two
// infinities.
template <typename R, typename Choice>
R with_gamma_edges(R a, R x, double at_zero, const Choice& inside) {
  auto usual = (a > 0.0) & (x > 0.0) & (a < kInfinity) & (x < kInfinity);
  R y = inside(kept(select(usual, a, number(a, 1))), kept(select(usual, x, number(a, 1))));
  // P is 0 where x is 0 or a infinite, and 1 where a is 0 or x infinite.
  auto zero = ((x == 0.0) & (a > 0.0)) | ((a == kInfinity) & (x >= 0.0) & (x < kInfinity));
  auto one = ((a == 0.0) & (x > 0.0)) | ((x == kInfinity) & (a >= 0.0) & (a < kInfinity));
  R edge = select(zero, number(a, at_zero), select(one, number(a, 1 - at_zero), not_a_number_like(a)));
  return select(nan_in(a) | nan_in(x), a + x, select(usual, y, edge));
}
template <typename R>
R gammainc_of(R a, R x) {
  return with_gamma_edges(a, x, 0, [](R a, R x) { return incomplete_gamma(a, x, x, GammaParts::Lower).p; });
}
template <typename R>
R gammaincc_of(R a, R x) {
  return with_gamma_edges(a, x, 1, [](R a, R x) { return incomplete_gamma(a, x, x, GammaParts::Upper).q; });
}
// dP/da; 0 at the edges where P stays what it is.
template <typename R>
R gammainc_slope_of(R a, R x) {
  R y = with_gamma_edges(a, x, 0, [](R a, R x) {
    return gamma_density(a, x) * incomplete_gamma(a, x, log(x), GammaParts::Slope).slope;
  });
  return select((x == kInfinity) & (a < kInfinity) & (a >= 0.0), number(a, 0), y);
}
// The slope of the logarithm of a gamma-distributed number by the shape a, at the same quantile: -(dP/da) /
// (x dP/dx), of the logarithm, since the number itself may be 0 for small a.
template <typename R>
R log_gamma_sample_slope_of(R a, R log_x) {
  R x = kept(exp(log_x));
  auto usual = (a > 0.0) & (a < kInfinity) & (abs(log_x) < kInfinity) & (x < kInfinity);
  R sa = kept(select(usual, a, number(a, 1))), sl = kept(select(usual, log_x, number(a, 0)));
  R y = incomplete_gamma(sa, kept(select(usual, x, number(a, 1))), sl, GammaParts::Slope).slope / -sa;
  return select(usual, y, not_a_number_like(a));
}

// --- beta
// ------------------------------------------------------------------------------------------------------------------
// log(gamma(b) / gamma(a + b)) for b >= 10, a >= 0.
template <typename R>
R log_gamma_quotient(R a, R b) {
  R ratio = a / b;
  R sum = a + b;
  return stirling(b) - stirling(sum) - ((sum - 0.5) * log1p(ratio) + a * (log(b) - 1.0));
}

// log(beta(a, b)) of positive, finite numbers.
template <typename R>
R log_beta_right(R p, R q) {
  R a = kept(select(p < q, p, q)), b = kept(select(p < q, q, p));  // a <= b
  auto both_small = b < 10.0, both_large = a >= 10.0;
  // Both below 10: gamma(1 + a) gamma(1 + b) / gamma(1 + a + b) (a + b) / (a b), which may overflow at the
  // end.
  R sa = kept(select(a < 10.0, a, number(a, 1))), sb = kept(select(both_small, b, number(a, 1)));
  R of_a = kept(gamma_near(sa + 1.0, 9));
  R quotient = of_a * gamma_near(sb + 1.0, 9) / gamma_near(kept(sa + sb) + 1.0, 19) * ((sa + sb) / sb);
  R small = log(select(both_small, quotient, number(a, 1))) - log(sa);
  R lb = kept(select(both_small, number(a, 10), b));
  R mixed = (log(of_a) - log(sa)) + log_gamma_quotient(sa, lb);
  R la = kept(select(both_large, a, number(a, 10)));
  R h = kept(la / lb);
  R corrections = stirling(la) + stirling(lb) - stirling(la + lb);
  R large = -0.5 * log(lb) + kHalfLog2Pi + corrections + (la - 0.5) * log(h / (h + 1.0)) - lb * log1p(h);
  return select(both_small, small, select(both_large, large, mixed));
}

// beta of any numbers by one of positive ones: beta(a, b) = factor beta(p, q), or factor / beta(p, q).
template <typename R, typename Truth>
struct ReflectedBeta {
  R p, q, factor;
  Truth inverted;
};
template <typename R>
auto reflected_beta(R a, R b) {
  R low = kept(select(a < b, a, b)), high = kept(select(a < b, b, a)), sum = kept(a + b);
  auto right = low > 0.0, left = high < 0.0, above = sum > 0.0;
  R s_low = kept(sine_pi(low)), s_sum = kept(sine_pi(sum));
  R mixed = select(above, kPi / (s_low * high), s_sum / s_low);
  R both = kPi * s_sum / (s_low * sine_pi(high) * (1.0 - sum));
  R one = number(a, 1);
  R p = select(right, low, select(left | above, 1.0 - low, high));
  R q = select(right, high, select(left, 1.0 - high, select(above, sum, 1.0 - sum)));
  auto pole = ((low < 0.0) & (low == floor(low))) | (left & (high == floor(high)));
  R factor = select(right, one, select(left, both, mixed));
  auto inverted = no(right) & (left | above);
  return ReflectedBeta<R, decltype(inverted)>{p, q, select(pole, not_a_number_like(a), factor), inverted};
}

// Zeros and infinities: beta is infinite where one argument is 0, and 0 where one is infinite.
template <typename R>
R with_beta_edges(R a, R b, R inside, double at_zero, double at_infinity) {
  auto infinite = ((a == kInfinity) & (b > 0.0)) | ((b == kInfinity) & (a > 0.0));
  R edge = select((a == 0.0) | (b == 0.0), number(a, at_zero),
                  select(infinite, number(a, at_infinity), not_a_number_like(a)));
  auto usual = (abs(a) < kInfinity) & (abs(b) < kInfinity) & (a != 0.0) & (b != 0.0);
  return select(nan_in(a) | nan_in(b), a + b, select(usual, inside, edge));
}

template <typename R>
R bounded_number(R a) {  // for values that are chosen by nobody
  return kept(select((abs(a) < kInfinity) & (a != 0.0), a, number(a, 1)));
}

template <typename R>
R log_beta_of(R a, R b) {
  auto r = reflected_beta(bounded_number(a), bounded_number(b));
  R l = kept(log_beta_right(kept(r.p), kept(r.q)));
  return with_beta_edges(a, b, log(abs(r.factor)) + select(r.inverted, -l, l), kInfinity, -kInfinity);
}

// beta of positive numbers: below 10 by products, so that whole numbers stay exact; else by its logarithm.
template <typename R>
R beta_right(R a, R b) {
  R least = kept(select(a < b, a, b)), most = kept(select(a < b, b, a));
  auto small = most < 10.0;
  R sa = kept(select(small, least, number(a, 1))), sb = kept(select(small, most, number(a, 1)));
  R direct = gamma_near(sa + 1.0, 9) * gamma_near(sb + 1.0, 9) / gamma_near(kept(sa + sb) + 1.0, 19) *
             ((sa + sb) / sb) / sa;
  return select(small, direct, exp(log_beta_right(a, b)));
}

template <typename R>
R beta_of(R a, R b) {
  auto r = reflected_beta(bounded_number(a), bounded_number(b));
  R y = kept(beta_right(kept(r.p), kept(r.q)));
  return with_beta_edges(a, b, select(r.inverted, r.factor / y, r.factor * y), kInfinity, 0);
}

// x^a y^b / beta(a, b), y = 1 - x, of 0 < x < 1 and positive, finite a and b.
template <typename R>
R beta_density(R a, R b, R x) {
  auto other = two_sum(number(x, 1), -x);  // 1 - x without error
  R y = other.high;
  auto large = (a >= 10.0) & (b >= 10.0);
  R la = kept(select(large, a, number(a, 10))), lb = kept(select(large, b, number(a, 10)));
  // From the maximum, at d = b x - a y = 0: both distances are positive.
  auto one = two_product(lb, x);
  auto two = two_product(la, y);
  R d = kept((one.high - two.high) + ((one.low - two.low) - la * other.low));
  R mu = kept(d / la), nu = kept(-(d / lb));
  R sum = kept(la + lb);
  R away = la * log1p_excess(mu, x * sum / la) + lb * log1p_excess(nu, y * sum / lb);
  R by_maximum =
      sqrt(la / sum * (lb * (1 / (2 * kPi)))) * exp(-away) * exp(stirling(sum) - stirling(la) - stirling(lb));
  auto lx = log_pair(x);
  auto ly = log_pair(y);
  auto first = two_product(a, lx.high);
  auto second = two_product(b, ly.high);
  auto both = two_sum(first.high, second.high);
  auto all = two_sum(both.high, -log_beta_right(a, b));
  R low = all.low + (both.low + (first.low + second.low) + (a * lx.low + b * (ly.low + other.low / y)));
  R direct = exp_of(all.high, select(abs(all.high) < 1e4, low, number(a, 0)));
  return select(large, by_maximum, direct);
}

// Steps of the continued fraction, each two of the usual one; beyond kBetaLimit they are too few.
constexpr int kBetaSteps = 200;
constexpr double kBetaLimit = 1e5;

template <typename R>
R betainc_of(R a0, R b0, R x0) {
  auto usual = (a0 > 0.0) & (b0 > 0.0) & (a0 + b0 <= kBetaLimit) & (x0 > 0.0) & (x0 < 1.0);
  R a1 = kept(select(usual, a0, number(a0, 1))), b1 = kept(select(usual, b0, number(a0, 1)));
  R x1 = kept(select(usual, x0, number(a0, 0.5)));
  // From the side where the fraction is quick: left of the mean.
  auto swapped = x1 * (a1 + b1) > a1;
  R a = kept(select(swapped, b1, a1)), b = kept(select(swapped, a1, b1));
  R x = kept(select(swapped, 1.0 - x1, x1)), y = kept(select(swapped, x1, 1.0 - x1));
  R lead = kept(a * y - b * x + 1.0), rest = kept(2.0 - x);
  auto [tail] = iterate(kBetaSteps, std::array<R, 1>{number(a, 0)},
                        [&](R i, const std::array<R, 1>& t) -> std::array<R, 1> {
                          R m = kept(static_cast<double>(kBetaSteps) - i);
                          R am = kept(a + 2.0 * m), less = kept(1.0 / (am - 1.0));
                          R inner = kept(m * (b - m) * x * less);
                          R own = m + inner + (a + m) * (lead + m * rest) / (am + 1.0);
                          return {(a + (m - 1.0)) * (a + b + (m - 1.0)) * (x * less) * inner / (own + t[0])};
                        });
  R fraction = a * lead / (a + 1.0) + tail;
  R value = beta_density(a1, b1, x1) / fraction;
  value = select(swapped, 1.0 - value, value);
  // Continuous at the ends: 0 where x or 1 / a is 0 ... and NaN where two limits meet.
  auto known = (a0 >= 0.0) & (b0 >= 0.0) & (x0 >= 0.0) & (x0 <= 1.0);
  auto zero = known & (((x0 == 0.0) & (a0 > 0.0)) | ((b0 == 0.0) & (a0 > 0.0) & (x0 < 1.0)));
  auto one = known & (((x0 == 1.0) & (b0 > 0.0)) | ((a0 == 0.0) & (b0 > 0.0) & (x0 > 0.0)));
  R edge = select(zero, number(a, 0), select(one, number(a, 1), not_a_number_like(a)));
  return select(nan_in(a0) | nan_in(b0) | nan_in(x0), a0 + b0 + x0, select(usual, value, edge));
}

}  // namespace ig::loop::special
