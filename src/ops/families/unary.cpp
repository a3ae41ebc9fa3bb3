// Element-wise ops of one operand over numbers: signs, squares, bits, predicates, rounding.
#include <bit>
#include <limits>

#include "loop/math_complex.h"
#include "ops/families/elementwise.h"
#include "ops/families/families.h"

namespace ig::ops {
namespace {

using loop::Expr;

Value same_again(SimplifyContext& c) {  // f(f(x)) = f(x)
  Node* inner = c.node->operand(0)->node();
  return inner && inner->op() == c.node->op() ? c.node->operand(0) : nullptr;
}
Value same_again_of_real(SimplifyContext& c) {  // z / |z| is rounded
  return is_complex(c.node->result()->type().dtype) ? nullptr : same_again(c);
}
// Roundings: whole numbers are their own.
Value rounded_again(SimplifyContext& c) {
  Value x = c.node->operand(0);
  return is_integer(x->type().dtype) ? x : same_again(c);
}
// Predicates of NaN and the infinities, of which integers have none.
template <bool Answer>
Value known_of_integers(SimplifyContext& c) {
  if (!is_integer(c.node->operand(0)->type().dtype)) return nullptr;
  return c.build.full(c.node->result()->type(), Answer);
}
Value its_own_inverse(SimplifyContext& c) {  // f(f(x)) = x
  Node* inner = c.node->operand(0)->node();
  return inner && inner->op() == c.node->op() ? inner->operand(0) : nullptr;
}

Expr zero_like(Expr x) {
  return is_float(x.type()) ? x.builder().constant(x.type(), 0) : x.builder().constant_int(x.type(), 0);
}
Expr one_like(Expr x) {
  return is_float(x.type()) ? x.builder().constant(x.type(), 1) : x.builder().constant_int(x.type(), 1);
}
Expr infinity_like(Expr x) { return x.builder().constant(x.type(), std::numeric_limits<double>::infinity()); }
DType bits_type(DType d) { return size_of(d) == 8 ? DType::I64 : DType::I32; }

Expr lower_sign(Expr x) {
  Expr one = one_like(x), zero = zero_like(x);
  if (is_unsigned_int(x.type())) return select(x == zero, zero, one);
  // NaN and the zeros stay as they are.
  return select(x > zero, one, select(x < zero, -one, x));
}

double real_sign(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }
int64_t wrapped_negative(int64_t x) { return static_cast<int64_t>(-static_cast<uint64_t>(x)); }

int64_t whole_sign(int64_t x, DType d) {
  if (is_unsigned_int(d)) return x != 0;
  return (x > 0) - (x < 0);
}

double away_from_zero(double x) { return std::round(x); }
Expr lower_round_away(Expr x) {
  // trunc(x + copysign(0.5, x)) errs where x + 0.5 rounds up; so by the distance to the truncated value.
  Expr whole = trunc(x);
  Expr half = x.builder().constant(x.type(), 0.5), one = one_like(x), zero = zero_like(x);
  Expr moved = select(abs(x - whole) >= half, whole + select(x < zero, -one, one), whole);
  // What is already whole (and NaN, the infinities and -0) stays.
  return select(whole == x, x, select(moved == zero, whole, moved));
}

Expr lower_abs(Expr x) {
  if (is_float(x.type())) return abs(x);
  if (is_unsigned_int(x.type())) return x;
  return select(x < zero_like(x), -x, x);
}
Expr lower_signbit(Expr x) {
  if (is_integer(x.type())) return x < zero_like(x);
  Expr bits = bitcast(x, bits_type(x.type()));
  return bits < zero_like(bits);
}
Expr truth_like(Expr x, bool truth) {  // of a type that has no other answer
  Expr zero = zero_like(x);
  return truth ? zero == zero : zero != zero;
}
Expr lower_is_finite(Expr x) {
  if (is_integer(x.type())) return truth_like(x, true);
  Expr re = real(x), infinity = infinity_like(re);
  Expr first = abs(re) < infinity;
  return is_complex(x.type()) ? first & (abs(imag(x)) < infinity) : first;
}
Expr lower_is_inf(Expr x) {
  if (is_integer(x.type())) return truth_like(x, false);
  Expr re = real(x), infinity = infinity_like(re);
  Expr first = abs(re) == infinity;
  return is_complex(x.type()) ? first | (abs(imag(x)) == infinity) : first;
}

// Roundings of reals: of integers the number itself, of complex numbers each part's.
template <auto Round>
Expr lower_rounding(Expr x) {
  if (is_integer(x.type())) return x;
  return is_complex(x.type()) ? complex(Round(real(x)), Round(imag(x))) : Round(x);
}
Expr lower_round_even(Expr x) { return round_even(x); }
int64_t itself(int64_t x, DType) { return x; }
Complex complex_round_even(Complex z) { return {std::nearbyint(z.real()), std::nearbyint(z.imag())}; }

// NumPy's: of an infinite part 1 or -1 and 0 of the other, and NaN of two of them.
Complex complex_sign(Complex z) {
  bool long_x = std::isinf(z.real()), long_y = std::isinf(z.imag());
  if (long_x && long_y) return {NAN, NAN};
  if (long_x) return {std::copysign(1.0, z.real()), 0};
  if (long_y) return {0, std::copysign(1.0, z.imag())};
  Complex half = 0.5 * z;
  double size = std::hypot(half.real(), half.imag());
  return size == 0 ? Complex(0) : Complex(half.real() / size, half.imag() / size);
}

int bits_of(DType d) { return d == DType::Bool ? 1 : info(d).bits; }

std::vector<Value> jvp_negate(JvpContext& c) {
  return {c.tangents[0] ? c.build("negate", {c.tangents[0]}) : nullptr};
}
std::vector<Value> transpose_negate(TransposeContext& c) {
  return {c.cotangents[0] ? c.build("negate", {c.cotangents[0]}) : nullptr};
}
std::vector<Value> jvp_abs(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Value sign = c.build("sign", {c.operands[0]});
  if (!is_complex(sign->type().dtype)) return {c.build("multiply", {c.tangents[0], sign})};
  return {c.build("real", {c.build("multiply", {c.tangents[0], c.build("conj", {sign})})})};
}
// Of real numbers 0. Of complex ones the turn of the tangent: i s imag(conj(s) t) / |z|, and 0 at 0.
std::vector<Value> jvp_sign(JvpContext& c) {
  Value t = c.tangents[0], s = c.results[0];
  if (!t || !is_complex(s->type().dtype)) return {nullptr};
  Value turn = c.build("imag", {c.build("multiply", {t, c.build("conj", {s})})});
  Value size = c.build("abs", {c.operands[0]});
  Value none = c.build("equal", {size, c.build.full_like(size, 0)});
  Value rate = c.build("divide", {turn, c.build("select", {none, c.build.full_like(size, 1), size})});
  Value across = c.build("complex", {c.build("negate", {c.build("imag", {s})}), c.build("real", {s})});
  return {c.build("multiply", {across, c.build.convert(rate, s->type().dtype)})};
}
std::vector<Value> jvp_square(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  return {c.build("multiply", {c.tangents[0], c.build("add", {c.operands[0], c.operands[0]})})};
}

}  // namespace

std::vector<Op> unary_ops() {
  std::vector<Op> ops;
  ops.push_back(unary<[](double x) { return -x; }, [](int64_t x, DType) { return wrapped_negative(x); },
                      [](Expr x) { return -x; }, [](auto z) { return -z; }>(
      {.name = "negate",
       .python = "negative",
       .doc = "The negative of each element; integers wrap, -0 and 0 swap.",
       .dtypes = DTypeSet::Numeric,
       .numpy = "np.negative(x)",
       .traits = Trait::Linear | Trait::Cheap,
       .jvp = jvp_negate,
       .transpose = transpose_negate,
       .simplify = its_own_inverse,
       .bounds = bounds_of_negative}));
  ops.push_back(unary<[](double x) { return x; }, [](int64_t x, DType) { return x; },
                      [](Expr x) { return x; }, [](auto z) { return z; }>(
      {.name = "positive",
       .python = "positive",
       .doc = "Each element as it is.",
       .dtypes = DTypeSet::Numeric,
       .numpy = "np.positive(x)",
       .traits = Trait::Linear | Trait::Cheap | Trait::Idempotent,
       .jvp = +[](JvpContext& c) { return std::vector<Value>{c.tangents[0]}; },
       .transpose = +[](TransposeContext& c) { return std::vector<Value>{c.cotangents[0]}; },
       .simplify = +[](SimplifyContext& c) { return c.node->operand(0); },
       .bounds = bounds_of_first}));
  ops.push_back(
      unary<[](double x) { return std::fabs(x); },
            [](int64_t x, DType d) { return is_signed_int(d) && x < 0 ? wrapped_negative(x) : x; }, lower_abs,
            [](Complex z) { return std::hypot(z.real(), z.imag()); }, loop::complex_math::abs>(
          {.name = "abs",
           .python = "abs",
           .doc = "The absolute value of each element; that of the least integer wraps to itself. Of complex "
                  "numbers, their distance from 0, which is real.",
           .dtypes = DTypeSet::Numeric,
           .numpy = "np.abs(x)",
           .complex_ulp = 2,
           .traits = Trait::Idempotent | Trait::Cheap,
           .gives = Gives::Part,
           .jvp = jvp_abs,
           .simplify = same_again,
           .bounds = bounds_of_absolute}));
  ops.push_back(unary<real_sign, whole_sign, lower_sign, complex_sign, loop::complex_math::sign>(
      {.name = "sign",
       .python = "sign",
       .doc = "-1, 0 or 1 by the sign of each element; NaN and -0 stay. Of complex numbers z / |z|, and 0 of "
              "0.",
       .dtypes = DTypeSet::Numeric,
       .numpy = "np.where(x == 0, x, np.sign(x)) if x.dtype.kind == 'f' else np.sign(x)",
       .complex_ulp = 3,
       .traits = static_cast<uint32_t>(Trait::Cheap),
       .jvp = jvp_sign,
       .simplify = same_again_of_real}));
  ops.push_back(unary<[](double x) { return x * x; },
                      [](int64_t x, DType) {
                        return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(x));
                      },
                      [](Expr x) { return x * x; }, [](auto z) { return complex_product(z, z); }>(
      {.name = "square",
       .python = "square",
       .doc = "Each element times itself; integers wrap.",
       .dtypes = DTypeSet::Numeric,
       .numpy = "np.square(x)",
       .traits = static_cast<uint32_t>(Trait::Cheap),
       .jvp = jvp_square}));

  ops.push_back(unary<nullptr, [](int64_t x, DType d) { return d == DType::Bool ? !x : ~x; },
                      [](Expr x) { return ~x; }>({.name = "not",
                                                  .python = "bitwise_invert",
                                                  .doc = "Each bit inverted; of bool, the logical not.",
                                                  .dtypes = DTypeSet::IntegerBool,
                                                  .numpy = "np.invert(x)",
                                                  .traits = static_cast<uint32_t>(Trait::Cheap),
                                                  .simplify = its_own_inverse,
                                                  .bounds = bounds_of_not}));
  ops.push_back(unary<nullptr, [](int64_t x, DType) { return !x; }, [](Expr x) { return ~x; }>(
      {.name = "logical_not",
       .python = "logical_not",
       .doc = "True where the element is false.",
       .dtypes = DTypeSet::Bool,
       .numpy = "np.logical_not(x)",
       .traits = static_cast<uint32_t>(Trait::Cheap),
       .simplify = its_own_inverse,
       .bounds = bounds_of_not}));
  ops.push_back(unary<nullptr,
                      [](int64_t x, DType d) {
                        uint64_t mask = bits_of(d) == 64 ? ~0ull : (1ull << bits_of(d)) - 1;
                        return std::popcount(static_cast<uint64_t>(x) & mask);
                      },
                      [](Expr x) { return popcount(x); }>(
      {.name = "popcnt",
       .python = "population_count",
       .doc = "How many bits of each element are set, in the element's type.\n"
              "A negative number's are those of its two's complement; ig.bitwise_count counts those of its "
              "size, as NumPy does.",
       .dtypes = DTypeSet::Integer,
       .numpy = "np.bitwise_count(x.view('u%d' % x.itemsize)).astype(x.dtype)",
       .low = -100,
       .high = 100}));
  ops.push_back(unary<nullptr,
                      [](int64_t x, DType d) {
                        uint64_t mask = bits_of(d) == 64 ? ~0ull : (1ull << bits_of(d)) - 1;
                        return std::countl_zero(static_cast<uint64_t>(x) & mask) - (64 - bits_of(d));
                      },
                      [](Expr x) { return count_leading_zeros(x); }>(
      {.name = "count_leading_zeros",
       .python = "count_leading_zeros",
       .doc = "How many zero bits stand above the highest set bit, in the element's type; its width for 0.",
       .dtypes = DTypeSet::Integer,
       .numpy = "np.array([8 * x.itemsize - int(v).bit_length() for v in x.view('u%d' % "
                "x.itemsize).ravel()], x.dtype).reshape(x.shape)",
       .low = -100,
       .high = 100}));

  ops.push_back(unary<[](double x) { return std::isnan(x); }, [](int64_t, DType) { return false; },
                      [](Expr x) { return x != x; },
                      [](Complex z) { return std::isnan(z.real()) || std::isnan(z.imag()); }>(
      {.name = "is_nan",
       .python = "isnan",
       .doc = "True where the element, or a part of it, is not a number; of integers never.",
       .dtypes = DTypeSet::Numeric,
       .numpy = "np.isnan(x)",
       .traits = static_cast<uint32_t>(Trait::Cheap),
       .gives = Gives::Bool,
       .simplify = known_of_integers<false>}));
  ops.push_back(unary<[](double x) { return std::isinf(x); }, [](int64_t, DType) { return false; },
                      lower_is_inf, [](Complex z) { return std::isinf(z.real()) || std::isinf(z.imag()); }>(
      {.name = "is_inf",
       .python = "isinf",
       .doc = "True where the element, or a part of it, is plus or minus infinity; of integers never.",
       .dtypes = DTypeSet::Numeric,
       .numpy = "np.isinf(x)",
       .traits = static_cast<uint32_t>(Trait::Cheap),
       .gives = Gives::Bool,
       .simplify = known_of_integers<false>}));
  ops.push_back(unary<[](double x) { return std::isfinite(x); }, [](int64_t, DType) { return true; },
                      lower_is_finite,
                      [](Complex z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); }>(
      {.name = "is_finite",
       .python = "isfinite",
       .doc = "True where the element, and each part of it, is neither infinite nor NaN; of integers always.",
       .dtypes = DTypeSet::Numeric,
       .numpy = "np.isfinite(x)",
       .traits = static_cast<uint32_t>(Trait::Cheap),
       .gives = Gives::Bool,
       .simplify = known_of_integers<true>}));
  ops.push_back(unary<[](double x) { return std::signbit(x); },
                      [](int64_t x, DType d) { return is_signed_int(d) && x < 0; }, lower_signbit>(
      {.name = "signbit",
       .python = "signbit",
       .doc = "True where the sign bit is set: of negatives, -0 and such NaNs.",
       .dtypes = DTypeSet::Real,
       .numpy = "np.signbit(x)",
       .traits = static_cast<uint32_t>(Trait::Cheap),
       .gives = Gives::Bool}));

  ops.push_back(
      unary<[](double x) { return std::floor(x); }, itself, lower_rounding<[](Expr x) { return floor(x); }>>(
          {.name = "floor",
           .python = "floor",
           .doc = "The greatest whole number that is not above each element; of integers the element.",
           .dtypes = DTypeSet::Real,
           .numpy = "np.floor(x)",
           .traits = Trait::Idempotent | Trait::Cheap,
           .simplify = rounded_again}));
  ops.push_back(
      unary<[](double x) { return std::ceil(x); }, itself, lower_rounding<[](Expr x) { return ceil(x); }>>(
          {.name = "ceil",
           .python = "ceil",
           .doc = "The least whole number that is not below each element; of integers the element.",
           .dtypes = DTypeSet::Real,
           .numpy = "np.ceil(x)",
           .traits = Trait::Idempotent | Trait::Cheap,
           .simplify = rounded_again}));
  ops.push_back(
      unary<[](double x) { return std::trunc(x); }, itself, lower_rounding<[](Expr x) { return trunc(x); }>>(
          {.name = "trunc",
           .python = "trunc",
           .doc = "Each element without its fraction; of integers the element.",
           .dtypes = DTypeSet::Real,
           .numpy = "np.trunc(x)",
           .traits = Trait::Idempotent | Trait::Cheap,
           .simplify = rounded_again}));
  ops.push_back(unary<[](double x) { return std::nearbyint(x); }, itself, lower_rounding<lower_round_even>,
                      complex_round_even>(
      {.name = "round_nearest_even",
       .python = "round",
       .doc = "The nearest whole number; halves go to the even one. Of complex numbers, each part's.",
       .dtypes = DTypeSet::Numeric,
       .numpy = "np.round(x)",
       .traits = Trait::Idempotent | Trait::Cheap,
       .simplify = rounded_again}));
  ops.push_back(unary<away_from_zero, itself, lower_rounding<lower_round_away>>(
      {.name = "round_nearest_afz",
       .python = "round_half_away",
       .doc = "The nearest whole number; halves go away from zero.",
       .dtypes = DTypeSet::Real,
       .numpy = "x if x.dtype.kind in 'iu' else np.copysign(np.trunc(np.abs(x.astype('f8')) + 0.5), x)"
                ".astype(x.dtype)",
       .traits = static_cast<uint32_t>(Trait::Idempotent),
       .simplify = rounded_again}));
  return ops;
}

}  // namespace ig::ops
