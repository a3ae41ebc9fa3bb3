// The special functions, each for a number (the definition) and for a loop expression of F32 or F64 (the
// code, in double and rounded once). docs/special.md has their measured errors.
#pragma once

#include "loop/loop.h"

namespace ig::loop::special {

double gamma(double x);
double gamma_sign(double x);
double erfcx(double x);
double erfc_inv(double y);
double ndtr(double x);
double log_ndtr(double x);
double ndtri(double p);
double logit(double p);
double entr(double x);
double bessel_i0(double x);
double bessel_i0e(double x);
double bessel_i1(double x);
double bessel_i1e(double x);
double bessel_j0(double x);
double bessel_j1(double x);
double exp1(double x);
double expi(double x);
double xlogy(double x, double y);
double xlog1py(double x, double y);
double rel_entr(double x, double y);
double kl_div(double x, double y);
double zeta(double s, double q);
double betaln(double a, double b);
double beta(double a, double b);
double binom(double n, double k);
double gammainc(double a, double x);
double gammaincc(double a, double x);
double gammainc_slope(double a, double x);              // dP/da
double log_gamma_sample_slope(double a, double log_x);  // of log(x) by a, where P(a, x) stays
double betainc(double a, double b, double x);

Expr gamma(Expr x);
Expr gamma_sign(Expr x);
Expr erfcx(Expr x);
Expr erfc_inv(Expr y);
Expr ndtr(Expr x);
Expr log_ndtr(Expr x);
Expr ndtri(Expr p);
Expr logit(Expr p);
Expr entr(Expr x);
Expr bessel_i0(Expr x);
Expr bessel_i0e(Expr x);
Expr bessel_i1(Expr x);
Expr bessel_i1e(Expr x);
Expr bessel_j0(Expr x);
Expr bessel_j1(Expr x);
Expr exp1(Expr x);
Expr expi(Expr x);
Expr xlogy(Expr x, Expr y);
Expr xlog1py(Expr x, Expr y);
Expr rel_entr(Expr x, Expr y);
Expr kl_div(Expr x, Expr y);
Expr zeta(Expr s, Expr q);
Expr betaln(Expr a, Expr b);
Expr beta(Expr a, Expr b);
Expr binom(Expr n, Expr k);
Expr gammainc(Expr a, Expr x);
Expr gammaincc(Expr a, Expr x);
Expr gammainc_slope(Expr a, Expr x);
Expr log_gamma_sample_slope(Expr a, Expr log_x);
Expr betainc(Expr a, Expr b, Expr x);

}  // namespace ig::loop::special
