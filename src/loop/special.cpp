// The special functions of one formula each (special_formulas.h), for both kinds of number.
#include "loop/special.h"

#include "loop/special_formulas.h"
#include "loop/special_wide.h"

namespace ig::loop::special {
namespace {

template <typename R>
R normal_quantile(R p) {
  return erfc_inverse(2.0 * p) * -kRootTwo + 0.0;  // 0 of one half, not -0
}

template <typename R>
R entropy(R x) {
  R edge = select(x == 0.0, number(x, 0), number(x, -kInfinity));
  R own = -(x * log(select(x > 0.0, x, number(x, 1))));
  return select(nan_in(x), x, select(x > 0.0, own, edge));
}

// 0 times what is not NaN is 0.
template <typename R>
R times_log(R x, R y, R log_of_y) {
  return select((x == 0.0) & no(nan_in(y)), number(x, 0), x * log_of_y);
}

// Bessel's functions of float32, which shorter polynomials serve.
Expr i0e_single(Expr x) {
  return bessel_i0e_by(x, coefficients::kBesselI0NearSingle, coefficients::kBesselI0FarSingle);
}
Expr i1e_single(Expr x) {
  return bessel_i1e_by(x, coefficients::kBesselI1NearSingle, coefficients::kBesselI1FarSingle);
}
Expr i0_single(Expr x) { return bessel_i0_from(x, i0e_single(x)); }
Expr i1_single(Expr x) { return bessel_i1_from(x, i1e_single(x)); }

}  // namespace

double gamma(double x) { return gamma_of(x); }
double gamma_sign(double x) { return gamma_sign_of(x); }
double erfcx(double x) { return erfcx_of(x); }
double erfc_inv(double y) { return erfc_inverse(y); }
double ndtr(double x) { return normal_cdf(x); }
double log_ndtr(double x) { return log_normal_cdf(x); }
double ndtri(double p) { return normal_quantile(p); }
double logit(double p) { return logit_of(p); }
double entr(double x) { return entropy(x); }
double bessel_i0(double x) { return bessel_i0_of(x); }
double bessel_i0e(double x) { return bessel_i0e_of(x); }
double bessel_i1(double x) { return bessel_i1_of(x); }
double bessel_i1e(double x) { return bessel_i1e_of(x); }
double bessel_j0(double x) { return bessel_j0_of(x); }
double bessel_j1(double x) { return bessel_j1_of(x); }
double exp1(double x) { return exp1_of(x); }
double expi(double x) { return expi_of(x); }
double xlogy(double x, double y) { return times_log(x, y, log(y)); }
double xlog1py(double x, double y) { return times_log(x, y, log1p(y)); }
double rel_entr(double x, double y) { return relative_entropy(x, y); }
double kl_div(double x, double y) { return divergence(x, y); }
double zeta(double s, double q) { return zeta_of(s, q); }

Expr gamma(Expr x) { return in_double(x, gamma_of<Expr>); }
Expr gamma_sign(Expr x) { return gamma_sign_of(x); }
Expr erfcx(Expr x) { return in_double(x, erfcx_of<Expr>); }
Expr erfc_inv(Expr y) { return in_double(y, erfc_inverse<Expr>); }
Expr ndtr(Expr x) { return math::single(x) ? math::ndtr32(x) : in_double(x, normal_cdf<Expr>); }
Expr log_ndtr(Expr x) { return math::single(x) ? math::log_ndtr32(x) : in_double(x, log_normal_cdf<Expr>); }
Expr ndtri(Expr p) { return math::single(p) ? math::ndtri32(p) : in_double(p, normal_quantile<Expr>); }
Expr logit(Expr p) { return math::single(p) ? math::logit32(p) : in_double(p, logit_of<Expr>); }
Expr entr(Expr x) { return entropy(x); }
Expr bessel_i0(Expr x) { return in_double(x, math::single(x) ? i0_single : bessel_i0_of<Expr>); }
Expr bessel_i0e(Expr x) { return in_double(x, math::single(x) ? i0e_single : bessel_i0e_of<Expr>); }
Expr bessel_i1(Expr x) { return in_double(x, math::single(x) ? i1_single : bessel_i1_of<Expr>); }
Expr bessel_i1e(Expr x) { return in_double(x, math::single(x) ? i1e_single : bessel_i1e_of<Expr>); }
Expr bessel_j0(Expr x) { return in_double(x, bessel_j0_of<Expr>); }
Expr bessel_j1(Expr x) { return in_double(x, bessel_j1_of<Expr>); }
Expr exp1(Expr x) { return in_double(x, exp1_of<Expr>); }
Expr expi(Expr x) { return in_double(x, expi_of<Expr>); }
Expr xlogy(Expr x, Expr y) { return times_log(x, y, log(y)); }
Expr xlog1py(Expr x, Expr y) { return times_log(x, y, log1p(y)); }
Expr rel_entr(Expr x, Expr y) {
  return math::single(x) ? math::rel_entr32(x, y) : in_double(x, y, relative_entropy<Expr>);
}
Expr kl_div(Expr x, Expr y) { return in_double(x, y, divergence<Expr>); }
Expr zeta(Expr s, Expr q) { return in_double(s, q, zeta_of<Expr>); }

}  // namespace ig::loop::special
