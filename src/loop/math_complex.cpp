// How the functions of a complex variable are computed. x and y are the parts, ax and ay their magnitudes;
// the formulas are arranged so that neither part cancels: Kahan's for the inverse functions, |z|² - 1 in
// twice the digits near the unit circle. Both arms of a select are evaluated, so what C's Annex G says of
// infinities and NaN is chosen at the end.
#include "loop/math_complex.h"

#include "loop/math_detail.h"

namespace ig::loop::complex_math {
namespace {

using namespace ig::loop::math;

constexpr double kHuge = 0x1p+1000;

struct Parts {
  Expr x, y;
};

Expr kept(Expr e) { return e.builder().let(e); }
Expr infinite(Expr e) { return loop::abs(e) == kInfinity; }
Expr finite(Expr e) { return loop::abs(e) < kInfinity; }
Expr one_with_sign_of(Expr e) { return with_sign_of(number(e, 1), e); }
// -e where the sign bit of `sign` is set: also for zeros, infinities and NaN.
Expr flipped_by(Expr e, Expr sign) {
  return from_bits(to_bits(e) ^ (to_bits(sign) & bits(to_bits(sign), sign_bit(sign))));
}
Expr larger(Expr a, Expr b) { return select(a > b, a, b); }

Parts widened(Expr z) { return {kept(convert(real(z), DType::F64)), kept(convert(imag(z), DType::F64))}; }
Expr narrowed(Parts p, DType type) {
  return complex(convert(p.x, part_of(type)), convert(p.y, part_of(type)));
}
template <Parts (*F)(Parts)>
Expr by_parts(Expr z) {
  return narrowed(F(widened(z)), z.type());
}

// sqrt(x² + y²) without overflow on the way; infinite where either part is.
Expr length(Expr x, Expr y) {
  Expr ax = loop::abs(x), ay = loop::abs(y);
  Expr big = select(ax > ay, ax, ay), small = select(ax > ay, ay, ax), none = number(x, 0);
  Expr ratio = select(big == none, none, small / big);
  Expr root = big * loop::sqrt(ratio * ratio + 1.0);
  Expr value = select(is_nan(x) | is_nan(y), x + y, root);
  return select(infinite(x) | infinite(y), number(x, kInfinity), value);
}

// (a + bi)(c + di)
Parts times(Parts p, Parts q) { return {p.x * q.x - p.y * q.y, p.x * q.y + p.y * q.x}; }

// The sum of a few numbers with an error as if it were kept in twice the digits.
Expr careful_sum(std::initializer_list<Expr> terms) {
  Expr high, low;
  for (Expr term : terms) {
    if (!high) {
      high = term;
      low = number(term, 0);
      continue;
    }
    Pair s = two_sum(high, term);
    high = s.high;
    low = low + s.low;
  }
  return high + low;
}

// log|z|: near the unit circle by |z|² - 1, else by the larger part and the ratio of the two.
Expr log_length(Expr x, Expr y) {
  Expr ax = loop::abs(x), ay = loop::abs(y), zero = number(x, 0);
  Expr big = select(ax > ay, ax, ay), small = select(ax > ay, ay, ax);
  Expr ratio = kept(select((big == zero) | infinite(big), zero, small / big));
  Expr far = math::log(big) + 0.5 * math::log1p(ratio * ratio);
  // Out of the range where it counts the squares would overflow: 1 stands for them.
  Expr near = kept((big < 2.0) & (big > 0.5));
  Expr a = select(near, big, number(x, 1)), b = select(near, small, zero);
  Pair aa = two_product(a, a), bb = two_product(b, b);
  Expr excess = kept(careful_sum({aa.high, number(x, -1), bb.high, aa.low, bb.low}));
  Expr close = 0.5 * math::log1p(excess);
  Expr use = near & (excess < 1.0) & (excess > -0.5);
  Expr value = select(is_nan(x) | is_nan(y), x + y, select(use, close, far));
  return select(infinite(x) | infinite(y), number(x, kInfinity), value);
}

Parts log_parts(Parts z) { return {log_length(z.x, z.y), atan2(z.y, z.x)}; }

template <auto Scale>
Parts scaled_log(Parts z) {
  Parts l = log_parts(z);
  return {l.x * Scale, l.y * Scale};
}

Parts log1p_parts(Parts z) {
  // |1 + z|² - 1 = 2x + x² + y²; where that is small, log1p of it.
  Expr ax = loop::abs(z.x), ay = loop::abs(z.y), zero = number(z.x, 0);
  Expr near = kept((ax < 2.0) & (ay < 2.0));
  Expr a = select(near, z.x, zero), b = select(near, z.y, zero);
  Pair aa = two_product(a, a), bb = two_product(b, b);
  Expr excess = kept(careful_sum({a + a, aa.high, bb.high, aa.low, bb.low}));
  Expr moved = z.x + 1.0;
  Expr use = near & (excess < 1.0) & (excess > -0.5);
  // Squares that vanish leave 2x.
  return {select(use, 0.5 * math::log1p(excess), log_length(moved, z.y)), atan2(z.y, moved)};
}

// e^x cos y and e^x sin y, with a part of e^x kept back where it alone overflows.
Parts exp_parts(Parts z) {
  constexpr double kBack = 700, kExpBack = 1.0142320547350045e304;
  Expr over = z.x > kBack;
  Expr e = kept(math::exp(select(over, z.x - kBack, z.x)));
  Expr rest = kept(select(over, number(e, kExpBack), number(e, 1)));
  Expr zero = number(e, 0), vague = kept(~finite(z.y));
  Expr re = (e * math::cos(z.y)) * rest, im = (e * math::sin(z.y)) * rest;
  re = select(z.y == zero, e * rest, re);
  im = select(z.y == zero, z.y, im);
  Expr none = vague & (z.x == -kInfinity);
  re = select(none, zero, select(vague & (z.x == kInfinity), number(e, kInfinity), re));
  im = select(none, with_sign_of(zero, z.y), im);
  return {re, im};
}

Parts exp2_parts(Parts z) { return exp_parts({z.x * M_LN2, z.y * M_LN2}); }

Parts expm1_parts(Parts z) {
  Expr a = math::sin(z.y * 0.5);
  return {math::expm1(z.x) * math::cos(z.y) - 2.0 * a * a, math::exp(z.x) * math::sin(z.y)};
}

// sinh x cos y and cosh x sin y (of cosh: cosh x cos y and sinh x sin y), for large x by halves of e^x.
struct Hyperbolic {
  Expr sinh, cosh, rest;
};
Hyperbolic hyperbolic(Expr x) {
  constexpr double kBack = 700, kExpBack = 1.0142320547350045e304;
  Expr ax = loop::abs(x);
  Expr over = kept(ax > kBack);
  Expr e = kept(math::exp(select(over, ax - kBack, number(x, 0))));
  Expr inside = kept(select(over, number(x, 0), x));
  return {kept(select(over, flipped_by(e, x), math::sinh(inside))), kept(select(over, e, math::cosh(inside))),
          kept(select(over, number(x, kExpBack / 2), number(x, 1)))};
}

Parts sinh_parts(Parts z) {
  Hyperbolic h = hyperbolic(z.x);
  Expr zero = number(z.x, 0), vague = ~finite(z.y);
  Expr re = (h.sinh * math::cos(z.y)) * h.rest, im = (h.cosh * math::sin(z.y)) * h.rest;
  re = select(z.y == zero, h.sinh * h.rest, re);
  im = select(z.y == zero, z.y, im);
  re = select(vague & (z.x == zero), z.x, re);
  re = select(vague & infinite(z.x), number(re, kInfinity), re);  // whose sign is not stated
  return {re, im};
}

Parts cosh_parts(Parts z) {
  Hyperbolic h = hyperbolic(z.x);
  Expr zero = number(z.x, 0), vague = ~finite(z.y);
  Expr re = (h.cosh * math::cos(z.y)) * h.rest, im = (h.sinh * math::sin(z.y)) * h.rest;
  re = select(z.y == zero, h.cosh * h.rest, re);
  im = select(z.y == zero, select(is_nan(z.x), z.y, z.y * one_with_sign_of(z.x)), im);
  re = select(vague & infinite(z.x), number(z.x, kInfinity), re);
  im = select(vague & (z.x == zero), zero, im);
  return {re, im};
}

Parts tanh_parts(Parts z) {
  Expr zero = number(z.x, 0), ax = loop::abs(z.x);
  Expr far = kept(ax > 22.0);
  Expr x = kept(select(far, zero, z.x));
  Expr s = kept(math::sinh(x)), c = kept(math::cosh(x)), siny = kept(math::sin(z.y)),
       cosy = kept(math::cos(z.y));
  // Near a pole of the tangent the sum of squares needs all of its digits, which it has: nothing cancels.
  Expr denominator = kept(s * s + cosy * cosy);
  Expr re = s * c / denominator, im = siny * cosy / denominator;
  re = select(far, one_with_sign_of(z.x), re);
  Expr e = math::exp(-ax);
  im = select(far, 4.0 * (siny * e) * (cosy * e), im);
  Expr vague = kept(~finite(z.y));
  re = select(vague & finite(z.x), not_a_number(re), re);
  re = select(z.x == zero, z.x, re);
  im = select(z.y == zero, z.y, im);
  im = select(vague & infinite(z.x), with_sign_of(zero, z.y), im);
  return {re, im};
}

// The root of the part that does not cancel, the other part by division.
Parts sqrt_parts(Parts z) {
  Expr zero = number(z.x, 0), big = kept(larger(loop::abs(z.x), loop::abs(z.y)));
  Expr over = kept((big > 0x1p+1020)), under = kept((big < 0x1p-1000));
  Expr up = select(over, number(big, 0x1p-4), select(under, number(big, 0x1p+108), number(big, 1)));
  Expr down = select(over, number(big, 4), select(under, number(big, 0x1p-54), number(big, 1)));
  Expr x = kept(z.x * up), y = kept(z.y * up);
  Expr root = kept(loop::sqrt((loop::abs(x) + length(x, y)) * 0.5));
  Expr other = kept(loop::abs(y) / (root + root));
  Expr left = x < zero;
  Expr re = select(left, other, root) * down;
  Expr im = flipped_by(select(left, root, other) * down, z.y);
  Expr none = (z.x == zero) & (z.y == zero);
  re = select(none, zero, re);
  im = select(none, z.y, im);
  Expr endless = infinite(z.y);
  return {select(endless, number(re, kInfinity), re), select(endless, z.y, im)};
}

// sqrt(1 - z) and sqrt(1 + z), of which the inverse functions are made.
struct Roots {
  Parts minus, plus;
};
Roots roots_about_one(Parts z) {
  Parts minus = sqrt_parts({1.0 - z.x, -z.y}), plus = sqrt_parts({z.x + 1.0, z.y});
  return {{kept(minus.x), kept(minus.y)}, {kept(plus.x), kept(plus.y)}};
}
Expr beyond(Parts z) { return (loop::abs(z.x) > kHuge) | (loop::abs(z.y) > kHuge); }
// log(2|z|), where |z| is too large for any square; infinite where it is.
Expr log_twice(Parts z) { return log_length(z.x * 0.25, z.y * 0.25) + 3 * M_LN2; }

Parts asin_parts(Parts z) {
  Roots r = roots_about_one(z);
  Expr zero = number(z.x, 0), far = kept(beyond(z));
  Expr below = select(far, loop::abs(z.y), r.minus.x * r.plus.x - r.minus.y * r.plus.y);
  Expr re = atan2(z.x, below);
  Expr im = math::asinh(r.minus.x * r.plus.y - r.minus.y * r.plus.x);
  re = select((z.x == zero) & is_nan(z.y), z.x, re);
  return {re, select(far, flipped_by(log_twice(z), z.y), im)};
}

Parts acos_parts(Parts z) {
  Roots r = roots_about_one(z);
  Expr zero = number(z.x, 0), far = kept(beyond(z));
  Expr half = atan2(r.minus.x, r.plus.x);
  Expr re = select(far, atan2(loop::abs(z.y), z.x), half + half);
  Expr im = math::asinh(r.plus.x * r.minus.y - r.plus.y * r.minus.x);
  re = select((z.x == zero) & is_nan(z.y), number(re, M_PI_2), re);
  return {re, select(far, -flipped_by(log_twice(z), z.y), im)};
}

Parts atanh_parts(Parts z) {
  Expr zero = number(z.x, 0), ax = kept(loop::abs(z.x)), ay = kept(loop::abs(z.y));
  Expr far = kept((ax > 0x1p+500) | (ay > 0x1p+500));
  Expr x = kept(select(far, zero, ax)), y = kept(select(far, zero, ay));
  Expr left = 1.0 - x;
  Expr re = 0.25 * math::log1p(4.0 * x / (left * left + y * y));
  // At x = 1 the square of a small y is nothing.
  re = select((x == number(x, 1)) & (y < 0x1p-500), 0.5 * (M_LN2 - math::log(y)), re);
  Expr im = 0.5 * atan2(y + y, left * (x + 1.0) - y * y);
  // Far out: x / (x² + y²), and a quarter turn.
  Expr wide = ax > ay;
  Expr big = select(wide, ax, ay), small = select(wide, ay, ax);
  Expr ratio = kept(small / big);
  Expr reciprocal = select(wide, number(x, 1), ratio) / (big + small * ratio);
  Expr endless = infinite(z.x) | infinite(z.y);
  re = select(far, select(endless, zero, reciprocal), re);
  im = select(far, number(x, M_PI_2), im);
  im = select(is_nan(z.y) | (is_nan(z.x) & ~infinite(z.y)), not_a_number(im), im);
  re = select(is_nan(z.x) & ~endless, z.x, re);
  re = select(ax == zero, zero, re);
  return {flipped_by(re, z.x), flipped_by(im, z.y)};
}

// f(iz)/i for the odd functions, and what follows from it.
template <Parts (*F)(Parts)>
Parts turned(Parts z) {
  Parts w = F({-z.y, z.x});
  return {w.y, -w.x};
}
Parts sin_parts(Parts z) {
  Parts w = sinh_parts({-z.y, z.x});
  Expr vague = ~finite(z.x) & infinite(z.y);
  return {w.y, select(vague, number(w.x, kInfinity), -w.x)};
}
Parts cos_parts(Parts z) { return cosh_parts({-z.y, z.x}); }
Parts acosh_parts(Parts z) {
  Parts w = acos_parts(z);
  return {loop::abs(w.y), flipped_by(w.x, z.y)};
}

Parts sign_parts(Parts z) {
  Expr zero = number(z.x, 0);
  // Halves, since the length of two finite parts may overflow.
  Expr x = z.x * 0.5, y = z.y * 0.5;
  Expr size = kept(length(x, y));
  Expr long_x = infinite(z.x), long_y = infinite(z.y), nan = not_a_number(z.x);
  auto one = [&](Expr part, Expr half, Expr is_long, Expr both) {
    Expr at_infinity = select(both, nan, select(is_long, one_with_sign_of(part), zero));
    return select(infinite(size), at_infinity, select(size == zero, zero, half / size));
  };
  return {one(z.x, x, long_x, long_x & long_y), one(z.y, y, long_y, long_x & long_y)};
}

Parts reciprocal_of(Parts z) {
  Expr wide = loop::abs(z.y) <= loop::abs(z.x);
  Expr big = select(wide, z.x, z.y), small = select(wide, z.y, z.x);
  Expr ratio = kept(small / big);
  Expr scale = kept(big + small * ratio);
  Expr one = number(z.x, 1);
  return {select(wide, one, ratio) / scale, -(select(wide, ratio, one) / scale)};
}

Parts rsqrt_parts(Parts z) { return reciprocal_of(sqrt_parts(z)); }

// Whole real exponents up to 100 by multiplication, as NumPy takes them, so that squares are squares.
Parts whole_power(Parts z, Expr n) {
  loop::Builder& b = n.builder();
  Expr count = kept(convert(loop::abs(select(loop::abs(n) < 128.0, n, number(n, 0))), DType::I32));
  Expr one = number(n, 1), zero = number(n, 0), first = b.constant_int(DType::I32, 1);
  Parts base = z, out{one, zero};
  for (int bit = 0; bit < 7; ++bit) {
    Expr set = (shift_right_logical(count, b.constant_int(DType::I32, bit)) & first) == first;
    Parts with = times(out, base);
    out = {kept(select(set, with.x, out.x)), kept(select(set, with.y, out.y))};
    base = times(base, base);
    base = {kept(base.x), kept(base.y)};
  }
  Parts squared = times(z, z), cubed = times(z, squared);
  auto is = [&](int value) { return count == b.constant_int(DType::I32, value); };
  Expr x = select(is(1), z.x, select(is(2), squared.x, select(is(3), cubed.x, out.x)));
  Expr y = select(is(1), z.y, select(is(2), squared.y, select(is(3), cubed.y, out.y)));
  Parts positive{kept(x), kept(y)}, negative = reciprocal_of(positive);
  Expr below = n < zero;
  return {select(below, negative.x, positive.x), select(below, negative.y, positive.y)};
}

}  // namespace

Expr abs(Expr z) {
  if (z.type() == DType::C128) return length(real(z), imag(z));
  Expr x = convert(real(z), DType::F64), y = convert(imag(z), DType::F64);  // whose squares are exact
  Expr value = convert(loop::sqrt(x * x + y * y), DType::F32);
  return select(infinite(real(z)) | infinite(imag(z)), number(value, kInfinity), value);
}
Expr angle(Expr z) { return math::atan2(imag(z), real(z)); }
Expr sign(Expr z) { return by_parts<sign_parts>(z); }
Expr conj(Expr z) { return complex(real(z), -imag(z)); }
Expr square(Expr z) { return z * z; }
Expr reciprocal(Expr z) {
  Parts r = reciprocal_of({real(z), imag(z)});
  return complex(r.x, r.y);
}
Expr exp(Expr z) { return by_parts<exp_parts>(z); }
Expr expm1(Expr z) { return by_parts<expm1_parts>(z); }
Expr exp2(Expr z) { return by_parts<exp2_parts>(z); }
Expr log(Expr z) { return by_parts<log_parts>(z); }
Expr log2(Expr z) { return by_parts<scaled_log<M_LOG2E>>(z); }
Expr log10(Expr z) { return by_parts<scaled_log<M_LOG10E>>(z); }
Expr log1p(Expr z) { return by_parts<log1p_parts>(z); }
Expr sqrt(Expr z) { return by_parts<sqrt_parts>(z); }
Expr rsqrt(Expr z) { return by_parts<rsqrt_parts>(z); }
Expr sin(Expr z) { return by_parts<sin_parts>(z); }
Expr cos(Expr z) { return by_parts<cos_parts>(z); }
Expr tan(Expr z) { return by_parts<turned<tanh_parts>>(z); }
Expr asin(Expr z) { return by_parts<asin_parts>(z); }
Expr acos(Expr z) { return by_parts<acos_parts>(z); }
Expr atan(Expr z) { return by_parts<turned<atanh_parts>>(z); }
Expr sinh(Expr z) { return by_parts<sinh_parts>(z); }
Expr cosh(Expr z) { return by_parts<cosh_parts>(z); }
Expr tanh(Expr z) { return by_parts<tanh_parts>(z); }
Expr asinh(Expr z) { return by_parts<turned<asin_parts>>(z); }
Expr acosh(Expr z) { return by_parts<acosh_parts>(z); }
Expr atanh(Expr z) { return by_parts<atanh_parts>(z); }

Expr pow(Expr z, Expr w) {
  Parts a = widened(z), b = widened(w);
  Expr zero = number(a.x, 0), one = number(a.x, 1), nan = not_a_number(a.x);
  Parts l = log_parts(a);
  Parts general = exp_parts(times(b, {kept(l.x), kept(l.y)}));
  Expr real_exponent = b.y == zero;
  Expr whole = kept(real_exponent & (loop::trunc(b.x) == b.x) & (loop::abs(b.x) < 100.0));
  Parts by_whole = whole_power(a, b.x);
  Expr no_base = (a.x == zero) & (a.y == zero), no_exponent = real_exponent & (b.x == zero);
  Expr vanishes = real_exponent & (b.x > zero);
  auto choose = [&](Expr of_general, Expr of_whole, Expr of_nothing) {
    Expr of_zero = select(vanishes, zero, nan);
    return select(no_exponent, of_nothing, select(no_base, of_zero, select(whole, of_whole, of_general)));
  };
  return narrowed({choose(general.x, by_whole.x, one), choose(general.y, by_whole.y, zero)}, z.type());
}

}  // namespace ig::loop::complex_math
