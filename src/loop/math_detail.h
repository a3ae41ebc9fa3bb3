// Parts that the vector maths shares: polynomials, bits, and pairs of numbers that carry more digits than
// one. Written without relying on a fused multiply-add where exactness matters, so that a target without one
// is as right.
#pragma once

#include <cmath>
#include <limits>
#include <span>

#include "loop/loop.h"
#include "loop/math_coefficients.h"

namespace ig::loop::math {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kLn2High = 6.93147180369123816490e-01;  // 32 bits, so n * kLn2High is exact
inline constexpr double kLn2Low = 1.90821492927058770002e-10;
inline constexpr double kPi = 3.14159265358979311600e+00, kPiLow = 1.22464679914735317720e-16;

inline Expr number(Expr like, double value) { return like.builder().constant(like.type(), value); }
inline Expr not_a_number(Expr like) { return number(like, std::numeric_limits<double>::quiet_NaN()); }
inline Expr bits(Expr like, uint64_t value) { return like.builder().constant_bits(like.type(), value); }
inline bool single(Expr x) { return x.type() == DType::F32; }
inline DType word_of(Expr x) { return single(x) ? DType::I32 : DType::I64; }
inline Expr to_bits(Expr x) { return bitcast(x, word_of(x)); }
inline Expr from_bits(Expr x) { return bitcast(x, x.type() == DType::I32 ? DType::F32 : DType::F64); }
inline uint64_t sign_bit(Expr x) { return single(x) ? 0x80000000u : 0x8000000000000000u; }
inline Expr with_sign_of(Expr magnitude, Expr sign) {  // magnitude is not negative
  Expr word = to_bits(sign);
  return from_bits(to_bits(magnitude) | (word & bits(word, sign_bit(sign))));
}
inline Expr is_nan(Expr x) { return x != x; }
inline Expr at_most(Expr x, double high) { return select(x > high, number(x, high), x); }  // NaN stays

// The round number nearest to x * factor, as a float and in the low bits of a word, there with `bias` added:
// adding 1.5 * 2^52 (2^23) rounds x there. The product is not rounded before. With `fraction` bits behind the
// point the number is the nearest multiple of 2^-fraction, and the word counts in those.
struct Rounded {
  Expr value, word;
};
inline Rounded to_nearest(Expr x, double factor, double bias = 0, int fraction = 0) {
  double magic = std::ldexp(1.5, (single(x) ? 23 : 52) - fraction) + bias;
  Expr shifted = factor == 1 ? x + magic : fma(x, number(x, factor), number(x, magic));
  return {shifted - magic, to_bits(shifted)};
}

template <typename T, size_t N>
Expr polynomial(Expr x, const T (&c)[N]) {
  Expr sum = number(x, c[N - 1]);
  for (size_t i = N - 1; i-- > 0;) sum = fma(sum, x, number(x, c[i]));
  return sum;
}

// The same as two, of the even powers and the odd, since each step waits for the one before it.
template <typename T, size_t N>
Expr polynomial_in_two(Expr x, const T (&c)[N]) {
  Expr square = x * x;
  auto every_other = [&](size_t last) {
    Expr sum = number(x, c[last]);
    for (size_t i = last; i >= 2;) sum = fma(sum, square, number(x, c[i -= 2]));
    return sum;
  };
  return fma(every_other(N / 2 * 2 - 1), x, every_other((N - 1) / 2 * 2));
}

// The polynomial of each lane's piece, whose coefficients the tables from `first` on hold, lowest first.
template <size_t N>
Expr polynomial_of_piece(const Table (&tables)[N], size_t first, Expr piece, Expr x) {
  Expr sum = lookup(tables[N - 1], piece);
  for (size_t i = N - 1; i-- > first;) sum = fma(sum, x, lookup(tables[i], piece));
  return sum;
}

// high + low, |low| at most half a unit of high's last place.
struct Pair {
  Expr high, low;
};
inline Pair fast_two_sum(Expr a, Expr b) {  // |a| >= |b|, or a is zero
  Expr s = a + b;
  return {s, b - (s - a)};
}
inline Pair two_sum(Expr a, Expr b) {
  Expr s = a + b;
  Expr part = s - a;
  return {s, (a - (s - part)) + (b - part)};
}
inline Expr upper_half(Expr x) {  // the first 26 bits of an F64, 12 of an F32
  Expr word = to_bits(x);
  return from_bits(word & bits(word, single(x) ? 0xfffff000u : ~uint64_t{0} << 27));
}
inline Pair two_product(Expr a, Expr b) {
  Expr p = a * b;
  return {p, product_rest(a, b, p)};
}

Expr exp_of(Expr high, Expr low);                 // e^(high + low) of F64; low may be empty
Pair log_pair(Expr x);                            // log of a positive, finite F64, with about 20 digits
Expr log_of(Expr x, Expr correction);             // log(x) + correction (may be empty) of F64, edges as log's
Expr log_ordinary(Expr x, Expr correction = {});  // the same of a positive, finite x

Pair log32_up_to_one(Expr x);  // log of a normal F32, 0 < x <= 1, and what it was rounded by

Expr exp_of_nonpositive(Expr x);  // the bits of exp, where x <= 0 or NaN; fewer instructions
Expr log1p_up_to_one(Expr x);     // the bits of log1p, where 0 <= x <= 1 or NaN; fewer instructions
Expr logaddexp(Expr x, Expr y);
Expr exp32(Expr x);          // of F32
Expr exp32_bounded(Expr x);  // where |x| < 87: one scale, no edges
// factor e^(high + low) of F32 to three quarters of the last place, where high <= 0.
Expr times_exp32(Pair factor, Pair x);
// log(2^octaves u) for a sum u of two F32, of whose rest the first order is taken; octaves may be empty.
Expr log_of_sum32(Pair u, Expr octaves = {});
// Of F32 (ops of the same names say what they are):
Expr logit32(Expr p);
Expr ndtr32(Expr x);
Expr log_ndtr32(Expr x);
Expr ndtri32(Expr p);
Expr rel_entr32(Expr x, Expr y);
Expr sin64(Expr x);
Expr cos64(Expr x);

}  // namespace ig::loop::math
