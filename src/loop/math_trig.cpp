// Vector maths, part two: trigonometric functions and their inverses. Arguments up to about a million are
// reduced by pi/2 in three parts; the few beyond go lane by lane through the digits of 2/pi (Payne and
// Hanek), exact for all.
#include "loop/math_detail.h"

namespace ig::loop::math {
namespace {

using namespace coefficients;

constexpr double kTwoOverPiValue = 6.36619772367581382433e-01;
constexpr double kFar = 1.6e6;  // beyond, a multiple of pi/2 has too many digits
constexpr double kHalfPi = 1.57079632679489655800e+00, kHalfPiLow = 6.12323399573676603587e-17;

// The argument less a multiple of pi/2: `quadrant` times that (modulo 4) and a rest in [-pi/4, pi/4].
struct Reduced {
  Expr quadrant, high, low;
};

Reduced reduce(Expr x) {
  Expr shifted = x * kTwoOverPiValue + 0x1.8p52;
  Expr n = shifted - 0x1.8p52;
  // Parts of 33 bits: their products with n are exact.
  Expr a = x - n * 1.57079632673412561417e+00;
  Expr second = n * 6.07710050630396597660e-11;
  Pair b = two_sum(a, -second);
  Expr third = n * 2.02226624871116645580e-21;
  Pair c = two_sum(b.high, -third);
  Expr low = (b.low + c.low) - n * 8.47842766036889956997e-32;
  Pair r = fast_two_sum(c.high, low);
  return {to_bits(shifted), r.high, r.low};
}

// The product of two 64-bit words, 128 bits of it.
Pair wide_product(Expr a, Expr b) {
  auto c = [&](uint64_t v) { return bits(a, v); };
  Expr low = c(0xffffffffu), shift = c(32);
  Expr al = a & low, ah = shift_right_logical(a, shift), bl = b & low, bh = shift_right_logical(b, shift);
  Expr ll = al * bl, lh = al * bh, hl = ah * bl, hh = ah * bh;
  Expr middle = shift_right_logical(ll, shift) + (lh & low) + (hl & low);
  Expr high = hh + shift_right_logical(lh, shift) + shift_right_logical(hl, shift) +
              shift_right_logical(middle, shift);
  return {high, a * b};
}

// Payne and Hanek: |x| = m 2^e, and of m 2^e 2/pi only the digits below the weight of 4 matter; 192 of them
// leave at least 60 good ones behind any run of zeros that a float64 can meet.
Reduced reduce_huge(Expr x) {
  Expr word = bitcast(abs(x), DType::U64);
  auto c = [&](uint64_t v) { return bits(word, v); };
  Expr m = (word & c(0xfffffffffffffu)) | c(uint64_t{1} << 52);
  Expr position =
      shift_right_logical(word, c(52)) - c(1075 - 62);  // e - 2, in a table with 64 zeros in front
  Expr first = shift_right_logical(position, c(6)), within = position & c(63);
  std::vector<Expr> words;
  for (unsigned long long v : kTwoOverPi) words.push_back(c(v));
  for (int bit = 4; bit >= 0; --bit) {  // take the words from `first` on, by its bits
    Expr taken = (first & c(uint64_t{1} << bit)) != c(0);
    size_t step = size_t{1} << bit, need = step + 3;
    std::vector<Expr> next;
    for (size_t i = 0; i < std::min(need, words.size()); ++i)
      next.push_back(i + step < words.size() ? select(taken, words[i + step], words[i]) : words[i]);
    words = next;
  }
  Expr empty = within == c(0);
  Expr back = select(empty, c(1), c(64) - within);  // a shift by 64 is not defined
  auto window = [&](size_t i) {
    return shift_left(words[i], within) | select(empty, c(0), shift_right_logical(words[i + 1], back));
  };
  Expr w0 = window(0), w1 = window(1), w2 = window(2);
  Pair p1 = wide_product(m, w1), p2 = wide_product(m, w2);
  Expr middle = p1.low + p2.high;
  Expr carry = convert(middle < p1.low, DType::U64);
  Expr top = m * w0 + p1.high + carry;
  // Two bits of quadrant, then the fraction; from one half on it counts back from the next quadrant.
  Expr fraction = shift_left(top, c(2)) | shift_right_logical(middle, c(62));
  Expr rest = shift_left(middle, c(2)) | shift_right_logical(p2.low, c(62));
  Expr over = shift_right_logical(fraction, c(63)) != c(0);
  Expr quadrant = shift_right_logical(top, c(62)) + convert(over, DType::U64);
  Expr rest_back = c(0) - rest;
  Expr fraction_back = ~fraction + convert(rest == c(0), DType::U64);
  fraction = select(over, fraction_back, fraction);
  rest = select(over, rest_back, rest);
  auto real = [](Expr v) { return convert(bitcast(v, DType::I64), DType::F64); };
  Expr head = real(shift_right_logical(fraction, c(11))) * 0x1p-53;
  Expr tail = real(fraction & c(0x7ff)) * 0x1p-64 + real(shift_right_logical(rest, c(11))) * 0x1p-117;
  Pair sum = fast_two_sum(head, tail);
  Pair scaled = two_product(sum.high, number(x, kHalfPi));
  Pair r = fast_two_sum(scaled.high, scaled.low + (sum.high * kHalfPiLow + sum.low * kHalfPi));
  Expr negative = over != (x < 0.0);
  Expr signed_quadrant = bitcast(select(x < 0.0, c(0) - quadrant, quadrant), DType::I64);
  return {signed_quadrant, select(negative, -r.high, r.high), select(negative, -r.low, r.low)};
}

Expr sin_kernel(const Reduced& a) {
  Expr z = a.high * a.high;
  Expr cube = z * a.high;
  return a.high + (cube * polynomial(z, kSin) + a.low * (1.0 - 0.5 * z));
}
Expr cos_kernel(const Reduced& a) {
  Expr z = a.high * a.high;
  Expr half = z * 0.5;
  Expr w = 1.0 - half;
  return w + (((1.0 - w) - half) + (z * z * polynomial(z, kCos) - a.high * a.low));
}

Expr odd(Expr quadrant) { return (quadrant & bits(quadrant, 1)) != bits(quadrant, 0); }
Expr flip(Expr value, Expr quadrant) {  // the sign of every other half turn
  int width = single(value) ? 32 : 64;
  Expr sign = shift_left(quadrant & bits(quadrant, 2), bits(quadrant, static_cast<uint64_t>(width - 2)));
  return from_bits(to_bits(value) ^ sign);
}

Expr sin_of(const Reduced& a) {
  return flip(select(odd(a.quadrant), cos_kernel(a), sin_kernel(a)), a.quadrant);
}
Expr cos_of(const Reduced& a) {
  return flip(select(odd(a.quadrant), sin_kernel(a), cos_kernel(a)), a.quadrant + bits(a.quadrant, 1));
}
Expr tan_of(const Reduced& a) {
  Expr s = sin_kernel(a), c = cos_kernel(a);
  Expr swap = odd(a.quadrant);
  return select(swap, -c, s) / select(swap, s, c);
}

Expr by_reduction(Expr x, Expr (*f)(const Reduced&)) {
  Expr far = (abs(x) > kFar) & (abs(x) < kInfinity);
  Expr common = f(reduce(x));
  return select_rare(far, f(reduce_huge(x)), common);
}

// Float32: five parts of pi/2, the first four of at most 11 bits, so that their products with n < 2^13 are
// exact.
Reduced reduce32(Expr x) {
  Expr shifted = x * kTwoOverPiValue + 0x1.8p23;
  Expr n = shifted - 0x1.8p23;
  Expr a = fma(n, number(x, -1.5703125), x);
  a = fma(n, number(x, -0x1.fap-12), a);
  // What the last two subtractions round off is kept: it would cost a unit of the last place.
  Expr third = n * 0x1.54p-20, fourth = n * 0x1.1080p-30;
  Expr b = a - third;
  Expr r = b - fourth;
  Expr low = fma(n, number(x, -0x1.a308d4p-41), ((a - b) - third) + ((b - r) - fourth));
  return {to_bits(shifted), r, low};
}

// A reduced float32 beyond 8000 would lose digits; those few go through float64.
Expr unless_far(Expr x, Expr common, Expr (*f)(const Reduced&)) {
  Expr far = (abs(x) > 8000.0) & (abs(x) < kInfinity);
  Expr wide = convert(x, DType::F64);
  Expr rare = select_lazy(abs(wide) > kFar, f(reduce_huge(wide)), f(reduce(wide)));
  return select_rare(far, convert(rare, DType::F32), common);
}

Expr circular32(Expr x, bool cosine) {
  Reduced a = reduce32(x);
  Expr r = a.high, z = r * r;
  Expr s = fma(r * z, polynomial(z, kSinF32), a.low) + r;
  Expr c = fma(z * z, polynomial(z, kCosF32), -(r * a.low)) + fma(number(x, -0.5), z, number(x, 1));
  Expr swap = odd(a.quadrant);
  Expr value = cosine ? select(swap, s, c) : select(swap, c, s);
  value = flip(value, cosine ? a.quadrant + bits(a.quadrant, 1) : a.quadrant);
  value = unless_far(x, value, cosine ? cos_of : sin_of);
  return cosine ? value : select(abs(x) < 0x1p-12, x, value);
}

Expr tan32(Expr x) {
  Reduced a = reduce32(x);
  Expr r = a.high, z = r * r;
  Expr t = r + fma(r * z, polynomial(z, kTanF32), fma(a.low, z, a.low));
  Expr swap = odd(a.quadrant);
  Expr value = select(swap, number(x, -1), t) / select(swap, t, number(x, 1));
  return select(abs(x) < 0x1p-12, x, unless_far(x, value, tan_of));
}

// pi/2 as a float, and what that lacks.
constexpr double kHalfPi32 = 0x1.921fb6p0, kHalfPiLow32 = -0x1.777a5cp-25;

// The arctangent of t, 0 <= t <= 1.
Expr atan_up_to_one32(Expr t) {
  Expr z = t * t;
  return fma(t * z, polynomial(z, kAtanF32), t);
}

Expr atan32(Expr x) {
  Expr a = abs(x), steep = a > 1.0;
  Expr y = atan_up_to_one32(select(steep, number(x, 1), a) / select(steep, a, number(x, 1)));
  return with_sign_of(select(steep, kHalfPi32 - (y - kHalfPiLow32), y), x);
}

// The angle of the smaller side over the larger, counted from the axis that is near, whose own angle is a
// multiple of pi/2.
Expr atan2_32(Expr y, Expr x) {
  Expr ay = abs(y), ax = abs(x), steep = ay > ax;
  Expr left = to_bits(x) < bits(to_bits(x), 0);
  Expr top = select(steep, ax, ay), bottom = select(steep, ay, ax);
  Expr t = top / bottom;
  t = select(bottom == 0.0, number(x, 0), select(top == kInfinity, number(x, 1), t));
  Expr angle = atan_up_to_one32(t);
  Expr turns = select(steep, number(x, 1), select(left, number(x, 2), number(x, 0)));
  Expr back =
      from_bits(to_bits(angle) ^ select(steep != left, bits(to_bits(x), sign_bit(x)), bits(to_bits(x), 0)));
  Expr value = turns * kHalfPi32 + (back + turns * kHalfPiLow32);
  return with_sign_of(select(is_nan(x) | is_nan(y), not_a_number(x), value), y);
}

// asin(side) = side + side * tail. The side is a up to 1/2; further out asin(a) is counted from pi/2, less
// twice that of the root of half the distance from one.
struct Arc32 {
  Expr outer, side, tail;
};
Arc32 arc32(Expr a) {
  Expr outer = a > 0.5, z = select(outer, (1.0 - a) * 0.5, a * a);
  return {outer, select(outer, sqrt(z), a), z * polynomial(z, kAsinF32)};
}
// base - (side + side * tail), where the base has a low part.
Expr less_arc32(const Arc32& arc, Expr side, double base, double base_low) {
  Pair first = fast_two_sum(number(side, base), -side);
  return first.high + fma(-side, arc.tail, first.low + base_low);
}

Expr asin32(Expr x) {
  Arc32 arc = arc32(abs(x));
  Expr outer = less_arc32(arc, arc.side + arc.side, kHalfPi32, kHalfPiLow32);
  return with_sign_of(select(arc.outer, outer, fma(arc.side, arc.tail, arc.side)), x);
}

Expr acos32(Expr x) {
  Arc32 arc = arc32(abs(x));
  Expr twice = arc.side + arc.side;
  Expr left = less_arc32(arc, twice, 2 * kHalfPi32, 2 * kHalfPiLow32);
  Expr outer = select(x < 0.0, left, fma(twice, arc.tail, twice));
  return select(arc.outer, outer, less_arc32(arc, x, kHalfPi32, kHalfPiLow32));
}

// asin(v) - v over v, for v^2 = z up to 1/4.
Expr asin_tail(Expr z) { return z * polynomial(z, kAsin); }

// The arctangent of num / den >= 0, as a base angle and a rest (high and low).
Pair atan_ratio(Expr num, Expr den) {
  // Around 0, pi/4 and pi/2, the turning points being tan(pi/8) and its inverse.
  Expr middle = num > den * 0.4142135623730950488, large = num > den * 2.414213562373095049;
  Expr top = select(large, -den, select(middle, num - den, num));
  Expr bottom = select(large, num, select(middle, num + den, den));
  Expr t = top / bottom;
  Expr z = t * t;
  Expr rest = t * z * polynomial_in_two(z, kAtan);
  Expr zero = number(num, 0);
  Expr base = select(large, number(num, kHalfPi), select(middle, number(num, kHalfPi / 2), zero));
  Expr base_low = select(large, number(num, kHalfPiLow), select(middle, number(num, kHalfPiLow / 2), zero));
  Pair sum = fast_two_sum(base, t);
  return {sum.high, sum.low + (base_low + rest)};
}

Expr atan_64(Expr x) {
  Expr a = abs(x);
  Expr far = a > 0x1p60;
  Pair y = atan_ratio(select(far, number(x, 0x1p60), a), number(x, 1));
  Expr value = select(a < 0x1p-27, a, y.high + y.low);
  return select(is_nan(x), x, with_sign_of(value, x));
}

Expr atan2_64(Expr y, Expr x) {
  Expr ay = abs(y), ax = abs(x);
  // Two infinities are as good as two ones; else a common scale keeps the quotient's parts in range.
  Expr both = (ay == kInfinity) & (ax == kInfinity);
  ay = select(both, number(y, 1), ay);
  ax = select(both, number(x, 1), ax);
  Expr greatest = select(ay > ax, ay, ax);
  Expr factor = select(greatest > 0x1p1000, number(x, 0x1p-100),
                       select(greatest < 0x1p-900, number(x, 0x1p100), number(x, 1)));
  Expr sy = ay * factor, sx = ax * factor;
  Expr none = greatest == 0.0;
  Expr infinite_y = sy == kInfinity, infinite_x = sx == kInfinity;
  Expr one = number(x, 1), zero = number(x, 0);
  Expr num = select(infinite_y, one, select(infinite_x | none, zero, sy));
  Expr den = select(infinite_y, zero, select(infinite_x | none, one, sx));
  Pair t = atan_ratio(num, den);
  Expr left = to_bits(x) < bits(to_bits(x), 0);
  Expr angle = t.high + t.low;
  // Small angles to the right are the quotient itself, which may be denormal.
  angle = select((sy < sx * 0x1p-27) & ~infinite_x & ~none, ay / ax, angle);
  Pair turned = fast_two_sum(number(x, kPi), -t.high);
  Expr other = turned.high + ((turned.low + kPiLow) - t.low);
  Expr value = with_sign_of(select(left, other, angle), y);
  return select(is_nan(x) | is_nan(y), not_a_number(x), value);
}

Expr asin_64(Expr x) {
  Expr a = abs(x);
  Expr outer = a > 0.5;
  Expr z = select(outer, (1.0 - a) * 0.5, x * x);
  Expr s = select(outer, sqrt(z), a);
  Expr tail = asin_tail(z);
  // pi/2 - 2 asin(s), the root's lost digits given back.
  Expr high = upper_half(s);
  Expr lost = (z - high * high) / (s + high);
  Expr near_one = number(x, kHalfPi / 2) - high * 2.0;
  near_one = kHalfPi / 2 - ((s * 2.0 * tail - (kHalfPiLow - lost * 2.0)) - near_one);
  Expr value = select(outer, near_one, select(a < 0x1p-27, a, s + s * tail));
  value = select(a == 1.0, number(x, kHalfPi), value);
  return select(a <= 1.0, with_sign_of(value, x), not_a_number(x));
}

Expr acos_64(Expr x) {
  Expr a = abs(x);
  Expr outer = a > 0.5;
  Expr z = select(outer, (1.0 - a) * 0.5, x * x);
  Expr s = sqrt(select(outer, z, number(x, 1)));
  Expr tail = asin_tail(z);
  Expr high = upper_half(s);
  Expr lost = (z - high * high) / (s + high);
  Expr right = select(z == 0.0, number(x, 0), (high + (s * tail + lost)) * 2.0);
  Expr left = kPi - ((s + (s * tail - kHalfPiLow)) * 2.0);
  Expr inner = kHalfPi - (x - (kHalfPiLow - x * tail));
  Expr value = select(outer, select(x < 0.0, left, right), inner);
  return select(a <= 1.0, value, not_a_number(x));
}

}  // namespace

Expr sin64(Expr x) { return select(abs(x) < 0x1p-27, x, by_reduction(x, sin_of)); }
Expr cos64(Expr x) { return by_reduction(x, cos_of); }

Expr sin(Expr x) { return single(x) ? circular32(x, false) : sin64(x); }
Expr cos(Expr x) { return single(x) ? circular32(x, true) : cos64(x); }
Expr tan(Expr x) { return single(x) ? tan32(x) : select(abs(x) < 0x1p-27, x, by_reduction(x, tan_of)); }
Expr asin(Expr x) { return single(x) ? asin32(x) : asin_64(x); }
Expr acos(Expr x) { return single(x) ? acos32(x) : acos_64(x); }
Expr atan(Expr x) { return single(x) ? atan32(x) : atan_64(x); }
Expr atan2(Expr y, Expr x) { return single(x) ? atan2_32(y, x) : atan2_64(y, x); }

}  // namespace ig::loop::math
