// Vector maths, part one: exponentials, logarithms and what is made of them. Float32 functions are float32
// arithmetic, but for the cube root and powers of a few products, which widen to float64 and round once at
// the end.
#include <iterator>

#include "loop/math_detail.h"

namespace ig::loop::math {
namespace {

using namespace coefficients;

constexpr double kLog2E = 1.4426950408889634;
double exponent_bias(Expr x) { return single(x) ? 127 : 1023; }

// 2^(n - bias of the exponent) of the number n in the low bits of `word`.
Expr with_exponent(Expr word) {
  return from_bits(shift_left(word, bits(word, word.type() == DType::I32 ? 23 : 52)));
}

// x * 2^n in two steps, so that neither factor leaves the normal range, and only the last one rounds: the
// word holds n with the bias of the exponent added twice, and half of it is the first factor's exponent.
Expr product_with_power(Expr x, Rounded n) {
  Expr half = shift_right_logical(n.word, bits(n.word, 1));
  return x * with_exponent(half) * with_exponent(n.word - half);
}

Expr clamp(Expr x, double low, double high) {  // NaN stays
  return at_most(select(x < low, number(x, low), x), high);
}

Expr widen(Expr x) { return convert(x, DType::F64); }

// One float64 function for both types.
Expr by_f64(Expr x, Expr (*f)(Expr)) { return single(x) ? convert(f(widen(x)), DType::F32) : f(x); }

// Below `least` a power is zero, and so are those of the two arguments that it is counted from instead: where
// nothing is denormal before it is rounded, for which Intel's processors take a hundred cycles and more.
// Measured on one, products are through that at 2^-160 (F64: 2^-1100), and what an instruction scales at
// 2^-550 (2^-4100). Of products the few arguments between are left as they are, so that it is one maximum.
struct Bottom {
  double least, product, scaled;
};
constexpr Bottom kExpBottom{-104, -115, -450}, kExpBottomF64{-746, -770, -3500};
constexpr Bottom kExp2Bottom{-151, -166, -650}, kExp2BottomF64{-1080, -1110, -5000};

// x = n ln2 + r
struct Reduced {
  Rounded n;
  Expr r;
};
// 2^n e^r: what `reduce` makes of x, and of that e^r, scaled by the instruction for it, or elsewhere as
// `product` spells it.
template <typename Reduce, typename Rest, typename Product>
Expr power_of(Expr x, const Bottom& bottom, const Reduce& reduce, const Rest& rest, const Product& product) {
  Reduced scaled = reduce(select(x < bottom.least, number(x, bottom.scaled), x));
  Expr above = select(x < bottom.product, number(x, bottom.product), x);
  return scale(rest(scaled), scaled.n.value, product(reduce(above)));
}
Expr less_ln2(Expr x, Expr n) {
  if (single(x)) return fma(n, number(x, 2.12194440e-4), fma(n, number(x, -0.693359375), x));
  return fma(n, number(x, -kLn2Low), fma(n, number(x, -kLn2High), x));
}
Reduced rest_of(Expr x, Rounded n) { return {n, less_ln2(x, n.value)}; }
Reduced reduced(Expr x) { return rest_of(x, to_nearest(x, kLog2E, 2 * exponent_bias(x))); }
Expr exp_tail(Expr r) {  // e^r - 1
  Expr p = single(r) ? polynomial(r, kExpF32) : polynomial(r, kExp);
  return fma(r * r, p, r);
}
// Of F64: e^r, and 2^n e^r.
Expr tail_exp(const Reduced& a) { return exp_tail(a.r) + 1.0; }
Expr tail_product(const Reduced& a) { return product_with_power(tail_exp(a), a.n); }
Expr exp_reduced(Expr r, double factor) {  // factor e^r of F64, for a power of two
  Expr sum = number(r, kExp[std::size(kExp) - 1] * factor);
  for (size_t i = std::size(kExp) - 1; i-- > 0;) sum = fma(sum, r, number(r, kExp[i] * factor));
  return fma(fma(sum, r, number(r, factor)), r, number(r, factor));
}

}  // namespace

// e^x of F32 is 2^(n/8) e^r with |r| <= ln(2)/16, so that a cubic will do: the root of two is looked up,
// which takes one permutation of eight numbers, and is given the exponent in whole numbers. A NaN passes
// through r.
Rounded to_eighths(Expr x, double factor, double bias) { return to_nearest(x, factor, bias, 3); }

// The bits of 2^(n/8) times 2^(bias - 126), of n in eighths with `bias` added.
Expr root_bits(Expr word) { return to_bits(lookup(kRootBits, word)) + shift_left(word, bits(word, 20)); }
Expr times_exp(Expr root, const Reduced& a) {
  return fma(root * a.r, fma(polynomial(a.r, kExpEighthF32), a.r, number(a.r, 1)), root);
}

// The same by root + root * grown, where what the root lacks is in the factor: the sum, and what else is
// added in it, are all that is rounded.
Expr grown_root(const Reduced& a) {
  return fma(a.r * a.r, polynomial(a.r, kExpEighthFineF32), a.r + lookup(kRootRests, a.n.word));
}
Expr times_exp_fine(Expr root, const Reduced& a) { return fma(root, grown_root(a), root); }

// e^r times the root of two alone: n's whole part is for whoever scales.
Expr root_exp(const Reduced& a) { return times_exp(lookup(kRoots, a.n.word), a); }

// 2^n e^r for any n, whose bias is 253, by two factors as in product_with_power().
Expr eighths_product_by(Expr (*times)(Expr root, const Reduced& a), const Reduced& a) {
  Expr half = shift_left(shift_right_logical(a.n.word, bits(a.n.word, 4)), bits(a.n.word, 23));
  return times(from_bits(root_bits(a.n.word) - half), a) * from_bits(half);
}
Expr eighths_product(const Reduced& a) { return eighths_product_by(times_exp, a); }

// x = n ln2 + r for a pair, n in eighths with `bias` added.
auto reduced_pair32(Expr low, double bias) {
  return [=](Expr high) {
    Reduced a = rest_of(high, to_eighths(high, kLog2E, bias));
    a.r = a.r + low;
    return a;
  };
}

// The product of root and factor is a pair: all but one rounding are of what is small beside it.
Expr times_exp32(Pair factor, Pair x) {
  auto rest = [&](const Reduced& a) {
    Expr root = lookup(kRoots, a.n.word);
    Pair product = two_product(root, factor.high);
    return product.high + fma(product.high, grown_root(a), fma(root, factor.low, product.low));
  };
  return power_of(x.high, kExpBottom, reduced_pair32(x.low, 254), rest, [&](const Reduced& a) {
    return product_with_power(rest(a), {a.n.value, shift_right_logical(a.n.word, bits(a.n.word, 3))});
  });
}

// e^(high + low) of F32, to 0.55 units of the last place.
Expr exp_of_pair32(Pair x) {
  auto rest = [](const Reduced& a) { return times_exp_fine(lookup(kRoots, a.n.word), a); };
  auto product = [](const Reduced& a) { return eighths_product_by(times_exp_fine, a); };
  return power_of(at_most(x.high, 89.0), kExpBottom, reduced_pair32(x.low, 253), rest, product);
}

Expr exp32(Expr x) {
  auto reduce = [](Expr x) { return rest_of(x, to_eighths(x, kLog2E, 253)); };
  return power_of(at_most(x, 89.0), kExpBottom, reduce, root_exp, eighths_product);
}

Expr exp_of_nonpositive(Expr x) {
  if (single(x)) {
    constexpr double kSpare = 64;
    auto reduce = [](Expr x) { return rest_of(x, to_eighths(x, kLog2E, 126 + kSpare)); };
    return power_of(x, kExpBottom, reduce, root_exp, [](const Reduced& a) {
      return times_exp(from_bits(root_bits(a.n.word)), a) * std::exp2(-kSpare);
    });
  }
  constexpr double kSpare = 512;
  auto reduce = [](Expr x) { return rest_of(x, to_nearest(x, kLog2E, exponent_bias(x) + kSpare)); };
  return power_of(x, kExpBottomF64, reduce, tail_exp, [](const Reduced& a) {
    return tail_exp(a) * with_exponent(a.n.word) * std::exp2(-kSpare);
  });
}

Expr exp32_bounded(Expr x) {
  Rounded n = to_eighths(x, kLog2E, 126);
  return times_exp(from_bits(root_bits(n.word)), rest_of(x, n));
}

Expr exp_of(Expr high, Expr low) {
  auto reduce = [&](Expr x) {
    Reduced a = reduced(x);
    if (low) a.r = a.r + low;
    return a;
  };
  return power_of(at_most(high, 710.0), kExpBottomF64, reduce, tail_exp, tail_product);
}

Expr exp(Expr x) { return single(x) ? exp32(x) : exp_of(x, {}); }

Expr exp2(Expr x) {
  auto reduce = [](Expr x) {
    Rounded n = single(x) ? to_eighths(x, 1, 253) : to_nearest(x, 1, 2 * exponent_bias(x));
    return Reduced{n, (x - n.value) * 0.69314718055994529};
  };
  if (single(x)) return power_of(at_most(x, 129.0), kExp2Bottom, reduce, root_exp, eighths_product);
  return power_of(at_most(x, 1030.0), kExp2BottomF64, reduce, tail_exp, tail_product);
}

Expr expm1(Expr x) {
  Reduced a = reduced(single(x) ? clamp(x, -20.0, 89.0) : clamp(x, -50.0, 710.0));
  // 2^n e^r - 1 = 2^n (e^r - 1) + (2^n - 1); for the largest n in two steps.
  Expr top = a.n.value > (single(x) ? 100.0 : 1000.0);
  Expr n = select(top, a.n.value - 64.0, a.n.value);
  Expr two_n = with_exponent(to_nearest(n, 1, exponent_bias(x)).word);
  Expr y = fma(two_n, exp_tail(a.r), two_n - select(top, number(x, 0x1p-64), number(x, 1)));
  y = y * select(top, number(x, 0x1p64), number(x, 1));
  return select(abs(x) < (single(x) ? 0x1p-25 : 0x1p-54), x, y);
}

namespace {

Expr log_edges(Expr x, Expr y) {
  Expr edge = select(x == 0.0, number(x, -kInfinity), not_a_number(x));
  return select(x <= 0.0, edge, select(x < kInfinity, y, x));
}

// A positive, finite F32 is mantissa 2^k; `octave` is k in the place of an exponent, and the low three bits
// of `piece` tell which of the eight pieces of an octave, which begins at kLogBegin, the mantissa lies in.
struct Octave32 {
  Expr octave, k, piece, mantissa;
};
Octave32 octave32(Expr x, bool may_be_denormal) {
  Expr tiny = x < 0x1p-126;
  Expr word = to_bits(may_be_denormal ? select(tiny, x * 0x1p24, x) : x);
  // Counted from where the first piece begins, the bits have k in front and the piece behind it.
  Expr counted = word - bits(word, std::bit_cast<uint32_t>(static_cast<float>(kLogBegin)));
  Expr octave = counted & bits(word, 0xff800000u);
  Expr k = convert(shift_right(counted, bits(word, 23)), DType::F32);
  if (may_be_denormal) k = select(tiny, k - 24.0, k);
  return {octave, k, shift_right_logical(counted, bits(word, 20)), from_bits(word - octave)};
}

// A logarithm of F32: what its pieces look up, a polynomial, and log(2), of which the first part is short.
struct Base32 {
  const loop::Table (&pieces)[3];
  const float (&polynomial)[4];
  double two_high, two_low;
};
constexpr Base32 kNatural{kLogPieces, kLogF32, 0.693359375, -2.12194440e-4};
constexpr Base32 kBinary{kLog2Pieces, kLog2F32, 1, 0};
constexpr Base32 kDecimal{kLog10Pieces, kLog10F32, 0.30078125, 0.00024874566398119520};

// log(2^octaves x) of a positive, finite x as the first part of log(2) k times, at_point, r = distance *
// slope, and a rest; `octave` is that of x alone.
struct LogParts32 {
  Expr octave, k, at_point, distance, slope, r, rest;
};
LogParts32 log_parts32(Expr x, const Base32& base, bool may_be_denormal, Expr octaves = {}) {
  Octave32 at = octave32(x, may_be_denormal);
  Expr k = octaves ? at.k + octaves : at.k;
  Expr distance = at.mantissa - lookup(base.pieces[0], at.piece);
  Expr slope = lookup(base.pieces[1], at.piece), at_point = lookup(base.pieces[2], at.piece);
  Expr r = distance * slope;
  Expr rest = polynomial(r, base.polynomial) * (r * r);
  if (base.two_low != 0) rest = fma(k, number(k, base.two_low), rest);
  return {at.octave, k, at_point, distance, slope, r, rest};
}
// The logarithm is the sum of these. The first is exact: both of its terms are short.
Pair terms32(const LogParts32& p, const Base32& base, Expr rest) {
  return {fma(p.k, number(p.k, base.two_high), p.at_point), fma(p.distance, p.slope, rest)};
}
Expr sum_of_parts32(const LogParts32& p, const Base32& base, Expr rest) {
  Pair terms = terms32(p, base, rest);
  return terms.high + terms.low;
}

Expr log32(Expr x, const Base32& base) {
  LogParts32 p = log_parts32(x, base, true);
  return log_edges(x, sum_of_parts32(p, base, p.rest));
}

}  // namespace

Expr log_of_sum32(Pair u, Expr octaves) {
  LogParts32 p = log_parts32(u.high, kNatural, false, octaves);
  Expr most = bits(p.octave, 100u << 23);  // from where on nothing is left of it
  Expr one_by_octave = from_bits(bits(p.octave, 0x3f800000u) - select(p.octave > most, most, p.octave));
  Expr one_by_mantissa = fma(-p.slope, p.r, p.slope);
  return sum_of_parts32(p, kNatural, fma(u.low * one_by_octave, one_by_mantissa, p.rest));
}

namespace {

// log(x) of a positive, finite F32 with about 32 bits. A piece's slope and the logarithm of its point are
// pairs, and so are the first two terms of the series in r.
Pair log_pair32(Expr x) {
  Octave32 at = octave32(x, true);
  auto of_piece = [&](size_t i) { return lookup(kLogPairPieces[i], at.piece); };
  Expr distance = at.mantissa - of_piece(0), slope = of_piece(1);
  Pair r = two_product(distance, slope), square = two_product(r.high, r.high);
  r.low = fma(distance, of_piece(2), r.low);
  Expr point = fma(at.k, number(x, kNatural.two_high), of_piece(3));  // exact
  Expr point_low = fma(at.k, number(x, kNatural.two_low), of_piece(4));
  Pair first = fast_two_sum(point, r.high), second = fast_two_sum(first.high, square.high * -0.5);
  Expr slopes = fma(-r.high, r.low, fma(number(x, -0.5), square.low, r.low));
  Expr rest = fma(r.high * square.high, polynomial(r.high, kLogPairF32), slopes);
  return fast_two_sum(second.high, (first.low + second.low) + (point_low + rest));
}

// x = 2^k (1 + f), 1 + f between sqrt(1/2) and sqrt(2); x is a positive, finite F64.
struct Split {
  Expr k, f;
};
Split split(Expr x) {
  Expr tiny = x < 0x1p-1022;
  Expr word = to_bits(select(tiny, x * 0x1p54, x));
  // Counted from sqrt(1/2), the exponent field is k plus a bias that keeps it positive.
  constexpr uint64_t kMantissa = 52, kRoot = 0x3fe6a09e667f3bcdu, kBias = 1100;
  Expr field =
      shift_right_logical(word - bits(word, kRoot) + bits(word, kBias << kMantissa), bits(word, kMantissa));
  Expr f = from_bits(word - shift_left(field - bits(word, kBias), bits(word, kMantissa))) - 1.0;
  Expr k = from_bits(field | bits(word, 0x4330000000000000u)) - (0x1p52 + kBias);
  return {select(tiny, k - 54.0, k), f};
}

// log(1 + f) as f - (half - rest), half = f^2/2.
struct LogParts {
  Expr k, f, half, rest;
};
LogParts log_parts(Expr x) {
  Split a = split(x);
  Expr s = a.f / (a.f + 2.0);
  Expr z = s * s;
  Expr half = a.f * a.f * 0.5;
  return {a.k, a.f, half, s * (half + z * polynomial(z, kLog))};
}

// log(x) in another base, of which `scale_high + scale_low` = 1 / log(base) and `k_high + k_low` = its log
// of 2.
struct Base {
  double scale_high, scale_low, k_high, k_low;
};
Expr log_in(Expr x, const Base& base) {
  LogParts p = log_parts(x);
  Expr high = p.f - p.half;
  Expr word = to_bits(high);
  high = from_bits(word & bits(word, ~uint64_t{0} << 32));
  Expr low = (p.f - high) - p.half + p.rest;
  Pair sum = two_sum(p.k * base.k_high, high * base.scale_high);
  Expr tail = p.k * base.k_low + (low + high) * base.scale_low + low * base.scale_high;
  return log_edges(x, sum.high + (sum.low + tail));
}

}  // namespace

Pair log32_up_to_one(Expr x) {
  LogParts32 p = log_parts32(x, kNatural, false);
  Pair terms = terms32(p, kNatural, p.rest);
  return two_sum(terms.high, terms.low);
}

Expr log_ordinary(Expr x, Expr correction) {
  LogParts p = log_parts(x);
  Expr low = p.k * kLn2Low;
  if (correction) low = low + correction;
  return p.k * kLn2High - ((p.half - (p.rest + low)) - p.f);
}
Expr log_of(Expr x, Expr correction) { return log_edges(x, log_ordinary(x, correction)); }

Pair log_pair(Expr x) {
  Split a = split(x);
  // s = f / (2 + f) and its square as pairs; 2 s + 2/3 s^3 exactly enough, the rest of the series in one
  // number.
  Pair divisor = fast_two_sum(number(x, 2), a.f);
  Expr s = a.f / divisor.high;
  Pair back = two_product(s, divisor.high);
  Expr s_low = (((a.f - back.high) - back.low) - s * divisor.low) / divisor.high;
  Pair z = two_product(s, s);
  Expr z_low = z.low + s * s_low * 2.0;
  Expr series = polynomial(z.high, kLogTail) * z.high;  // of s^3, less the constant 2/3
  Pair factor = fast_two_sum(number(x, 2.0 / 3), series + 3.7007434154171886e-17);
  Pair cube = two_product(z.high, s);
  Expr cube_low = cube.low + z_low * s + z.high * s_low;
  Pair third = two_product(cube.high, factor.high);
  Expr third_low = third.low + cube.high * factor.low + cube_low * factor.high;
  Pair sum = fast_two_sum(s * 2.0, third.high);
  Expr sum_low = sum.low + (third_low + s_low * 2.0);
  Pair all = two_sum(a.k * kLn2High, sum.high);
  return fast_two_sum(all.high, all.low + (sum_low + a.k * kLn2Low));
}

Expr log(Expr x) { return single(x) ? log32(x, kNatural) : log_of(x, {}); }

Expr log2(Expr x) {
  if (single(x)) return log32(x, kBinary);
  return log_in(x, {1.44269504072144627571e+00, 1.67517131648865118353e-10, 1.0, 0.0});
}
Expr log10(Expr x) {
  if (single(x)) return log32(x, kDecimal);
  return log_in(x, {4.34294481878168880939e-01, 2.50829467116452752298e-11, 3.01029995663611771306e-01,
                    3.69423907715893078616e-13});
}

Expr log1p(Expr x) {
  Pair u = two_sum(number(x, 1), x);
  if (single(x)) return select(x == 0.0, x, log_edges(u.high, log_of_sum32(u)));
  Expr ordinary = (u.high > 0.0) & (x < 0x1p60);
  Expr correction = select(ordinary, u.low, number(x, 0)) / u.high;
  return select(abs(x) < 0x1p-54, x, log_of(u.high, correction));
}
Expr log1p_up_to_one(Expr x) {
  return single(x) ? select(x <= 1.0, log_of_sum32(fast_two_sum(number(x, 1), x)), x) : log1p(x);
}
Expr logaddexp(Expr x, Expr y) {
  Expr apart = select(x == y, number(x, 0), abs(x - y));  // 0 of infinities, too; a NaN stays one
  return select(x > y, x, y) + log1p_up_to_one(exp_of_nonpositive(-apart));
}

Expr tanh(Expr x) {
  Expr a = abs(x);
  if (single(x)) {
    Expr bounded = at_most(a, kTanhLimit);
    Expr octaves = to_bits(fma(bounded, number(x, kTanhScale), number(x, 1.5)));
    Expr piece = shift_right_logical(octaves, bits(octaves, 22));
    Expr d = bounded - lookup(kTanhPieces[0], piece);
    return with_sign_of(polynomial_of_piece(kTanhPieces, 1, piece, d), x);
  }
  Expr e = expm1(select(a > 22.0, number(x, 22), a) * 2.0);
  return select(is_nan(x), x, with_sign_of(e / (e + 2.0), x));
}

// 1 / (1 + e^-x). Both terms of the sum are smaller by 2^spare, so that neither overflows. From 20 (of F64,
// 40) on the quotient is 1, and where it is 0 (see Bottom) another one is divided.
Expr logistic(Expr x) {
  if (single(x)) {
    // As for exp, by roots, more exactly before the division.
    constexpr double kSpare = 24;
    Expr reaches = ~(x < kExpBottom.least), a = select(reaches, at_most(x, 20.0), number(x, 0));
    Reduced e = rest_of(-a, to_eighths(a, -kLog2E, 126 - kSpare));
    Expr one = number(x, std::exp2(-kSpare));
    return select(reaches, one / (one + times_exp_fine(from_bits(root_bits(e.n.word)), e)), number(x, 0));
  }
  // As p / (p + s), where e^x = p / s and s is a power of two.
  constexpr double kSpare = 64;
  Expr reaches = ~(x < kExpBottomF64.least), a = select(reaches, at_most(x, 40.0), number(x, 0));
  Rounded n = to_nearest(a, -kLog2E, exponent_bias(x) - kSpare);
  Expr p = exp_reduced(less_ln2(a, -n.value), std::exp2(-kSpare));
  return select(reaches, p / (p + with_exponent(n.word)), number(x, 0));
}

namespace {

// (e^a + sign e^-a) / 2 of F32, for a >= 0: half of e^a as for logistic, and a quarter of its reciprocal.
Expr hyperbolic32(Expr a, double sign) {
  constexpr double kSpare = 2;  // what is added is smaller by 2^spare, so that only the sum may overflow
  Expr bounded = at_most(a, 90.0);
  Reduced e = rest_of(bounded, to_eighths(bounded, kLog2E, 126 - kSpare));
  Expr root = from_bits(root_bits(e.n.word)), grown = grown_root(e);
  Expr half = fma(root, grown, number(a, sign / 16) / fma(root, grown, root)) + root;
  return half + half;
}

constexpr double kLarge32 = 4096;  // from where on log(2 a) is asinh and acosh of F32

// log(1 + y), or of a large argument log(2 a): asinh and acosh.
Expr log_of_one_and32(Pair y, Expr a, Expr large) {
  Pair u = two_sum(number(a, 1), y.high);
  u = {select(large, a, u.high), select(large, number(a, 0), u.low + y.low)};
  Expr value = log_of_sum32(u, select(large, number(a, 1), number(a, 0)));
  return select(u.high < kInfinity, value, u.high);
}

Expr asinh32(Expr x) {
  Expr a = abs(x), large = a > kLarge32, b = select(large, number(x, 1), a), square = b * b;
  // sqrt(1 + b^2) - 1, without cancellation
  Pair y = fast_two_sum(b, square / (sqrt(square + 1.0) + 1.0));
  return with_sign_of(log_of_one_and32(y, a, large), x);
}

Expr acosh32(Expr x) {
  Expr large = x > kLarge32, t = select(large, number(x, 1), x) - 1.0;
  Pair y = fast_two_sum(sqrt(fma(t, t, t + t)), t);
  return select(x < 1.0, not_a_number(x), log_of_one_and32(y, x, large));
}

// a / (1 - b), 0 <= b < 1, and what the quotient is rounded by.
Pair over_one_less(Expr a, Expr b) {
  Pair divisor = fast_two_sum(number(a, 1), -b);
  Expr inverse = 1.0 / divisor.high, quotient = a * inverse;
  Pair back = two_product(quotient, divisor.high);
  return {quotient, (((a - back.high) - back.low) - quotient * divisor.low) * inverse};
}

// Half the logarithm of 1 + 2 a / (1 - a).
Expr atanh32(Expr x) {
  Expr a = abs(x), inside = select(a < 1.0, a, number(x, 0));
  Pair quotient = over_one_less(inside + inside, inside), u = two_sum(number(x, 1), quotient.high);
  Expr y = log_of_sum32({u.high, u.low + quotient.low}) * 0.5;
  Expr edge = select(a == 1.0, number(x, kInfinity), not_a_number(x));
  return with_sign_of(select(a < 1.0, y, edge), x);
}

Expr sinh_64(Expr x) {
  Expr a = abs(x);
  Expr e = expm1(select(a > 709.0, number(x, 709), a));
  Expr w = exp_of(a * 0.5, {});
  Expr y = select(a > 700.0, w * 0.5 * w, (e + e / (e + 1.0)) * 0.5);
  return select(is_nan(x), x, with_sign_of(y, x));
}

Expr cosh_64(Expr x) {
  Expr a = abs(x);
  Expr w = exp_of(select(a > 700.0, a * 0.5, a), {});
  return select(a > 700.0, w * 0.5 * w, (w + 1.0 / w) * 0.5);
}

Expr asinh_64(Expr x) {
  Expr a = abs(x);
  Expr big = a > 0x1p28;
  Expr b = select(big, number(x, 1), a);
  Expr z = b * b;
  Expr small = log1p(b + z / (sqrt(z + 1.0) + 1.0));
  Expr large = log_of(select(big, a, number(x, 2)), number(x, 0)) + 0.69314718055994529;
  return select(is_nan(x), x, with_sign_of(select(big, large, small), x));
}

Expr acosh_64(Expr x) {
  Expr big = x > 0x1p28;
  Expr t = select(big, number(x, 1), x) - 1.0;
  Expr small = log1p(t + sqrt(t * 2.0 + t * t));
  Expr large = log_of(x, {}) + 0.69314718055994529;
  return select(x < 1.0, not_a_number(x), select(big, large, small));
}

Expr atanh_64(Expr x) {
  Expr a = abs(x);
  Expr t = a + a;
  Expr y = log1p(select(a < 0.5, t + t * a / (1.0 - a), t / (1.0 - a))) * 0.5;
  y = select(a == 1.0, number(x, kInfinity), y);
  return select(a <= 1.0, with_sign_of(y, x), not_a_number(x));
}

}  // namespace

Expr sinh(Expr x) {
  if (!single(x)) return sinh_64(x);
  Expr a = abs(x), square = a * a;
  Expr small = fma(a * square, polynomial(square, kSinhF32), a);
  return with_sign_of(select(a < 1.0, small, hyperbolic32(a, -1)), x);
}
Expr cosh(Expr x) { return single(x) ? hyperbolic32(abs(x), 1) : cosh_64(x); }
Expr asinh(Expr x) { return single(x) ? asinh32(x) : asinh_64(x); }
Expr acosh(Expr x) { return single(x) ? acosh32(x) : acosh_64(x); }
Expr atanh(Expr x) { return single(x) ? atanh32(x) : atanh_64(x); }

Expr logit32(Expr p) {
  Expr inside = (p > 0.0) & (p < 1.0), usual = select(inside, p, number(p, 0.5)), small = usual < 0x1p-64;
  Pair quotient = over_one_less(select(small, usual * 0x1p64, usual), usual);
  Expr value = log_of_sum32(quotient, select(small, number(p, -64), number(p, 0)));
  Expr edge = select(p == 1.0, number(p, kInfinity), not_a_number(p));
  return select(inside, value, select(p == 0.0, number(p, -kInfinity), edge));
}

Expr rel_entr32(Expr x, Expr y) {
  auto usual = [](Expr v) { return (v > 0.0) & (v < kInfinity); };
  Expr both = usual(x) & usual(y);
  Octave32 a = octave32(select(both, x, number(x, 1)), true),
           b = octave32(select(both, y, number(x, 1)), true);
  Expr quotient = a.mantissa / b.mantissa;  // 1 where x is y
  Pair back = two_product(quotient, b.mantissa);
  Expr rest = ((a.mantissa - back.high) - back.low) / b.mantissa;
  Expr value = x * log_of_sum32({quotient, rest}, a.k - b.k);
  Expr edge = select((x == 0.0) & (y >= 0.0), number(x, 0),
                     select(usual(x) & (y == kInfinity), number(x, -kInfinity), number(x, kInfinity)));
  return select(is_nan(x) | is_nan(y), x + y, select(both, value, edge));
}

Expr rsqrt(Expr x) { return 1.0 / sqrt(x); }

Expr cbrt(Expr x) {
  return by_f64(x, [](Expr v) {
    Expr a = abs(v);
    Expr tiny = a < 0x1p-1022;
    Expr word = to_bits(select(tiny, a * 0x1p54, a));
    auto c = [&](uint64_t value) { return bits(word, value); };
    // The exponent is 3 q + r: m = mantissa * 2^r lies in [1, 8). A product and a shift divide by three.
    Expr exponent = shift_right_logical(word, c(52));
    Expr shifted = exponent + c(3);  // 1023 + 3 = 3 * 342: counted from a multiple of three
    Expr third = shift_right_logical(shifted * c(43691), c(17));
    Expr r = shifted - third * c(3);
    Expr m = from_bits((word & c(0xfffffffffffffu)) | shift_left(r + c(1023), c(52)));
    Expr y = polynomial(m - 4.5, kCbrt);
    for (int i = 0; i < 3; ++i) {  // Halley: each step triples the digits
      Expr cube = y * y * y;
      y = y - y * (cube - m) / (cube * 2.0 + m);
    }
    y = from_bits(to_bits(y) + shift_left(third - c(342), c(52)));
    y = select(tiny, y * 0x1p-18, y);
    Expr ordinary = (a > 0.0) & (a < kInfinity);
    return select(ordinary, with_sign_of(y, v), v);
  });
}

namespace {

// a^y for a positive, finite a, as log and exponential; and of what else a may be, whose log is `edge`.
Expr power_of_ordinary(Expr a, Expr y, Expr ordinary, Expr edge) {
  Pair l = single(a) ? log_pair32(a) : log_pair(a);
  Expr high = select(ordinary, l.high, edge);
  Pair t = two_product(high, y);
  Expr exact = abs(t.high) < (single(a) ? 128.0 : 800.0);
  // The product's rest may be as large as its own last place: fold it in before the clamp.
  t.low = select(exact & ordinary, t.low + l.low * y, number(a, 0));
  return single(a) ? exp_of_pair32(t) : exp_of(t.high, t.low);
}

Expr power_by_log(Expr x, Expr y) {
  Expr a = abs(x);
  Expr ordinary = (a > 0.0) & (a < kInfinity);
  Expr edge = select(a == 0.0, number(x, -kInfinity), a);  // 0, infinity or NaN: the log of it
  Expr value = power_of_ordinary(select(ordinary, a, number(x, 2)), y, ordinary, edge);
  Expr whole = floor(y) == y;
  Expr half = y * 0.5;
  Expr odd = whole & (floor(half) != half);
  Expr word = to_bits(x);
  Expr sign = select(odd, word & bits(word, sign_bit(x)), bits(word, 0));
  value = from_bits(to_bits(value) | sign);
  value = select((x < 0.0) & (x > -kInfinity) & ~whole, not_a_number(x), value);
  value = select(is_nan(x) | is_nan(y), not_a_number(x), value);
  Expr one = (y == 0.0) | (x == 1.0) | ((x == -1.0) & (abs(y) == kInfinity));
  return select(one, number(x, 1), value);
}

// Exponents of few products and at most one root: whole numbers and halves to 16 for float32, which takes
// them in float64, so that they are rounded once; for float64 those of which no step is lost to over- or
// underflow and whose roundings stay within the bound. (Those of a single step have forms of their own in
// pow().)
Expr is_small_power(Expr y) {
  Expr size = abs(y);
  if (!single(y)) return (y == 4.0) | (y == -2.0) | (y == -0.5) | (size == 1.5);
  Expr twice = y * 2.0;
  Expr several = (size > 1.0) & (size <= 16.0) & (floor(twice) == twice) & ~((y == 2.0) | (y == 3.0));
  return several | (y == -0.5);
}

// x^y of F64 for such an exponent: the root, then the powers x^16, x^8, … of which the exponent is made, each
// of 1 / x for a negative one. What is not wanted is a factor of one, which is exact: so the bits are those
// of the products alone, which is what is left of this for an exponent that is known.
Expr small_power(Expr x, Expr y) {
  Expr one = number(x, 1), size = abs(y), whole = floor(size);
  Expr half = ~(whole == size);
  // The root of -inf to a half is that of inf, and that of -0 is 0.
  Expr base = select(half, select(x == -kInfinity, number(x, kInfinity), x + 0.0), x);
  Expr value = select(half, sqrt(base), one), inverse = y < 0.0;
  value = select(inverse & half, one / value, value);  // where 1 / x would overflow its root does not
  base = select(inverse, one / base, base);
  Expr powers[] = {base, base * base, base, base, base};
  for (int i = 2; i < 5; ++i) powers[i] = powers[i - 1] * powers[i - 1];
  for (int i = 4; i >= 0; --i) {
    const double worth = 1 << i;
    Expr has = whole >= worth;
    value = value * select(has, powers[i], one);
    whole = select(has, whole - worth, whole);
  }
  return value;
}

}  // namespace

// The powers that programs are full of are products, quotients and roots, whether or not the exponent is
// known when the code is made: so the bits are the same.
Expr pow(Expr x, Expr y) {
  Expr few = single(x) ? convert(small_power(widen(x), widen(y)), DType::F32) : small_power(x, y);
  Expr is_few = is_small_power(y), square = x * x;
  auto form = [&](double exponent, Expr value) {
    is_few = is_few | (y == exponent);
    few = select(y == exponent, value, few);
  };
  form(0.5, select(x == -kInfinity, number(x, kInfinity), sqrt(x + 0.0)));
  form(-1, number(x, 1) / x);
  form(1, x);
  form(3, square * x);
  form(2, square);
  return select_lazy(is_few, few, power_by_log(x, y));
}

}  // namespace ig::loop::math
