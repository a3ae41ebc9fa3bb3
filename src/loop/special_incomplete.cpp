// The incomplete integrals and what beta is made of (special_incomplete.h), for both kinds of number.
#include "loop/special_incomplete.h"

#include "loop/special.h"
#include "loop/special_wide.h"

namespace ig::loop::special {
namespace {

// The binomial coefficient: of a whole k that is at most 30 a product, whose partial ones are whole where n
// is; else 1 / ((n + 1) beta(n - k + 1, k + 1)).
template <typename R>
R binomial(R n, R k0) {
  constexpr int kMost = 30;
  // From the shorter side, where n is whole.
  R other = n - k0;
  R k = kept(select((n == floor(n)) & (n >= 0.0) & (other >= 0.0) & (other < k0), other, k0));
  auto few = (k == floor(k)) & (k >= 0.0) & (k <= static_cast<double>(kMost)) & (abs(n) < kInfinity);
  R sn = kept(select(few, n, number(n, 1))), sk = kept(select(few, k, number(n, 0)));
  auto [product] =
      iterate(kMost, std::array<R, 1>{number(n, 1)}, [&](R i, const std::array<R, 1>& t) -> std::array<R, 1> {
        return {select(i < sk, t[0] * (sn - sk + (i + 1.0)) / (i + 1.0), t[0])};
      });
  // gamma(n + 1) / (gamma(k + 1) gamma(n - k + 1)); left of its poles by the reflection of the last factor.
  auto above = (k0 > n) & (n > -1.0);
  R base = kept(n + 1.0);
  R between = kept(beta_of(kept(select(above, base, n - k0 + 1.0)), kept(select(above, k0 - n, k0 + 1.0))));
  R general = select(above, between * sine_pi(k0 - n) * (1 / kPi), 1.0 / (base * between));
  // A whole k below 0 makes a pole below the fraction.
  auto none = (k0 == floor(k0)) & (k0 < 0.0);
  R y = select(few, product, select(none, number(n, 0), general));
  return select((n < 0.0) & (n == floor(n)), not_a_number_like(n), select(nan_in(n) | nan_in(k0), n + k0, y));
}

}  // namespace

double betaln(double a, double b) { return log_beta_of(a, b); }
double beta(double a, double b) { return beta_of(a, b); }
double binom(double n, double k) { return binomial(n, k); }
double gammainc(double a, double x) { return gammainc_of(a, x); }
double gammaincc(double a, double x) { return gammaincc_of(a, x); }
double gammainc_slope(double a, double x) { return gammainc_slope_of(a, x); }
double log_gamma_sample_slope(double a, double log_x) { return log_gamma_sample_slope_of(a, log_x); }
double betainc(double a, double b, double x) { return betainc_of(a, b, x); }

Expr betaln(Expr a, Expr b) { return in_double(a, b, log_beta_of<Expr>); }
Expr beta(Expr a, Expr b) { return in_double(a, b, beta_of<Expr>); }
Expr binom(Expr n, Expr k) { return in_double(n, k, binomial<Expr>); }
Expr gammainc(Expr a, Expr x) { return in_double(a, x, gammainc_of<Expr>); }
Expr gammaincc(Expr a, Expr x) { return in_double(a, x, gammaincc_of<Expr>); }
Expr gammainc_slope(Expr a, Expr x) { return in_double(a, x, gammainc_slope_of<Expr>); }
Expr log_gamma_sample_slope(Expr a, Expr log_x) {
  return in_double(a, log_x, log_gamma_sample_slope_of<Expr>);
}
Expr betainc(Expr a, Expr b, Expr x) { return in_double(a, b, x, betainc_of<Expr>); }

}  // namespace ig::loop::special
