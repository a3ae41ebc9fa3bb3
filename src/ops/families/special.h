// Reference versions, in double, of the special functions that the C++ library lacks or makes with global state.
#pragma once

namespace ig::ops::special {

double erf_inv(double x);
double log_gamma(double x);
double digamma(double x);

}  // namespace ig::ops::special
