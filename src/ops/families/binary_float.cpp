// Powers, angles, lengths, and what touches the representation of floats (copysign, nextafter).
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/families/binary.h"

namespace ig::ops {
namespace {

using namespace elements;
using loop::Expr;
using scalar::rule2;
namespace math = loop::math;

// --- power -----------------------------------------------------------------------------------------------------------
template <typename T>
T whole_power(T x, T n) {
  if constexpr (std::is_signed_v<T>)
    if (n < 0) return x == 1 ? T(1) : x == -1 ? (n % 2 ? T(-1) : T(1)) : T(0);
  auto power = bits_of(T(1)), base = bits_of(x);
  for (auto left = static_cast<uint64_t>(n); left; left >>= 1) {
    if (left & 1) power *= base;
    base *= base;
  }
  return static_cast<T>(power);
}
Expr power_rule(ScalarContext& c) {
  if (is_float(c.x[0].type())) return math::pow(c.x[0], c.x[1]);
  return scalar::integer_power(c.x[0], c.x[1], c.build);
}
// Only what is no less exact than the stated bound, for every x.
Value simplify_power(SimplifyContext& c) {
  Value x = c.node->operand(0), n = c.node->operand(1);
  if (is_complex(x->type().dtype)) return nullptr;
  if (is_number(n, 1)) return x;
  if (is_number(n, 2)) return c.build("multiply", {x, x});
  if (is_number(n, 3)) return c.build("multiply", {c.build("multiply", {x, x}), x});
  if (is_number(n, 0) || is_number(n, -0.0)) return c.build.full_like(x, 1);
  if (is_number(n, -1) && is_float(x->type().dtype)) return c.build("reciprocal", {x});
  return nullptr;
}
Value power_by_base(Compose& m, Value x, Value n, Value, Value t) {  // n x^(n-1), and 0 where n is 0
  Value zero = m.equal(n, m.number(n, 0));
  Value slope = m.mul(n, m.b("power", {x, m.where(zero, m.number(n, 1), m.sub(n, 1))}));
  return m.mul(t, m.where(zero, m.number(n, 0), slope));
}
Value power_by_exponent(Compose& m, Value x, Value, Value z, Value t) {  // log(x) x^n, and 0 where x is 0
  Value base = m.where(m.equal(x, m.number(x, 0)), m.number(x, 1), x);
  return m.mul(t, m.mul(m.log(base), z));
}
std::vector<Value> jvp_power(JvpContext& c) {
  if (is_integer(c.operands[0]->type().dtype)) return no_tangents(c);
  return parts_jvp<power_by_base, power_by_exponent>(c);
}

// --- angles ----------------------------------------------------------------------------------------------------------
Value square_sum(Compose& m, Value x, Value y) { return m.add(m.mul(x, x), m.mul(y, y)); }

// Squares of F32 are exact in F64; those of F64 are scaled by a power of two, so that they neither overflow nor vanish.
Expr hypot_rule(Expr x, Expr y) {
  Expr infinity = scalar::number(x, std::numeric_limits<double>::infinity());
  Expr infinite = scalar::is_inf(x) | scalar::is_inf(y);
  if (x.type() == DType::F32) {
    Expr p = loop::convert(x, DType::F64), q = loop::convert(y, DType::F64);
    return loop::select(infinite, infinity, loop::convert(loop::sqrt(p * p + q * q), DType::F32));
  }
  Expr a = loop::abs(x), b = loop::abs(y), greater = loop::select(a > b, a, b);
  auto by_size = [&](double huge, double tiny) {
    Expr small = loop::select(greater < 0x1p-500, scalar::number(x, tiny), scalar::number(x, 1));
    return loop::select(greater > 0x1p500, scalar::number(x, huge), small);
  };
  Expr scale = by_size(0x1p-600, 0x1p700), back = by_size(0x1p600, 0x1p-700);
  Expr u = a * scale, v = b * scale;
  return loop::select(infinite, infinity, loop::sqrt(u * u + v * v) * back);
}

// --- representation ----------------------------------------------------------------------------------------------------
template <auto Next>
void reference_next(ReferenceContext& c) {
  DType dtype = c.operands[0].dtype();
  if (size_of(dtype) != 2) return reference2<DTypeSet::Float, Next>(c);
  const bool half = dtype == DType::F16;
  for (int64_t i = 0; i < c.results[0].elements(); ++i) {
    auto x = static_cast<float>(c.operands[0].as_double(i)), y = static_cast<float>(c.operands[1].as_double(i));
    auto bits = As<uint16_t>::get(c.operands[0], i);
    if (std::isnan(x) || std::isnan(y)) bits = half ? f32_to_f16(x + y) : f32_to_bf16(x + y);
    else if (x == y) bits = As<uint16_t>::get(c.operands[1], i);
    else if (x == 0) bits = y < 0 ? 0x8001 : 1;
    else bits = static_cast<uint16_t>((y > x) == (x > 0) ? bits + 1 : bits - 1);
    As<uint16_t>::put(c.results[0], i, bits);
  }
}
// The step is one of the operands' own type, so 16-bit floats go back to it.
Expr next_rule(ScalarContext& c) {
  DType own = c.node->operand(0)->type().dtype;
  if (own == c.x[0].type()) return scalar::next_after(c.x[0], c.x[1]);
  Expr x = c.x[0], y = c.x[1];
  Expr raw = loop::bitcast(loop::convert(x, own), DType::U16), target = loop::bitcast(loop::convert(y, own), DType::U16);
  Expr one = scalar::whole(raw, 1), sign = c.build.constant_bits(DType::U16, 0x8000);
  Expr away = (y > x) ^ (x < 0.0);
  Expr moved = loop::select(x == 0.0, one | (target & sign), loop::select(away, raw + one, raw - one));
  Expr result = loop::convert(loop::bitcast(loop::select(x == y, target, moved), own), x.type());
  return loop::select(scalar::is_nan(x), x, loop::select(scalar::is_nan(y), y, result));
}

template <typename T>
T log_add_exp(T x, T y) {
  if (x == y) return x + std::numbers::ln2_v<T>;
  return std::max(x, y) + std::log1p(std::exp(-std::abs(x - y)));
}
template <bool First>
Value log_add_exp_part(Compose& m, Value x, Value y, Value, Value t) {
  Value share = m.logistic(First ? m.sub(x, y) : m.sub(y, x));
  return m.mul(t, m.where(m.equal(x, y), m.number(x, 0.5), share));
}

}  // namespace

std::vector<Op> binary_float_ops() {
  std::vector<Op> ops;
  ops.push_back(binary({.name = "power", .python = "pow",
      .doc = "x1 to the power x2.\n\nOf floats as C's pow: pow(x, 0) and pow(1, y) are 1, also of NaN. Integers wrap; a "
             "negative exponent gives 0, but for the bases 1 and -1. StableHLO power.",
      .numpy = "np.power(x1, x2)", .dtypes = DTypeSet::Numeric, .low = 0.5, .high = 4, .ulp = 4,
      .reference = reference2<DTypeSet::Numeric, [](auto x, auto y) {
        if constexpr (std::is_integral_v<decltype(x)>) return whole_power(x, y);
        else return std::pow(wide(x), wide(y));
      }>,
      .scalar = power_rule, .jvp = jvp_power, .simplify = simplify_power}));
  ops.push_back(binary({.name = "atan2", .python = "atan2",
      .doc = "The angle in [-pi, pi] of the point (x2, x1).\n\nAs C's atan2(x1, x2), signs of zeros and infinities "
             "included. StableHLO atan2.",
      .numpy = "np.arctan2(x1, x2)", .ulp = 4,
      .reference = reference2<DTypeSet::Float, [](auto y, auto x) { return std::atan2(wide(y), wide(x)); }>,
      .scalar = rule2<[](Expr y, Expr x) { return math::atan2(y, x); }>,
      .jvp = parts_jvp<[](Compose& m, Value y, Value x, Value, Value t) { return m.div(m.mul(t, x), square_sum(m, x, y)); },
                       [](Compose& m, Value y, Value x, Value, Value t) {
                         return m.neg(m.div(m.mul(t, y), square_sum(m, x, y)));
                       }>}));
  ops.push_back(binary({.name = "hypot", .python = "hypot",
      .doc = "sqrt(x1 * x1 + x2 * x2), without overflow of the squares.\n\ninf if either is infinite, even beside NaN.",
      .numpy = "np.hypot(x1, x2)", .ulp = 2, .traits = static_cast<uint32_t>(Trait::Commutative),
      .reference = reference2<DTypeSet::Float, [](auto x, auto y) { return std::hypot(wide(x), wide(y)); }>,
      .scalar = rule2<hypot_rule>,
      .jvp = parts_jvp<[](Compose& m, Value x, Value, Value z, Value t) { return m.mul(t, m.div(x, z)); },
                       [](Compose& m, Value, Value y, Value z, Value t) { return m.mul(t, m.div(y, z)); }>}));
  ops.push_back(binary({.name = "logaddexp", .python = "logaddexp",
      .doc = "log(exp(x1) + exp(x2)), without overflow.",
      .numpy = "np.logaddexp(x1, x2)", .ulp = 8, .traits = static_cast<uint32_t>(Trait::Commutative),
      .reference = reference2<DTypeSet::Float, [](auto x, auto y) { return log_add_exp(wide(x), wide(y)); }>,
      .scalar = rule2<[](Expr x, Expr y) { return scalar::log_add_exp(x, y); }>,
      .jvp = parts_jvp<log_add_exp_part<true>, log_add_exp_part<false>>}));
  ops.push_back(binary({.name = "copysign", .python = "copysign",
      .doc = "x1 with the sign of x2, that of zeros and NaN too.",
      .numpy = "np.copysign(x1, x2)", .traits = static_cast<uint32_t>(Trait::Cheap),
      .reference = reference2<DTypeSet::Float, [](auto x, auto y) { return std::copysign(x, y); }>,
      .scalar = rule2<[](Expr x, Expr y) { return scalar::copysign(x, y); }>,
      .jvp = parts_jvp<[](Compose& m, Value x, Value y, Value, Value t) {
                         return m.mul(t, m.b("copysign", {m.number(x, 1), m.mul(m.b("sign", {x}), y)}));
                       },
                       [](Compose& m, Value x, Value, Value, Value) { return m.number(x, 0); }>}));
  ops.push_back(binary({.name = "nextafter", .python = "nextafter",
      .doc = "The number next to x1 of its type, in the direction of x2; x2 itself where they are equal.",
      .numpy = "np.nextafter(x1, x2)",
      .reference = reference_next<[](auto x, auto y) { return std::nextafter(x, y); }>,
      .scalar = next_rule, .jvp = tools::no_rule("a step to the next number of the type has no derivative")}));
  return ops;
}

}  // namespace ig::ops
