// Element-wise arithmetic of two operands. Integers wrap; division and remainder by zero, and by -1 of the
// least integer, are defined as the IR's header says, so no rule can trap.
#include <bit>
#include <limits>

#include "loop/math_complex.h"
#include "loop/math_detail.h"
#include "ops/attrs.h"
#include "ops/families/compose.h"
#include "ops/families/derivative_rules.h"
#include "ops/families/elementwise.h"
#include "ops/families/families.h"

namespace ig::ops {
namespace {

using loop::Expr;
namespace math = loop::math;

constexpr uint32_t kCheap = static_cast<uint32_t>(Trait::Cheap);

uint64_t u(int64_t x) { return static_cast<uint64_t>(x); }
int64_t s(uint64_t x) { return static_cast<int64_t>(x); }
int64_t least(DType d) { return std::numeric_limits<int64_t>::min() >> (64 - info(d).bits); }

int64_t whole_add(int64_t x, int64_t y, DType) { return s(u(x) + u(y)); }
int64_t whole_subtract(int64_t x, int64_t y, DType) { return s(u(x) - u(y)); }
int64_t whole_multiply(int64_t x, int64_t y, DType) { return s(u(x) * u(y)); }
int64_t whole_divide(int64_t x, int64_t y, DType d) {
  if (y == 0) return -1;
  if (is_unsigned_int(d)) return s(u(x) / u(y));
  return x == least(d) && y == -1 ? x : x / y;
}
int64_t whole_remainder(int64_t x, int64_t y, DType d) {
  if (y == 0) return x;
  if (is_unsigned_int(d)) return s(u(x) % u(y));
  return y == -1 ? 0 : x % y;
}
int64_t whole_floor_divide(int64_t x, int64_t y, DType d) {
  if (y == 0) return -1;
  if (is_unsigned_int(d)) return s(u(x) / u(y));
  if (x == least(d) && y == -1) return x;
  return x / y - (x % y != 0 && ((x < 0) != (y < 0)));
}
int64_t whole_floor_mod(int64_t x, int64_t y, DType d) {
  if (y == 0) return x;
  if (is_unsigned_int(d)) return s(u(x) % u(y));
  if (y == -1) return 0;
  int64_t r = x % y;
  return r != 0 && ((r < 0) != (y < 0)) ? r + y : r;
}
int64_t whole_power(int64_t x, int64_t y, DType d) {
  if (is_signed_int(d) && y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
  uint64_t out = 1, base = u(x);
  for (uint64_t n = u(y); n; n >>= 1, base *= base)
    if (n & 1) out *= base;
  return s(out);
}
int64_t whole_max(int64_t x, int64_t y, DType d) { return (d == DType::U64 ? u(x) > u(y) : x > y) ? x : y; }
int64_t whole_min(int64_t x, int64_t y, DType d) { return (d == DType::U64 ? u(x) < u(y) : x < y) ? x : y; }

double real_max(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
  return x == y ? (std::signbit(x) ? y : x) : (x > y ? x : y);
}
double real_min(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
  return x == y ? (std::signbit(x) ? x : y) : (x < y ? x : y);
}
// Python's: floor of the quotient, and the remainder with the divisor's sign, as NumPy computes them.
double real_floor_mod(double x, double y) {
  if (y == 0) return std::numeric_limits<double>::quiet_NaN();
  double r = std::fmod(x, y);
  if (r == 0) return std::copysign(0.0, y);
  return (r < 0) != (y < 0) ? r + y : r;
}
double real_logaddexp(double x, double y) {
  if (x == y) return x + M_LN2;
  if (std::isnan(x) || std::isnan(y)) return x + y;
  return std::fmax(x, y) + std::log1p(std::exp(-std::fabs(x - y)));
}

// NumPy's: whole real exponents below 100 by products, in the order in which it takes them.
Complex complex_power(Complex x, Complex y) {
  if (y == 0.0) return 1;
  if (x == 0.0) return y.imag() == 0 && y.real() > 0 ? Complex(0) : Complex(NAN, NAN);
  if (y.imag() != 0 || std::trunc(y.real()) != y.real() || std::fabs(y.real()) >= 100) {
    Complex l = std::log(x);
    return std::exp(complex_product(y, l));
  }
  int n = static_cast<int>(std::fabs(y.real()));
  Complex out = 1, base = x;
  for (int left = n; left; left >>= 1, base = complex_product(base, base))
    if (left & 1) out = complex_product(out, base);
  if (n == 1) out = x;
  if (n == 2) out = complex_product(x, x);
  if (n == 3) out = complex_product(x, complex_product(x, x));
  return y.real() < 0 ? complex_reciprocal(out) : out;
}

Expr zero_like(Expr x) { return x.builder().constant_bits(x.type(), 0); }
Expr one_like(Expr x) {
  return is_float(x.type()) ? x.builder().constant(x.type(), 1) : x.builder().constant_int(x.type(), 1);
}
Expr minus_one_like(Expr x) { return x.builder().constant_int(x.type(), -1); }

// Integer division with every case defined; both arms of a select are evaluated, so the divisor is made safe
// first. The loop IR's own wraps where the smallest number is divided by minus one.
Expr safe_divisor(Expr y) { return select(y == zero_like(y), one_like(y), y); }
Expr lower_divide(Expr x, Expr y) {
  if (!is_integer(x.type())) return x / y;
  return select(y == zero_like(y), minus_one_like(y), x / safe_divisor(y));
}
Expr lower_whole_remainder(Expr x, Expr y) { return select(y == zero_like(y), x, x % safe_divisor(y)); }

// Of floats, the loop IR's own remainder is C's fmod, exact.
Expr lower_remainder(Expr x, Expr y) { return is_float(x.type()) ? x % y : lower_whole_remainder(x, y); }

Expr copy_sign(Expr magnitude, Expr sign) {
  bool narrow = magnitude.type() == DType::F32;
  DType bits = narrow ? DType::I32 : DType::I64;
  Expr mask = magnitude.builder().constant_bits(bits, narrow ? 0x80000000ull : 0x8000000000000000ull);
  return bitcast((bitcast(magnitude, bits) & ~mask) | (bitcast(sign, bits) & mask), magnitude.type());
}

Expr lower_floor_mod(Expr x, Expr y) {
  Expr zero = zero_like(x);
  if (is_float(x.type())) {
    Expr r = x.builder().let(x % y);
    Expr other_side = (r < zero) != (y < zero);
    return select(r == zero, copy_sign(zero, y), select(other_side, r + y, r));
  }
  Expr r = lower_whole_remainder(x, y);
  if (!is_signed_int(x.type())) return r;
  Expr fix = (r != zero) & ((r < zero) != (y < zero)) & (y != zero);
  return select(fix, r + y, r);
}
Expr lower_floor_divide(Expr x, Expr y) {
  if (is_float(x.type())) {
    // The quotient of what the remainder leaves, which is a whole number but for rounding. Of narrow types in
    // double, where that rounding is too small to reach the result.
    if (x.type() == DType::F32)
      return convert(lower_floor_divide(convert(x, DType::F64), convert(y, DType::F64)), DType::F32);
    Expr zero = zero_like(x), one = one_like(x);
    Expr r = x.builder().let(x % y);
    Expr shifted = select((r != zero) & ((r < zero) != (y < zero)), one, zero);
    Expr q = (x - r) / y - shifted;
    Expr near = floor(q);
    Expr whole = select(q - near > 0.5, near + one, near);
    return select(y == zero, x / y, select(q == zero, copy_sign(zero, x / y), whole));
  }
  Expr q = x.builder().let(lower_divide(x, y));
  if (!is_signed_int(x.type())) return q;
  Expr zero = zero_like(x);
  Expr r = x.builder().let(x - q * y);
  Expr fix = (r != zero) & ((r < zero) != (y < zero)) & (y != zero);
  return select(fix, q - one_like(x), q);
}
double real_floor_divide(double x, double y) {
  if (y == 0) return x / y;
  double r = std::fmod(x, y);
  double q = (x - r) / y;
  if (r != 0 && ((r < 0) != (y < 0))) q -= 1;
  if (q == 0) return std::copysign(0.0, x / y);
  double near = std::floor(q);
  return q - near > 0.5 ? near + 1 : near;
}

Expr lower_power(Expr x, Expr y) {
  if (is_float(x.type())) return math::pow(x, y);
  loop::Builder& b = x.builder();
  Expr one = one_like(x), zero = zero_like(x);
  uint32_t base = b.local(x.type(), b.enclosing_lanes(), 1, "base");
  b.assign(base, x);
  int bits = info(x.type()).bits;
  Expr out = b.fold(b.index(bits), one, [&](Expr i, Expr acc) {
    Expr bit = shift_right_logical(y, convert(i, y.type())) & one_like(y);
    Expr now = b.let(b.read(base));
    b.assign(base, now * now);
    return select(bit != zero_like(y), acc * now, acc);
  });
  if (!is_signed_int(x.type())) return out;
  Expr odd = (y & one_like(y)) != zero_like(y);
  Expr of_minus_one = select(odd, minus_one_like(x), one);
  Expr negative = select(x == one, one, select(x == minus_one_like(x), of_minus_one, zero));
  return select(y < zero_like(y), negative, out);
}

Expr lower_next_after(Expr x, Expr y) {
  bool narrow = x.type() == DType::F32;
  DType bits = narrow ? DType::I32 : DType::I64;
  loop::Builder& b = x.builder();
  Expr one = b.constant_int(bits, 1), zero = zero_like(x);
  Expr i = bitcast(x, bits);
  Expr away = (x < y) == (x > zero);  // the magnitude grows
  Expr step = select(away, i + one, i - one);
  Expr smallest = copy_sign(bitcast(one, x.type()), y);
  return select((x != x) | (y != y), x + y,
                select(x == y, y, select(x == zero, smallest, bitcast(step, x.type()))));
}

Expr lower_hypot(Expr x, Expr y) {
  loop::Builder& b = x.builder();
  Expr ax = abs(x), ay = abs(y);
  Expr infinity = b.constant(x.type(), std::numeric_limits<double>::infinity());
  Expr root;
  Expr big = select(ax > ay, ax, ay), small = select(ax > ay, ay, ax);
  if (x.type() == DType::F32) {
    // By a power of two that brings the larger one between 1 and 2 (but for the largest and the denormals),
    // so that no square overflows.
    auto exponent = [&](int64_t value) { return b.constant_int(DType::I32, value << 23); };
    Expr power = bitcast(big, DType::I32) & exponent(255);
    power = select(power < exponent(1), exponent(1), select(power > exponent(252), exponent(252), power));
    Expr down = bitcast(exponent(254) - power, x.type());
    Expr one = big * down, other = small * down;
    root = sqrt(fma(one, one, other * other)) * bitcast(power, x.type());
  } else {
    Expr ratio = select(big == zero_like(big), zero_like(big), small / big);
    root = big * sqrt(fma(ratio, ratio, one_like(x)));
  }
  Expr number = select((x != x) | (y != y), x + y, root);  // a NaN loses each comparison above
  return select((ax == infinity) | (ay == infinity), infinity, number);
}

// Constants that a whole operand consists of.
const Literal* number_of(Value v) {
  const Literal* literal = tools::literal_behind(v);
  // Times 1 is not the identity of complex numbers: 0 times an infinite part is NaN.
  if (literal && is_complex(literal->dtype())) return nullptr;
  return literal && literal->elements() == 1 ? literal : nullptr;
}
bool is_number(Value v, double want) {
  const Literal* l = number_of(v);
  if (!l) return false;
  double have = l->as_double(0);
  return have == want && std::signbit(have) == std::signbit(want);
}
bool real(Value v) { return is_float(v->type().dtype); }

Value simplify_add(SimplifyContext& c) {  // x + (-0) = x; x + 0 = x for integers, but -0 + 0 = 0 for floats
  Value x = c.node->operand(0), y = c.node->operand(1);
  double neutral = real(x) ? -0.0 : 0.0;
  if (is_number(y, neutral)) return x;
  return is_number(x, neutral) ? y : nullptr;
}
Value simplify_subtract(SimplifyContext& c) {  // x - 0 = x; x - x = 0 for integers, but NaN - NaN = NaN
  Value x = c.node->operand(0), y = c.node->operand(1);
  if (is_number(y, 0)) return x;
  return x == y && is_integer(x->type().dtype) ? c.build.full_like(x, 0) : nullptr;
}
Value simplify_multiply(SimplifyContext& c) {  // x * 1 = x; x * 0 = 0 for integers
  Value x = c.node->operand(0), y = c.node->operand(1);
  if (is_number(y, 1)) return x;
  if (is_number(x, 1)) return y;
  if (!real(x) && (is_number(x, 0) || is_number(y, 0))) return is_number(x, 0) ? x : y;
  return nullptr;
}
Value simplify_divide(SimplifyContext& c) {  // x / 1 = x
  return is_number(c.node->operand(1), 1) ? c.node->operand(0) : nullptr;
}
// x / y as x * (1 / y), where y is constant, or has one number for each row. A 16-bit reciprocal has too few
// digits; a constant whose reciprocal is no normal number stays.
Value reciprocal_divide(SimplifyContext& c) {
  Value x = c.node->operand(0), y = c.node->operand(1);
  const DType dtype = y->type().dtype;
  if (dtype != DType::F32 && dtype != DType::F64) return nullptr;
  Node* spread = y->node();
  const bool spreads = spread && spread->attrs().find(kBroadcastDims.name) && spread->operands().size() == 1;
  Value few = spreads ? spread->operand(0) : y;
  Value inverse;
  if (few->node() && has(few->node(), Trait::Constant)) {
    const Literal* known = tools::literal_behind(few);
    if (!known) return nullptr;
    const double least =
        dtype == DType::F32 ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
    Literal inverses = Literal::allocate(dtype, known->dims());
    for (int64_t i = 0; i < known->elements(); ++i) {
      const double one = 1 / known->as_double(i);
      if (!(std::fabs(one) >= least && std::fabs(one) <= 1 / least)) return nullptr;
      tools::set_real(inverses, i, one);
    }
    inverse = c.build.constant(std::move(inverses));
  } else {
    const Ints axes = spreads ? spread->attrs().get(kBroadcastDims) : Ints{};
    const int last = y->type().rank() - 1;
    const bool along_rows =
        spreads && last >= 0 && !(y->type().dims.back() == Dim(int64_t{1})) &&
        (axes.empty() || axes.back() != last || few->type().dims.back() == Dim(int64_t{1}));
    if (!along_rows) return nullptr;
    inverse = c.build("divide", {c.build.full_like(few, 1), few});
  }
  if (spreads) inverse = c.build.broadcast(inverse, y->type().dims, spread->attrs().get(kBroadcastDims));
  return c.build("multiply", {x, inverse});
}
// The exponents for which math::pow has forms of its own; the bits are the same.
Value simplify_power(SimplifyContext& c) {
  Value x = c.node->operand(0), y = c.node->operand(1);
  const DType dtype = x->type().dtype;
  auto multiply = [&](Value a, Value b) { return c.build("multiply", {a, b}); };
  if (is_complex(dtype)) return nullptr;
  if (is_number(y, 1)) return x;
  if (is_number(y, 2)) return multiply(x, x);
  // A product of three is rounded twice, but a 16-bit power only at its end.
  if (is_number(y, 3) && size_of(dtype) >= 4) return multiply(multiply(x, x), x);
  if (!real(x)) return nullptr;
  if (is_number(y, -1)) return c.build("divide", {c.build.full_like(x, 1), x});
  if (!is_number(y, 0.5)) return nullptr;
  Value infinity = c.build.full_like(x, std::numeric_limits<double>::infinity());
  Value least = c.build("equal", {x, c.build.full_like(x, -std::numeric_limits<double>::infinity())});
  return c.build("select",
                 {least, infinity, c.build("sqrt", {c.build("add", {x, c.build.full_like(x, 0)})})});
}
Value same_operands(SimplifyContext& c) {  // f(x, x) = x
  return c.node->operand(0) == c.node->operand(1) ? c.node->operand(0) : nullptr;
}

std::vector<Value> jvp_add(JvpContext& c) { return {tools::sum_of(c.build, c.tangents[0], c.tangents[1])}; }
std::vector<Value> transpose_add(TransposeContext& c) {
  return {c.linear[0] ? c.cotangents[0] : nullptr, c.linear[1] ? c.cotangents[0] : nullptr};
}
std::vector<Value> transpose_subtract(TransposeContext& c) {
  Value ct = c.cotangents[0];
  return {c.linear[0] ? ct : nullptr, ct && c.linear[1] ? c.build("negate", {ct}) : nullptr};
}
std::vector<Value> transpose_multiply(TransposeContext& c) {
  Value ct = c.cotangents[0];
  if (!ct) return {nullptr, nullptr};
  require_one_linear(c);
  if (c.linear[0]) return {c.build("multiply", {ct, c.operands[1]}), nullptr};
  return {nullptr, c.build("multiply", {c.operands[0], ct})};
}
std::vector<Value> transpose_divide(TransposeContext& c) {
  Value ct = c.cotangents[0];
  if (c.linear[1])
    throw make_error(ErrorKind::Unsupported, "divide: it is not linear, and cannot be transposed")
        .at(c.node->location().str())
        .why("a quotient is linear in its dividend, and the divisor depends on what it must be linear in")
        .hint(
            "a function that is transposed, and the tangents of a rule of ig.custom_jvp, may only add, scale "
            "and move what they are linear in");
  return {ct ? c.build("divide", {ct, c.operands[1]}) : nullptr, nullptr};
}
std::vector<Value> jvp_subtract(JvpContext& c) {
  Value y = c.tangents[1] ? c.build("negate", {c.tangents[1]}) : nullptr;
  return {tools::sum_of(c.build, c.tangents[0], y)};
}
std::vector<Value> jvp_multiply(JvpContext& c) {
  Value x = c.tangents[0] ? c.build("multiply", {c.tangents[0], c.operands[1]}) : nullptr;
  Value y = c.tangents[1] ? c.build("multiply", {c.operands[0], c.tangents[1]}) : nullptr;
  return {tools::sum_of(c.build, x, y)};
}
std::vector<Value> jvp_divide(JvpContext& c) {
  Value x = c.tangents[0] ? c.build("divide", {c.tangents[0], c.operands[1]}) : nullptr;
  Value y =
      c.tangents[1]
          ? c.build("negate",
                    {c.build("multiply", {c.build("divide", {c.results[0], c.operands[1]}), c.tangents[1]})})
          : nullptr;
  return {tools::sum_of(c.build, x, y)};
}

// The others: each tangent times a factor, null where the tangent is.
template <auto FactorX, auto FactorY>
std::vector<Value> jvp_by_factors(JvpContext& c) {
  Compose m(c.build);
  Value x = c.operands[0], y = c.operands[1], r = c.results[0];
  Value dx = c.tangents[0] ? m.mul(c.tangents[0], FactorX(m, x, y, r)) : nullptr;
  Value dy = c.tangents[1] ? m.mul(c.tangents[1], FactorY(m, x, y, r)) : nullptr;
  return {tools::sum_of(c.build, dx, dy)};
}
// The share of the tangent that x's side gets: all where it is chosen, half where the two are equal.
template <bool Larger>
Value share(Compose& m, Value x, Value y) {
  Value chosen = Larger ? m.less(y, x) : m.less(x, y);
  return m.where(chosen, m.number(x, 1), m.where(m.equal(x, y), m.number(x, 0.5), m.number(x, 0)));
}
template <bool Larger>
Value share_x(Compose& m, Value x, Value y, Value) {
  return share<Larger>(m, x, y);
}
template <bool Larger>
Value share_y(Compose& m, Value x, Value y, Value) {
  return share<Larger>(m, y, x);
}
Value one_factor(Compose& m, Value x, Value, Value) { return m.number(x, 1); }
Value minus_trunc(Compose& m, Value x, Value y, Value) { return m.neg(m.b("trunc", {m.div(x, y)})); }
Value minus_floor(Compose& m, Value x, Value y, Value) { return m.neg(m.b("floor", {m.div(x, y)})); }
// y x^(y-1), and 0 where y is 0, whatever x is.
Value power_x(Compose& m, Value x, Value y, Value) {
  Value factor = m.mul(y, m.b("power", {x, m.sub(y, 1)}));
  return m.where(m.equal(y, m.number(y, 0)), m.number(y, 0), factor);
}
// x^y log(x), and 0 where x is 0: log's infinity must not meet the power's zero.
Value power_y(Compose& m, Value x, Value, Value r) {
  Value zero = m.equal(x, m.number(x, 0));
  return m.where(zero, m.number(x, 0), m.mul(r, m.log(m.where(zero, m.number(x, 1), x))));
}
Value square_sum(Compose& m, Value x, Value y) { return m.add(m.mul(x, x), m.mul(y, y)); }
Value angle_x(Compose& m, Value x, Value y, Value) { return m.div(y, square_sum(m, x, y)); }
Value angle_y(Compose& m, Value x, Value y, Value) { return m.neg(m.div(x, square_sum(m, x, y))); }
Value over_result_x(Compose& m, Value x, Value, Value r) { return m.div(x, r); }
Value over_result_y(Compose& m, Value, Value y, Value r) { return m.div(y, r); }
Value weight_x(Compose& m, Value x, Value y, Value) { return m.logistic(m.sub(x, y)); }
Value weight_y(Compose& m, Value x, Value y, Value) { return m.logistic(m.sub(y, x)); }
// 1 or -1: whether the sign was changed. Of y, no derivative but zero.
std::vector<Value> jvp_copysign(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Compose m(c.build);
  Value kept = m.equal(c.build("signbit", {c.operands[0]}), c.build("signbit", {c.operands[1]}));
  return {m.where(kept, c.tangents[0], m.neg(c.tangents[0]))};
}

std::vector<Value> true_divide_body(BodyContext& c) {
  return {c.build("divide", {c.operands[0], c.operands[1]})};
}
void infer_true_divide(InferContext& c) {
  for (size_t i = 0; i < 2; ++i) c.require_dtype(i, DTypeSet::FloatComplex);
  c.require_same_dtype(0, 1);
  c.require_same_shape(0, 1);
  c.result(c.operand(0).dtype, c.operand(0).dims);
}

}  // namespace

std::vector<Op> binary_ops() {
  std::vector<Op> ops;
  ops.push_back(
      binary<[](double x, double y) { return x + y; }, whole_add, [](Expr x, Expr y) { return x + y; },
             [](auto x, auto y) { return x + y; }>({.name = "add",
                                                    .python = "add",
                                                    .doc = "The sum of two arrays, element by element.",
                                                    .dtypes = DTypeSet::Numeric,
                                                    .numpy = "np.add(x, y)",
                                                    .traits = Trait::Commutative | Trait::Linear | kCheap,
                                                    .jvp = jvp_add,
                                                    .transpose = transpose_add,
                                                    .simplify = simplify_add,
                                                    .bounds = bounds_of_sum}));
  ops.push_back(binary<[](double x, double y) { return x - y; }, whole_subtract,
                       [](Expr x, Expr y) { return x - y; }, [](auto x, auto y) { return x - y; }>(
      {.name = "subtract",
       .python = "subtract",
       .doc = "The difference of two arrays, element by element.",
       .dtypes = DTypeSet::Numeric,
       .numpy = "np.subtract(x, y)",
       .traits = kCheap | Trait::Linear,
       .jvp = jvp_subtract,
       .transpose = transpose_subtract,
       .simplify = simplify_subtract,
       .bounds = bounds_of_difference}));
  ops.push_back(
      binary<[](double x, double y) { return x * y; }, whole_multiply, [](Expr x, Expr y) { return x * y; },
             [](auto x, auto y) { return complex_product(x, y); }>(
          {.name = "multiply",
           .python = "multiply",
           .doc = "The product of two arrays, element by element; of complex numbers a + bi and c + di it is "
                  "(ac - bd) + (ad + bc)i, each operation rounded.",
           .dtypes = DTypeSet::Numeric,
           .numpy = "np.multiply(x, y)",
           .traits = kCheap | Trait::Commutative,
           .jvp = jvp_multiply,
           .transpose = transpose_multiply,
           .simplify = simplify_multiply,
           .bounds = bounds_of_product}));
  ops.push_back(binary<[](double x, double y) { return std::fma(x, y, 0.0); }, nullptr,
                       [](Expr x, Expr y) { return fma(x, y, zero_like(x)); }>(
      {.name = "product_term",
       .python = "",
       .doc = "The product of two arrays of floats as the one term of a sum that begins with +0, as those of "
              "dot_general do: where a factor is zero, the sign is lost.",
       .dtypes = DTypeSet::Float,
       .numpy = "np.multiply(x, y)",
       .traits = kCheap | Trait::Commutative,
       .jvp = jvp_multiply,
       .transpose = transpose_multiply,
       .note = "a factor of one must not bring back the sign of a zero"}));
  ops.push_back(binary<[](double x, double y) { return x / y; }, whole_divide, lower_divide,
                       [](auto x, auto y) { return complex_quotient(x, y); }>(
      {.name = "divide",
       .python = "",
       .doc = "The quotient of two arrays; of integers truncated towards zero, -1 where the divisor is 0; of "
              "complex numbers by Smith's method.",
       .dtypes = DTypeSet::Numeric,
       .numpy = "np.divide(x, y) if x.dtype.kind in 'fc' else np.where(y == 0, ~x.dtype.type(0), "
                "(x - np.fmod(x, np.where(y == 0, 1, y))) // np.where(y == 0, 1, y)).astype(x.dtype)",
       .low = 0.5,
       .high = 9,
       .traits = kCheap,
       .jvp = jvp_divide,
       .transpose = transpose_divide,
       .simplify = simplify_divide,
       .bounds = bounds_of_quotient,
       .by_reciprocal = reciprocal_divide}));
  ops.push_back(
      composite({.name = "true_divide",
                 .python = "divide",
                 .doc = "The quotient of two arrays of floats or complex numbers, element by element.",
                 .operands = {{"x", "The dividend."}, {"y", "The divisor."}},
                 .dtypes = DTypeSet::FloatComplex,
                 .traits = static_cast<uint32_t>(Trait::Elementwise),
                 .front = Front::Elementwise,
                 .numpy = "np.divide(x, y)",
                 .example = "ig.divide(ig.asarray([1.0, 3.0]), 2.0)",
                 .samples = {{"T[], T[]", "", 0.5, 9},
                             {"T[0], T[0]", "", 0.5, 9},
                             {"T[1], T[1]", "", 0.5, 9},
                             {"T[3, 70], T[3, 70]", "", -9, 9}},
                 .bad_samples = {{"i32[3], i32[3]", "",
                                  "TypeError: divide: expected a floating-point or complex type, but x is "
                                  "int32"},
                                 {"f32[3], f32[4]", "", "ShapeError: divide: shapes [3] and [4] differ"}}},
                true_divide_body, infer_true_divide));
  ops.push_back(binary<real_floor_divide, whole_floor_divide, lower_floor_divide>(
      {.name = "floor_divide",
       .python = "floor_divide",
       .doc = "The quotient rounded towards minus infinity; -1 for integers where the divisor is 0.",
       .dtypes = DTypeSet::Real,
       .numpy = "np.floor_divide(x, y)",
       .low = 1,
       .high = 9,
       .bounds = bounds_of_floor_quotient}));
  ops.push_back(binary<[](double x, double y) { return std::fmod(x, y); }, whole_remainder, lower_remainder>(
      {.name = "remainder",
       .python = "fmod",
       .doc = "The remainder of the truncated quotient, with the dividend's sign; the dividend for integers "
              "where the divisor is 0.",
       .dtypes = DTypeSet::Real,
       .numpy = "np.fmod(x, y)",
       .low = 1,
       .high = 9,
       .jvp = jvp_by_factors<one_factor, minus_trunc>,
       .bounds = bounds_of_remainder}));
  ops.back().decl.usual = {{{"u64[2]", "u64[2]"}}};  // of random integers
  ops.push_back(binary<real_floor_mod, whole_floor_mod, lower_floor_mod>(
      {.name = "floor_mod",
       .python = "remainder",
       .doc = "The remainder of the floored quotient, with the divisor's sign, as Python's %.",
       .dtypes = DTypeSet::Real,
       .numpy = "np.remainder(x, y)",
       .low = 1,
       .high = 9,
       .jvp = jvp_by_factors<one_factor, minus_floor>,
       .bounds = bounds_of_floor_mod}));
  ops.push_back(binary<[](double x, double y) { return std::pow(x, y); }, whole_power, lower_power,
                       complex_power, loop::complex_math::pow>(
      {.name = "power",
       .python = "pow",
       .doc = "x to the power of y. Integers wrap; to a negative power they give 0, but for 1 and -1. Of "
              "complex numbers it is exp(y log x); whole real exponents below 100 are products, and 0 to a "
              "power that is not real and positive is NaN.",
       .dtypes = DTypeSet::Numeric,
       .numpy = "np.power(x, y)",
       .low = 0.1,
       .high = 4,
       .ulp = 3,
       .complex_ulp = 32,
       .jvp = jvp_by_factors<power_x, power_y>,
       .simplify = simplify_power}));
  ops.push_back(binary<real_max, whole_max, [](Expr x, Expr y) { return tools::total_max(x, y); }>(
      {.name = "maximum",
       .python = "maximum",
       .doc = "The larger element; NaN where either is, and 0 above -0.",
       .dtypes = DTypeSet::Real,
       .numpy = "np.maximum(x, y)",
       .traits = kCheap | Trait::Commutative,
       .jvp = jvp_by_factors<share_x<true>, share_y<true>>,
       .simplify = same_operands,
       .bounds = bounds_of_maximum}));
  ops.push_back(binary<real_min, whole_min, [](Expr x, Expr y) { return tools::total_min(x, y); }>(
      {.name = "minimum",
       .python = "minimum",
       .doc = "The smaller element; NaN where either is, and -0 below 0.",
       .dtypes = DTypeSet::Real,
       .numpy = "np.minimum(x, y)",
       .traits = kCheap | Trait::Commutative,
       .jvp = jvp_by_factors<share_x<false>, share_y<false>>,
       .simplify = same_operands,
       .bounds = bounds_of_minimum}));
  ops.push_back(binary<[](double x, double y) { return std::atan2(x, y); }, nullptr, math::atan2>(
      {.name = "atan2",
       .python = "atan2",
       .doc = "The angle of the point (y, x), in [-π, π].",
       .numpy = "np.arctan2(x, y)",
       .ulp = 3,
       .jvp = jvp_by_factors<angle_x, angle_y>}));
  ops.push_back(binary<[](double x, double y) { return std::hypot(x, y); }, nullptr, lower_hypot>(
      {.name = "hypot",
       .python = "hypot",
       .doc = "sqrt(x² + y²) without overflow on the way.",
       .numpy = "np.hypot(x, y)",
       .ulp = 2,
       .jvp = jvp_by_factors<over_result_x, over_result_y>}));
  ops.push_back(binary<[](double x, double y) { return std::copysign(x, y); }, nullptr, copy_sign>(
      {.name = "copysign",
       .python = "copysign",
       .doc = "The magnitude of x with the sign of y.",
       .numpy = "np.copysign(x, y)",
       .traits = kCheap,
       .jvp = jvp_copysign}));
  ops.push_back(binary<real_logaddexp, nullptr, math::logaddexp>(
      {.name = "logaddexp",
       .python = "logaddexp",
       .doc = "log(exp(x) + exp(y)) without overflow on the way.",
       .numpy = "np.logaddexp(x, y)",
       .ulp = 8,
       .jvp = jvp_by_factors<weight_x, weight_y>}));

  auto next_after = [](ReferenceContext& c) {
    for (int64_t i = 0, n = c.operands[0].elements(); i < n; ++i) {
      double x = c.operands[0].as_double(i), y = c.operands[1].as_double(i);
      bool wide = c.operands[0].dtype() == DType::F64;
      tools::set_real(
          c.results[0], i,
          wide ? std::nextafter(x, y) : std::nextafterf(static_cast<float>(x), static_cast<float>(y)));
    }
  };
  Op next = make_binary({.name = "nextafter",
                         .python = "nextafter",
                         .doc = "The next number of the type after x towards y. Of float32 and float64.",
                         .numpy = "np.nextafter(x, y)",
                         .no_jvp = "it moves by one unit in the last place"},
                        next_after, detail::lower_binary<lower_next_after, nullptr>);
  next.rules.infer = +[](InferContext& c) {
    for (size_t i = 0; i < 2; ++i) {
      c.require_dtype(i, DTypeSet::Float);
      if (size_of(c.operand(i).dtype) == 2)
        c.fail(ErrorKind::Type, "16-bit floats have no nextafter",
               "steps are defined for float32 and float64", "convert with astype");
    }
    c.require_same_dtype(0, 1);
    c.require_same_shape(0, 1);
    c.result(c.operand(0).dtype, c.operand(0).dims);
  };
  ops.push_back(std::move(next));
  return ops;
}

}  // namespace ig::ops
