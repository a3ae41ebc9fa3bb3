// Arithmetic of two numbers: sums, products, quotients and their remainders, extremes. Integers wrap; integer
// division is defined everywhere (see ir/graph.h).
#include <cmath>

#include "ops/families/binary.h"
#include "ops/families/families.h"

namespace ig::ops {
namespace {

using namespace elements;
using loop::Expr;
using scalar::rule2;

constexpr uint32_t kCheap = static_cast<uint32_t>(Trait::Cheap);

// An operation on numbers of any numeric type, where integers wrap.
template <auto Fn>
constexpr ReferenceFn wrapping = reference2<DTypeSet::Numeric, [](auto x, auto y) {
  if constexpr (std::is_integral_v<decltype(x)>) return static_cast<decltype(x)>(Fn(bits_of(x), bits_of(y)));
  else return Fn(x, y);
}>;

bool is_whole(Value v) { return is_integer(v->type().dtype); }
bool is_real(Value v) { return !is_complex(v->type().dtype); }

// --- rules -----------------------------------------------------------------------------------------------------------
Value simplify_add(SimplifyContext& c) {
  Value x = c.node->operand(0), y = c.node->operand(1);
  for (auto [a, b] : {std::pair{x, y}, std::pair{y, x}}) {
    if (is_number(b, is_whole(b) ? 0.0 : -0.0)) return a;                 // x + 0 = x, x + (-0.0) = x
    if (const Node* n = made_by(b, OpId::of("negate")); n && is_real(a)) return c.build("subtract", {a, n->operand(0)});
  }
  return nullptr;
}
Value simplify_subtract(SimplifyContext& c) {
  Value x = c.node->operand(0), y = c.node->operand(1);
  if (is_number(y, 0.0)) return x;                                        // x - 0 = x, also for -0
  if (is_whole(x) && x == y) return c.build.full_like(x, 0);              // x - x = 0; inf - inf is NaN
  if (is_number(x, is_whole(x) ? 0.0 : -0.0)) return c.build("negate", {y});
  if (const Node* n = made_by(y, OpId::of("negate")); n && is_real(x)) return c.build("add", {x, n->operand(0)});
  return nullptr;
}
Value simplify_multiply(SimplifyContext& c) {
  Value x = c.node->operand(0), y = c.node->operand(1);
  for (auto [a, b] : {std::pair{x, y}, std::pair{y, x}}) {
    if (is_number(b, 1)) return a;                                        // x * 1 = x
    if (is_number(b, -1) && !is_unsigned_int(b->type().dtype)) return c.build("negate", {a});
    if (is_whole(b) && is_number(b, 0)) return b;                         // x * 0 = 0; inf * 0 is NaN
  }
  return nullptr;
}
Value simplify_divide(SimplifyContext& c) {
  Value x = c.node->operand(0), y = c.node->operand(1);
  if (is_whole(x) || !is_real(x)) return nullptr;
  if (is_number(y, 1)) return x;
  auto number = uniform(y);
  if (!number || !is_float(number->dtype())) return nullptr;
  double divisor = number->as_double(0);
  int exponent;
  // x / 2^k = x * 2^-k exactly, where both powers are normal numbers of the type.
  int limit = number->dtype() == DType::F16 ? 12 : 100;
  if (divisor == 0 || !std::isfinite(divisor) || std::abs(std::frexp(divisor, &exponent)) != 0.5 || std::abs(exponent) > limit)
    return nullptr;
  return c.build("multiply", {x, c.build.full_like(x, 1 / divisor)});
}
Value simplify_extreme(SimplifyContext& c) {
  return c.node->operand(0) == c.node->operand(1) ? c.node->operand(0) : nullptr;
}

std::vector<Value> transpose_add(TransposeContext& c) {
  Value ct = c.cotangents[0];
  return {c.linear[0] ? ct : nullptr, c.linear[1] ? ct : nullptr};
}
std::vector<Value> transpose_subtract(TransposeContext& c) {
  Value ct = c.cotangents[0];
  return {c.linear[0] ? ct : nullptr, c.linear[1] && ct ? c.build("negate", {ct}) : nullptr};
}
std::vector<Value> transpose_multiply(TransposeContext& c) {
  Value ct = c.cotangents[0];
  if (!ct) return {nullptr, nullptr};
  if (c.linear[0]) return {c.build("multiply", {ct, c.operands[1]}), nullptr};
  return {nullptr, c.build("multiply", {c.operands[0], ct})};
}
std::vector<Value> transpose_divide(TransposeContext& c) {
  Value ct = c.cotangents[0];
  return {ct && c.linear[0] ? c.build("divide", {ct, c.operands[1]}) : nullptr, nullptr};
}

void infer_divide(InferContext& c) {
  infer_same(c);
  if (is_integer(c.results[0].dtype)) c.results[0].dtype = DType::F32;
}
Expr divide_rule(ScalarContext& c) {
  if (is_float(c.x[0].type())) return c.x[0] / c.x[1];
  return loop::convert(c.x[0], DType::F32) / loop::convert(c.x[1], DType::F32);
}
std::vector<Value> jvp_divide(JvpContext& c) {
  if (is_integer(c.operands[0]->type().dtype)) return no_tangents(c);
  return parts_jvp<[](Compose& m, Value, Value y, Value, Value t) { return m.div(t, y); },
                   [](Compose& m, Value, Value y, Value z, Value t) { return m.neg(m.mul(m.div(z, y), t)); }>(c);
}

// The share of the tangent that goes to the first operand of maximum and minimum: half where both are equal.
Value share(Compose& m, Value x, Value z) {
  return m.where(m.equal(x, z), m.number(x, 1), m.number(x, 0));
}
template <bool First>
Value extreme_part(Compose& m, Value x, Value y, Value z, Value t) {
  Value mine = share(m, First ? x : y, z), other = share(m, First ? y : x, z);
  return m.mul(t, m.div(mine, m.add(mine, other)));
}

std::vector<Value> jvp_extreme(JvpContext& c) {
  return parts_jvp<[](Compose& m, Value x, Value y, Value z, Value t) { return extreme_part<true>(m, x, y, z, t); },
                   [](Compose& m, Value x, Value y, Value z, Value t) { return extreme_part<false>(m, x, y, z, t); }>(c);
}

// --- references --------------------------------------------------------------------------------------------------------
template <typename T>
T truncated(T x, T y) {
  if (y == 0) return static_cast<T>(-1);
  if constexpr (std::is_signed_v<T>)
    if (y == -1) return static_cast<T>(0 - bits_of(x));
  return static_cast<T>(x / y);
}
template <typename T>
T rest(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(x, y);
  } else {
    if (y == 0) return x;
    if constexpr (std::is_signed_v<T>)
      if (y == -1) return 0;
    return static_cast<T>(x % y);
  }
}
template <typename T>
T modulo(T x, T y) {  // the sign of the divisor, as Python's %
  T r = rest(x, y);
  if constexpr (std::is_floating_point_v<T>) {
    if (r == 0) return std::copysign(T(0), y);
    return (r < 0) != (y < 0) && !std::isnan(r) ? r + y : r;
  } else {
    return y != 0 && r != 0 && (r < 0) != (y < 0) ? static_cast<T>(r + y) : r;
  }
}
template <typename T>
T floored(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    if (y == 0) return x / y;
    T r = std::fmod(x, y), q = (x - r) / y;
    if (r != 0 && (r < 0) != (y < 0)) q -= 1;
    if (q == 0) return std::copysign(T(0), x / y);
    T f = std::floor(q);
    return q - f > T(0.5) ? f + 1 : f;
  } else {
    T q = truncated(x, y);
    return y != 0 && rest(x, y) != 0 && (x < 0) != (y < 0) ? static_cast<T>(q - 1) : q;
  }
}

void sums(std::vector<Op>& ops) {
  ops.push_back(binary({.name = "add", .python = "add", .doc = "x1 + x2; integers wrap.\n\nStableHLO add.",
      .numpy = "np.add(x1, x2)", .dtypes = DTypeSet::Numeric, .traits = kCheap | Trait::Commutative | Trait::Linear,
      .reference = wrapping<[](auto x, auto y) { return x + y; }>,
      .scalar = rule2<[](Expr x, Expr y) { return x + y; }>,
      .jvp = parts_jvp<[](Compose&, Value, Value, Value, Value t) { return t; },
                       [](Compose&, Value, Value, Value, Value t) { return t; }>,
      .transpose = transpose_add, .simplify = simplify_add}));
  ops.push_back(binary({.name = "subtract", .python = "subtract",
      .doc = "x1 - x2; integers wrap.\n\nStableHLO subtract.",
      .numpy = "np.subtract(x1, x2)", .dtypes = DTypeSet::Numeric, .traits = kCheap | Trait::Linear,
      .reference = wrapping<[](auto x, auto y) { return x - y; }>,
      .scalar = rule2<[](Expr x, Expr y) { return x - y; }>,
      .jvp = parts_jvp<[](Compose&, Value, Value, Value, Value t) { return t; },
                       [](Compose& m, Value, Value, Value, Value t) { return m.neg(t); }>,
      .transpose = transpose_subtract, .simplify = simplify_subtract}));
  ops.push_back(binary({.name = "multiply", .python = "multiply",
      .doc = "x1 * x2; integers wrap.\n\nStableHLO multiply.",
      .numpy = "np.multiply(x1, x2)", .dtypes = DTypeSet::Numeric, .traits = kCheap | Trait::Commutative,
      .reference = wrapping<[](auto x, auto y) { return x * y; }>,
      .scalar = rule2<[](Expr x, Expr y) { return x * y; }>,
      .jvp = parts_jvp<[](Compose& m, Value, Value y, Value, Value t) { return m.mul(t, y); },
                       [](Compose& m, Value x, Value, Value, Value t) { return m.mul(x, t); }>,
      .transpose = transpose_multiply, .simplify = simplify_multiply}));
}

void quotients(std::vector<Op>& ops) {
  ops.push_back(binary({.name = "divide", .python = "divide",
      .doc = "x1 / x2, rounded correctly.\n\nIntegers are divided as float32 and give float32: whole quotients are "
             "floor_divide's. Of floats StableHLO divide.",
      .numpy = "np.divide(x1, x2)", .dtypes = DTypeSet::Numeric, .low = 0.5, .high = 9, .infer = infer_divide,
      .reference = reference2<DTypeSet::Numeric, [](auto x, auto y) {
        if constexpr (std::is_integral_v<decltype(x)>) return static_cast<float>(x) / static_cast<float>(y);
        else return x / y;
      }>,
      .scalar = divide_rule, .jvp = jvp_divide, .transpose = transpose_divide, .simplify = simplify_divide}));
  ops.push_back(binary({.name = "divide_truncated", .python = "",
      .doc = "The whole quotient of integers, towards zero.\n\nBy zero it is -1 (all ones); the least number by -1 "
             "wraps to itself. StableHLO divide on integers.",
      .numpy = "np.trunc(x1 / x2)", .dtypes = DTypeSet::Integer, .low = 1, .high = 50,
      .reference = reference2<DTypeSet::Integer, [](auto x, auto y) { return truncated(x, y); }>,
      .scalar = rule2<[](Expr x, Expr y) { return scalar::divide(x, y).quotient; }>}));
  ops.push_back(binary({.name = "floor_divide", .python = "floor_divide",
      .doc = "The greatest whole number not above x1 / x2, as Python's //.\n\nOf integers: by zero it is -1 (all ones); "
             "the least number by -1 wraps to itself. Of floats: x1 / x2 where x2 is 0; so computed that "
             "floor_divide * x2 + remainder is x1.",
      .numpy = "np.floor_divide(x1, x2)", .dtypes = DTypeSet::Real, .low = 1, .high = 50,
      .reference = reference2<DTypeSet::Real, [](auto x, auto y) { return floored(x, y); }>,
      .scalar = rule2<[](Expr x, Expr y) { return scalar::divide_floor(x, y).quotient; }>}));
  ops.push_back(binary({.name = "remainder", .python = "fmod",
      .doc = "The rest of the division of x1 by x2 towards zero; it has the sign of x1.\n\nExact. Of integers: by zero it "
             "is x1. Of floats: NaN where x2 is 0 or x1 infinite. StableHLO remainder, C's fmod and %.",
      .numpy = "np.fmod(x1, x2)", .dtypes = DTypeSet::Real, .low = 1, .high = 50,
      .reference = reference2<DTypeSet::Real, [](auto x, auto y) { return rest(x, y); }>,
      .scalar = rule2<[](Expr x, Expr y) { return is_float(x.type()) ? x % y : scalar::divide(x, y).remainder; }>,
      .jvp = parts_jvp<[](Compose&, Value, Value, Value, Value t) { return t; },
                       [](Compose& m, Value x, Value y, Value, Value t) {
                         return m.neg(m.mul(m.b("trunc", {m.div(x, y)}), t));
                       }>}));
  ops.push_back(binary({.name = "floor_mod", .python = "remainder",
      .doc = "The rest of the division of x1 by x2 towards minus infinity; it has the sign of x2, as Python's %.\n\nOf "
             "integers: by zero it is x1. Of floats: NaN where x2 is 0 or x1 infinite.",
      .numpy = "np.remainder(x1, x2)", .dtypes = DTypeSet::Real, .low = 1, .high = 50,
      .reference = reference2<DTypeSet::Real, [](auto x, auto y) { return modulo(x, y); }>,
      .scalar = rule2<[](Expr x, Expr y) { return scalar::divide_floor(x, y).remainder; }>,
      .jvp = parts_jvp<[](Compose&, Value, Value, Value, Value t) { return t; },
                       [](Compose& m, Value x, Value y, Value, Value t) {
                         return m.neg(m.mul(m.b("floor", {m.div(x, y)}), t));
                       }>}));
}

void extremes(std::vector<Op>& ops) {
  ops.push_back(binary({.name = "maximum", .python = "maximum",
      .doc = "The greater of x1 and x2.\n\nNaN if either is NaN; +0 is above -0. StableHLO maximum.",
      .numpy = "np.maximum(x1, x2)", .dtypes = DTypeSet::Real, .traits = kCheap | Trait::Commutative,
      .reference = reference2<DTypeSet::Real, [](auto x, auto y) { return greatest(x, y); }>,
      .scalar = rule2<[](Expr x, Expr y) { return scalar::maximum(x, y); }>,
      .jvp = jvp_extreme, .simplify = simplify_extreme}));
  ops.push_back(binary({.name = "minimum", .python = "minimum",
      .doc = "The lesser of x1 and x2.\n\nNaN if either is NaN; -0 is below +0. StableHLO minimum.",
      .numpy = "np.minimum(x1, x2)", .dtypes = DTypeSet::Real, .traits = kCheap | Trait::Commutative,
      .reference = reference2<DTypeSet::Real, [](auto x, auto y) { return least(x, y); }>,
      .scalar = rule2<[](Expr x, Expr y) { return scalar::minimum(x, y); }>,
      .jvp = jvp_extreme, .simplify = simplify_extreme}));
}

}  // namespace

std::vector<Op> binary_ops() {
  std::vector<Op> ops;
  sums(ops);
  quotients(ops);
  extremes(ops);
  for (Op& op : binary_float_ops()) ops.push_back(std::move(op));
  return ops;
}

}  // namespace ig::ops
