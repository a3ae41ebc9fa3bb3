// What the definitions of complex ops share: arithmetic on std::complex as NumPy has it (the operators of the
// standard library recover infinities by C's Annex G, and GCC may take other formulas), each operation
// rounded to the type of the parts.
#pragma once

#include <cmath>
#include <complex>
#include <limits>

#include "support/dtype.h"

namespace ig::ops {

using Complex = std::complex<double>;

template <typename T>
std::complex<T> complex_product(std::complex<T> x, std::complex<T> y) {
  T a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
  return {a * c - b * d, a * d + b * c};
}

// Smith's method.
template <typename T>
std::complex<T> complex_quotient(std::complex<T> x, std::complex<T> y) {
  T a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
  if (std::fabs(c) >= std::fabs(d)) {
    if (c == 0 && d == 0) return {a / std::fabs(c), b / std::fabs(c)};
    T ratio = d / c, scale = 1 / (c + d * ratio);
    return {(a + b * ratio) * scale, (b - a * ratio) * scale};
  }
  T ratio = c / d, scale = 1 / (d + c * ratio);
  return {(b + a * ratio) * scale, (b * ratio - a) * scale};
}

template <typename T>
std::complex<T> complex_reciprocal(std::complex<T> x) {
  T c = x.real(), d = x.imag();
  if (std::fabs(d) <= std::fabs(c)) {
    T ratio = d / c, scale = c + d * ratio;
    return {1 / scale, -(ratio / scale)};
  }
  T ratio = c / d, scale = d + c * ratio;
  return {ratio / scale, -(1 / scale)};
}

}  // namespace ig::ops
