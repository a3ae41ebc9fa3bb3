// Special functions in double; see special.h.
#include "ops/families/special.h"

#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>

namespace ig::ops::special {

// Giles's approximation ("Approximating the erfinv function", 2010) in single precision, then Newton's steps: on erf
// in the middle, on the logarithm of erfc in the tails, where erf is flat.
double erf_inv(double x) {
  if (std::isnan(x) || std::abs(x) > 1) return std::numeric_limits<double>::quiet_NaN();
  if (std::abs(x) == 1) return std::copysign(std::numeric_limits<double>::infinity(), x);
  if (x == 0) return x;
  double p = std::abs(x), w = -std::log1p(-p) - std::log1p(p), y;
  if (w < 5) {
    w -= 2.5;
    y = 2.81022636e-08;
    for (double c : {3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
                     0.246640727, 1.50140941})
      y = y * w + c;
  } else {
    w = std::sqrt(w) - 3;
    y = -0.000200214257;
    for (double c : {0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
                     1.00167406, 2.83297682})
      y = y * w + c;
  }
  y *= p;
  const double slope = 2 * std::numbers::inv_sqrtpi;
  for (int step = 0; step < 3; ++step) {
    double density = slope * std::exp(-y * y);
    if (p < 0.5) y -= (std::erf(y) - p) / density;
    else y += (std::erfc(y) - (1 - p)) / density;  // 1 - p is exact here
  }
  return std::copysign(y, x);
}

double log_gamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

double digamma(double x) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (std::isnan(x) || x == -std::numeric_limits<double>::infinity()) return nan;
  if (x <= 0) {
    if (x == std::floor(x)) return nan;
    double fraction = x - std::floor(x);
    return digamma(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * fraction);
  }
  double sum = 0;
  for (; x < 10; x += 1) sum -= 1 / x;
  double r = 1 / (x * x);  // the asymptotic series, by Bernoulli's numbers
  double series = r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r * (1.0 / 132 - r * (691.0 / 32760 - r / 12))))));
  return sum + std::log(x) - 0.5 / x - series;
}

}  // namespace ig::ops::special
