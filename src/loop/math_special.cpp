// Vector maths, part three: the error function and its kin, and the logarithm of the gamma function and its
// slope.
#include <iterator>

#include "loop/math_detail.h"

namespace ig::loop::math {
namespace {

using namespace coefficients;

Expr by_f64(Expr x, Expr (*f)(Expr)) {
  return single(x) ? convert(f(convert(x, DType::F64)), DType::F32) : f(x);
}

Expr erf32(Expr x) {
  Expr a = abs(x);
  Expr bounded = at_most(a, kErfLimit);
  Rounded n = to_nearest(bounded, 1 / kErfStep);
  Expr d = fma(n.value, number(x, -kErfStep), bounded);  // exact: the step has nine bits, the number three
  Expr rest = polynomial_of_piece(kErfPieces, 0, n.word, d);
  return with_sign_of(at_most(a, kErfKink) + rest, x);
}

// e^(a^2) erfc(a), 0 <= a <= kErfcxLimit, which goes down from 1 to 1 / (a sqrt pi), piece by piece. What a
// is rounded by may be given.
Pair erfcx32(Expr a, Expr low = {}) {
  Expr octaves = to_bits(fma(a, number(a, kErfcxScale), number(a, 1)));
  Expr piece = shift_right_logical(octaves, bits(octaves, 22));
  Expr d = a - lookup(kErfcxPieces[0], piece);
  if (low) d = d + low;
  return fast_two_sum(lookup(kErfcxPieces[1], piece), d * polynomial_of_piece(kErfcxPieces, 2, piece, d));
}

// (a + low)^2
Pair square_of(Expr a, Expr low = {}) {
  Pair square = two_product(a, a);
  if (low) square.low = fma(a + a, low, square.low);
  return square;
}

// What x is rounded by, if that is given, is to have the sign that it has for |x|.
Expr erfc32(Expr x, Expr low = {}) {
  Expr a = at_most(abs(x), kErfcxLimit);
  Pair square = square_of(a, low);
  Expr high = select(abs(x) > kErfcxLimit, number(x, -2 * kErfcxLimit * kErfcxLimit), -square.high);
  Expr right = times_exp32(erfcx32(a, low), {high, -square.low});
  return select(x < 0.0, 2.0 - right, right);
}

// erfc of x >= 1/2: e^-x^2 times a smooth function.
Expr erfc_right(Expr a) {
  Expr x = select(a > 28.0, number(a, 28), a);
  Expr t = (x - 3.75) / (x + 3.75);
  Pair square = two_product(x, x);
  return exp_of(-square.high, -square.low) * (polynomial(t, kErfcx) / (x * 2.0 + 1.0));
}

Expr erf_64(Expr x) {
  Expr a = abs(x);
  Expr small = x * polynomial(x * x, kErf);
  Expr bounded = select(a < 1.0, number(x, 1), select(a > 6.0, number(x, 6), a));
  Expr large = 1.0 - erfc_right(bounded);
  return select(a < 1.0, small, select(is_nan(x), x, with_sign_of(large, x)));
}

Expr erfc_64(Expr x) {
  Expr a = abs(x);
  Expr small = 1.0 - x * polynomial(x * x, kErf);
  Expr right = erfc_right(select(a < 0.5, number(x, 0.5), a));
  return select(a < 0.5, small, select(is_nan(x), x, select(x < 0.0, 2.0 - right, right)));
}

// erf_inv(x) / x, of the logarithm of 1 - x^2: in v = sqrt(-log(1 - x^2)) it is smooth. What v is rounded by
// is kept.
Pair erf_inv_quotient(Pair log) {
  Expr w = abs(log.high), v = sqrt(w);
  Expr v_low = (fma(-v, v, w) - log.low) * (number(w, 0.5) / select(v > 0.0, v, number(w, 1)));
  Rounded n = to_nearest(v - kErfInvStep / 2, 1 / kErfInvStep);
  Expr d = (v - lookup(kErfInvPieces[0], n.word)) + v_low;
  Expr slope = polynomial_of_piece(kErfInvPieces, 2, n.word, d);
  return fast_two_sum(lookup(kErfInvPieces[1], n.word), slope * d);
}

Expr erf_inv_32(Expr x) {
  Expr a = abs(x), inside = select(a < 1.0, a, number(x, 0));
  Pair quotient = erf_inv_quotient(log32_up_to_one((1.0 - inside) * (inside + 1.0)));
  Expr edge = select(a == 1.0, number(x, kInfinity), not_a_number(x));
  return with_sign_of(select(a < 1.0, fma(a, quotient.high, a * quotient.low), edge), x);
}

// Up to one half a series in x^2; then, in w = -log(1 - x^2), the quotient erf_inv(x) / x is smooth; towards
// 1 in the root of w.
Expr erf_inv_64(Expr x) {
  Expr a = abs(x);
  Expr inside = select(a < 1.0, a, number(x, 0));
  Expr w = -log_of((1.0 - inside) * (inside + 1.0), {});
  Expr root = sqrt(w);
  Expr p = select(w < 6.25, polynomial_in_two(w - 3.125, kErfInvCentral),
                  select(w < 16.0, polynomial_in_two(root - 3.25, kErfInvMiddle),
                         polynomial_in_two(root - 5.0, kErfInvTail)));
  p = select(a < 0.5, polynomial_in_two(x * x, kErfInvSmall), p);
  Expr edge = select(a == 1.0, number(x, kInfinity), not_a_number(x));
  return select(a < 1.0, x * p, with_sign_of(edge, x));
}

// Sums of Bernoulli numbers over powers of 1 / z^2, for z >= 10.
constexpr double kLgammaTail[] = {8.3333333333333333e-2,  -2.7777777777777778e-3, 7.9365079365079365e-4,
                                  -5.9523809523809524e-4, 8.4175084175084175e-4,  -1.9175269175269175e-3,
                                  6.4102564102564103e-3,  -2.9550653594771242e-2};
constexpr double kDigammaTail[] = {8.3333333333333333e-2,  -8.3333333333333333e-3, 3.9682539682539683e-3,
                                   -4.1666666666666667e-3, 7.5757575757575758e-3,  -2.1092796092796093e-2,
                                   8.3333333333333333e-2,  -4.4325980392156863e-1};

// sin(pi x) and cos(pi x) up to a sign that both share, of x <= 0: by the distance to the nearest integer,
// exact.
Expr to_nearest_integer(Expr x) { return x - round_even(x); }

// log(gamma(x)) of x > 0, by recurrence up to 10 and Stirling's series, the large terms as pairs.
Pair lgamma_right(Expr x) {
  Expr z = x, low = number(x, 0), product = number(x, 1), product_low = number(x, 0);
  for (int i = 0; i < 10; ++i) {
    Expr below = z < 10.0;
    Pair next = two_product(product, z);
    Expr next_low = next.low + product_low * z + product * low;
    product = select(below, next.high, product);
    product_low = select(below, next_low, product_low);
    Pair up = two_sum(z, number(x, 1));
    low = select(below, low + up.low, low);
    z = select(below, up.high, z);
  }
  Expr r = 1.0 / z;
  Expr tail = r * polynomial(r * r, kLgammaTail);
  Pair l = log_pair(select(z < kInfinity, z, number(x, 1)));
  Pair d = log_pair(product);
  Expr shifted = z - 0.5;
  // (z - 1/2) log z - z + log(2 pi)/2 + tail - log(product)
  Pair a = two_product(shifted, l.high);
  Expr rest = a.low + shifted * l.low + low * (l.high - 0.5 * r) - d.low - product_low / product;
  Pair b = two_sum(a.high, -z);
  Pair c = two_sum(b.high, number(x, 9.18938533204672669541e-01));
  Pair e = two_sum(c.high, -d.high);
  return fast_two_sum(e.high, e.low + c.low + b.low + (rest + tail));
}

// What float32 needs, around the zeros left of 0 too: under 6 lgamma(w), 1 <= w <= 3, by its quotient with
// its two zeros there, and the logarithm of what is between w and the number; from 6 on Stirling's series as
// it stands. One logarithm serves both, and one more the reflection.
Expr lgamma_32(Expr x) {
  Expr a = abs(x), left = ~(x > 0.0), near = a < 6.0, below = a < 1.0, between = a < 3.0;
  Expr one = a - 1.0, two = a - 2.0, three = a - 3.0;
  Expr steps = select(a < 4.0, one, select(a < 5.0, one * two, one * two * three));
  Expr w = select(below, a + 1.0, select(between, a, select(a < 4.0, one, select(a < 5.0, two, three))));
  w = select(near, w, number(x, 3));
  Expr of_log = select(near, select(below, a, select(between, number(x, 1), steps)), a);
  Expr l = log_ordinary(select((of_log > 0.0) & (of_log < kInfinity), of_log, number(x, 1)));
  Expr u = w - 2.0;
  Expr small = fma(select(below, number(x, -1), number(x, 1)), l, u * (w - 1.0) * polynomial(u, kLgamma));
  Expr z = select(near, number(x, 6), a), r = 1.0 / z;
  Expr large = (z - 0.5) * l - z + (r * polynomial(r * r, kLgammaTail) + 9.18938533204672669541e-01);
  Expr right = select(near, small, large);
  Expr d = to_nearest_integer(a);
  Expr s = abs(sin64(d * kPi));
  Expr ordinary = left & (s > 0.0);
  Expr reflection = select_lazy(
      left, log_ordinary(kPi / (select(ordinary, a, number(x, 1)) * select(ordinary, s, number(x, kPi)))),
      number(x, 0));
  Expr y = select(left, select(d == 0.0, number(x, kInfinity), reflection - right), right);
  y = select((x == 1.0) | (x == 2.0), number(x, 0), y);  // not -0
  return select(is_nan(x), x, select(a == kInfinity, number(x, kInfinity), y));
}

Expr lgamma_64(Expr x) {
  Expr positive = x > 0.0;
  Expr a = abs(x);
  Expr left = ~positive;
  // gamma(x) gamma(-x) = -pi / (x sin(pi x))
  Expr scaled = select(a < 0x1p-60, number(x, 1), select(a < 1e300, a, number(x, 1)));
  Pair right = lgamma_right(scaled);
  Expr d = to_nearest_integer(a);
  Expr s = abs(sin64(d * kPi));
  Pair reflected = log_pair(select(s > 0.0, kPi / (scaled * select(s > 0.0, s, number(x, 1))), number(x, 1)));
  Pair sum = two_sum(reflected.high, -right.high);
  Expr y = select(left, sum.high + (sum.low + (reflected.low - right.low)), right.high + right.low);
  Expr pole = left & (d == 0.0);
  y = select(pole, number(x, kInfinity), y);
  Expr small = (a < 0x1p-60) & (a > 0.0);
  y = select_rare(small, -log_of(select(small, a, number(x, 1)), {}), y);
  // Above 1e300 the series' terms overflow one by one, though not their sum.
  Expr huge = a >= 1e300;
  Expr plain = select(huge, a, number(x, 2));
  y = select_rare(huge & positive, plain * (log_of(plain, {}) - 1.0), y);
  // Exact at the zeros: a trace of either sign would be rounded to -0 in a narrower type.
  y = select((x == 1.0) | (x == 2.0), number(x, 0), y);
  return select(is_nan(x), x, select(a == kInfinity, number(x, kInfinity), y));
}

Expr digamma_64(Expr x) {
  Expr left = x < 0.0;
  // digamma(x) = digamma(1 - x) - pi / tan(pi x)
  Expr z = select(left, 1.0 - x, x), sum = number(x, 0);
  for (int i = 0; i < 10; ++i) {
    Expr below = z < 10.0;
    sum = select(below, sum + 1.0 / z, sum);
    z = select(below, z + 1.0, z);
  }
  Expr r = 1.0 / z;
  Expr z2 = r * r;
  Expr y = (log_of(z, {}) - (0.5 * r + z2 * polynomial(z2, kDigammaTail))) - sum;
  Expr d = to_nearest_integer(select(left, x, number(x, 0.25)));
  Pair angle = two_product(d, number(x, kPi));
  Expr sine = sin64(angle.high);
  Expr slope = (angle.low + d * kPiLow) / select(abs(d) > 1e-100, sine * sine, number(x, 1));
  Expr reflection = select_lazy(left, kPi * (cos64(angle.high) / sine - slope), number(x, 0));
  y = select(left, select(d == 0.0, not_a_number(x), y - reflection), y);
  return select(x == 0.0, with_sign_of(number(x, kInfinity), -x), select(x == kInfinity, x, y));
}

}  // namespace

namespace {

constexpr double kHalfRoot = 0.70710678118654752, kUpperHalfRoot = static_cast<float>(kHalfRoot);

Pair by_root_of_two(Expr a) {  // a >= 0 times sqrt(1/2)
  Pair out = two_product(a, number(a, kUpperHalfRoot));
  return {out.high, fma(a, number(a, kHalfRoot - kUpperHalfRoot), out.low)};
}

}  // namespace

Expr ndtr32(Expr x) {
  Pair a = by_root_of_two(abs(x));
  return erfc32(with_sign_of(a.high, -x), select(a.high < kErfcxLimit, a.low, number(x, 0))) * 0.5;
}

// Right of 0 log(1 - Q), Q being the other tail; left of it the logarithm of what the tail is times
// e^(x^2/2), less x^2/2. One logarithm serves both.
Expr log_ndtr32(Expr x) {
  constexpr double kFar = 1e6;  // from where on only x^2/2 counts
  Expr bounded = at_most(abs(x), kFar), far = bounded > kErfcxLimit * 1.4142;
  Pair a = by_root_of_two(bounded);
  Expr near = select(far, number(x, 0), a.high), low = select(far, number(x, 0), a.low);
  Pair scaled = erfcx32(near, low), root_square = square_of(near, low);
  Expr inverse = 1.0 / select(far, bounded, number(x, 1)), t = inverse * inverse;
  // From the limit on sqrt(2/pi) / |x| times the first terms of the series in 1 / x^2.
  constexpr double kSeries[] = {1, -1, 3, -15};
  Expr tail = inverse * 0.79788456080286536 * polynomial(t, kSeries);
  Expr other = times_exp32(scaled, {-root_square.high, -root_square.low}) * -0.5;
  Expr right = x > 0.0;
  Pair one_less = fast_two_sum(number(x, 1), select(far, number(x, 0), other));
  Pair of_log{select(right, one_less.high, select(far, tail, scaled.high) * 0.5),
              select(right, one_less.low, select(far, number(x, 0), scaled.low) * 0.5)};
  Expr log = log_of_sum32(of_log);
  Pair square = square_of(bounded);
  Pair sum = two_sum(square.high * -0.5, log);
  Expr left = sum.high + fma(square.low, number(x, -0.5), sum.low);
  left = select(abs(x) < kFar, left, x * -0.5 * x);
  return select(is_nan(x), x, select(right, -abs(log), left));
}

// -ndtri(p) of p < kNdtriFar: v = sqrt(-log(4 p)) times a polynomial in 1 / v, of which the part up to 1 is
// v itself. What v is rounded by is kept.
Expr ndtri_far(Expr p) {
  constexpr double kLn2Times24 = 16.635532333438686, kUpper = static_cast<float>(kLn2Times24);
  Pair log = log32_up_to_one(p * 0x1p26);  // -24 log(2) less than that of 4 p, which may be denormal
  Pair w = two_sum(number(p, kUpper), -log.high);
  Expr v = sqrt(w.high), inverse = 1.0 / v;
  Expr low = (fma(-v, v, w.high) + (w.low + (number(p, kLn2Times24 - kUpper) - log.low))) * (inverse * 0.5);
  Expr more = polynomial(inverse - kNdtriFarPoint, kNdtriFarF32);
  return v + fma(v, more, fma(low, more, low));
}

// By the quotient of erf_inv, of 1 - 2 s, s being the smaller of p and 1 - p; where that table ends, by one
// of its own. Both are smooth in v, the root of a logarithm.
Expr ndtri32(Expr p) {
  constexpr double kRoot = 1.41421356237309505, kUpperRoot = static_cast<float>(kRoot);
  Expr inside = (p > 0.0) & (p < 1.0), right = p >= 0.5;
  Expr tail = select(right, 1.0 - p, p), s = select(inside, tail, number(p, 0.5));
  Expr far = s < kNdtriFar, near = select(far, number(p, 0.5), s);
  Pair t = fast_two_sum(number(p, 1), near * -2.0);
  Pair quotient = erf_inv_quotient(log32_up_to_one(near * 4.0 * (1.0 - near)));
  Expr high = quotient.high * kUpperRoot;
  Expr low = product_rest(quotient.high, number(p, kUpperRoot), high) +
             fma(quotient.high, number(p, kRoot - kUpperRoot), quotient.low * kRoot);
  Expr size = fma(high, t.high, fma(high, t.low, low * t.high));
  size = select_rare(far, ndtri_far(select(far, s, number(p, 0x1p-30))), size);
  Expr edge = select(p == 1.0, number(p, kInfinity), not_a_number(p));
  edge = select(p == 0.0, number(p, -kInfinity), edge);
  return select(inside, select(right, size, -size), edge);
}

Expr erf(Expr x) { return single(x) ? erf32(x) : erf_64(x); }
Expr erfc(Expr x) { return single(x) ? erfc32(x) : erfc_64(x); }
Expr erf_inv(Expr x) { return single(x) ? erf_inv_32(x) : erf_inv_64(x); }
Expr lgamma(Expr x) { return by_f64(x, single(x) ? lgamma_32 : lgamma_64); }
Expr digamma(Expr x) { return by_f64(x, digamma_64); }

}  // namespace ig::loop::math
