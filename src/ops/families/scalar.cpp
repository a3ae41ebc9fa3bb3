// The scalar loop code declared in scalar.h.
#include "ops/families/scalar.h"

#include <limits>

namespace ig::ops::scalar {

using loop::Expr;

Expr truth(loop::Builder& build, bool value) { return build.constant_bits(DType::Bool, value); }

DType bits_type(DType dtype) {
  switch (size_of(dtype)) {
    case 1: return DType::U8;
    case 2: return DType::U16;
    case 4: return DType::U32;
    default: return DType::U64;
  }
}

Expr bits(Expr x) {
  DType to = bits_type(x.type());
  return x.type() == to ? x : loop::bitcast(x, to);
}
Expr number(Expr like, double value) { return like.builder().constant(like.type(), value); }
Expr whole(Expr like, int64_t value) { return like.builder().constant_int(like.type(), value); }

Expr is_nan(Expr x) { return is_float(x.type()) ? x != x : truth(x.builder(), false); }
Expr is_inf(Expr x) {
  if (!is_float(x.type())) return truth(x.builder(), false);
  return loop::abs(x) == std::numeric_limits<double>::infinity();
}
Expr is_finite(Expr x) {
  if (!is_float(x.type())) return truth(x.builder(), true);
  return loop::abs(x) < std::numeric_limits<double>::infinity();
}

namespace {
Expr sign_mask(Expr x) {
  return x.builder().constant_bits(bits_type(x.type()), uint64_t{1} << (info(x.type()).bits - 1));
}
}  // namespace

Expr sign_bit(Expr x) {
  Expr mask = sign_mask(x);
  return (bits(x) & mask) == mask;
}
Expr copysign(Expr magnitude, Expr sign) {
  return loop::bitcast(bits(loop::abs(magnitude)) | (bits(sign) & sign_mask(sign)), magnitude.type());
}

// Equal floats differ at most in the sign of a zero, which `and` and `or` of the bits settle.
Expr maximum(Expr a, Expr b) {
  if (a.type() == DType::Bool) return a | b;
  if (!is_float(a.type())) return loop::select(a < b, b, a);
  Expr greater = loop::select((a < b) | is_nan(b), b, a);
  return loop::select(a == b, loop::bitcast(bits(a) & bits(b), a.type()), greater);
}
Expr minimum(Expr a, Expr b) {
  if (a.type() == DType::Bool) return a & b;
  if (!is_float(a.type())) return loop::select(b < a, b, a);
  Expr lesser = loop::select((b < a) | is_nan(b), b, a);
  return loop::select(a == b, loop::bitcast(bits(a) | bits(b), a.type()), lesser);
}

Expr lowest(loop::Builder& build, DType dtype) {
  if (is_float(dtype)) return build.constant(dtype, -std::numeric_limits<double>::infinity());
  if (!is_signed_int(dtype)) return build.constant_bits(dtype, 0);
  return build.constant_int(dtype, std::numeric_limits<int64_t>::min() >> (64 - info(dtype).bits));
}
Expr highest(loop::Builder& build, DType dtype) {
  if (is_float(dtype)) return build.constant(dtype, std::numeric_limits<double>::infinity());
  if (dtype == DType::Bool) return truth(build, true);
  uint64_t ones = ~uint64_t{0} >> (64 - info(dtype).bits);
  return build.constant_bits(dtype, is_signed_int(dtype) ? ones >> 1 : ones);
}

Quotient divide(Expr x, Expr y) {
  Expr zero = y == whole(y, 0), one = whole(y, 1), unsafe = zero;
  if (is_signed_int(x.type())) unsafe = unsafe | ((y == whole(y, -1)) & (x == lowest(x.builder(), x.type())));
  Expr divisor = loop::select(unsafe, one, y);
  return {loop::select(zero, whole(x, -1), x / divisor), loop::select(zero, x, x % divisor)};
}

Quotient divide_floor(Expr x, Expr y) {
  if (!is_float(x.type())) {
    Quotient q = divide(x, y);
    if (!is_signed_int(x.type())) return q;
    Expr zero = whole(x, 0);
    Expr down = (q.remainder != zero) & ((q.remainder ^ y) < zero) & (y != zero);
    return {loop::select(down, q.quotient - whole(x, 1), q.quotient), loop::select(down, q.remainder + y, q.remainder)};
  }
  Expr remainder = x % y, quotient = (x - remainder) / y;
  Expr down = (remainder != 0.0) & ((y < 0.0) ^ (remainder < 0.0));
  Expr mod = loop::select(down, remainder + y, loop::select(remainder == 0.0, copysign(number(x, 0), y), remainder));
  quotient = loop::select(down, quotient - 1.0, quotient);
  Expr floored = loop::floor(quotient);
  floored = loop::select(quotient - floored > 0.5, floored + 1.0, floored);
  Expr plain = x / y;
  Expr whole_quotient = loop::select(quotient == 0.0, copysign(number(x, 0), plain), floored);
  return {loop::select(y == 0.0, plain, whole_quotient), mod};
}

namespace {
Expr in_range(Expr by) {
  return bits(by) < by.builder().constant_int(bits_type(by.type()), info(by.type()).bits);
}
Expr masked(Expr by) { return by & whole(by, info(by.type()).bits - 1); }
}  // namespace

Expr shift_left(Expr x, Expr by) { return loop::select(in_range(by), loop::shift_left(x, masked(by)), whole(x, 0)); }
Expr shift_right_logical(Expr x, Expr by) {
  return loop::select(in_range(by), loop::shift_right_logical(x, masked(by)), whole(x, 0));
}
Expr shift_right(Expr x, Expr by) {
  if (is_unsigned_int(x.type())) return scalar::shift_right_logical(x, by);
  Expr last = whole(by, info(by.type()).bits - 1);
  return loop::shift_right(x, loop::select(in_range(by), masked(by), last));
}

// Squaring, bit by bit of the exponent; a negative exponent gives 0, but for the bases 1 and -1.
Expr integer_power(Expr x, Expr n, loop::Builder& build) {
  int lanes = build.enclosing_lanes();
  uint32_t power = build.local(x.type(), lanes, 1, "power"), base = build.local(x.type(), lanes, 1, "base"),
           left = build.local(bits_type(x.type()), lanes, 1, "left");
  Expr one = whole(x, 1), zero = whole(x, 0), low = build.constant_int(bits_type(x.type()), 1);
  build.assign(power, one);
  build.assign(base, x);
  build.assign(left, bits(n));
  build.serial_for(build.index(0), build.index(info(x.type()).bits), [&](Expr) {
    Expr before = build.let(build.read(base)), rest = build.let(build.read(left));
    build.assign(power, loop::select((rest & low) == low, build.read(power) * before, build.read(power)));
    build.assign(base, before * before);
    build.assign(left, loop::shift_right_logical(rest, low));
  });
  Expr result = build.let(build.read(power));
  if (is_unsigned_int(x.type())) return result;
  Expr minus = whole(x, -1);
  Expr of_minus_one = loop::select((n & one) == one, minus, one);
  Expr reciprocal = loop::select(x == one, one, loop::select(x == minus, of_minus_one, zero));
  return loop::select(n < zero, reciprocal, result);
}

Expr next_after(Expr x, Expr towards) {
  DType type = bits_type(x.type());
  loop::Builder& build = x.builder();
  Expr one = build.constant_int(type, 1), raw = bits(x);
  Expr away = (towards > x) ^ sign_bit(x);  // the magnitude grows
  Expr stepped = loop::bitcast(loop::select(away, raw + one, raw - one), x.type());
  Expr least = loop::bitcast(one | (bits(towards) & sign_mask(towards)), x.type());
  Expr moved = loop::select(x == 0.0, least, stepped);
  Expr result = loop::select(x == towards, towards, moved);
  return loop::select(is_nan(x), x, loop::select(is_nan(towards), towards, result));
}

Expr log_add_exp(Expr x, Expr y) {
  Expr greater = loop::select(x > y, x, y);
  Expr sum = greater + loop::math::log1p(loop::math::exp(-loop::abs(x - y)));
  return loop::select(x == y, x + 0.69314718055994530942, sum);
}

Expr to_odd_f32(Expr x) {
  loop::Builder& build = x.builder();
  Expr near = loop::convert(x, DType::F32), back = loop::convert(near, DType::F64);
  Expr raw = loop::bitcast(near, DType::U32), one = build.constant_int(DType::U32, 1);
  Expr inward = loop::select(loop::abs(back) > loop::abs(x), raw - one, raw);
  return loop::select((back == x) | is_nan(x), near, loop::bitcast(inward | one, DType::F32));
}

}  // namespace ig::ops::scalar
