// The functions of one real variable: exponentials, logarithms, roots, circular and hyperbolic functions and
// their inverses, the error function and its kin. Domain edges are those of C's <math.h>. The compiled forms
// are the vector maths of loop/math; docs/numerics.md has their measured bounds.
#include <algorithm>
#include <limits>

#include "loop/math_complex.h"
#include "loop/math_detail.h"
#include "ops/attrs.h"
#include "ops/families/elementwise.h"
#include "ops/families/families.h"

namespace ig::ops {
namespace {

using loop::Expr;
namespace math = loop::math;
namespace complex_math = loop::complex_math;

double logistic(
    double x) {  // by the exponential that cannot overflow, so that small results keep their digits
  double e = std::exp(-std::fabs(x));
  return (std::signbit(x) ? e : 1) / (1 + e);
}

// Inverse error function: Giles' single-precision start, then Newton's steps on erf(y) - x.
double erf_inv(double x) {
  if (std::isnan(x) || std::fabs(x) > 1) return std::numeric_limits<double>::quiet_NaN();
  if (std::fabs(x) == 1) return std::copysign(std::numeric_limits<double>::infinity(), x);
  if (x == 0) return x;
  double w = -std::log((1 - x) * (1 + x)), p;
  if (w < 5) {
    w -= 2.5;
    p = 1.50140941 + w * (0.246640727 + w * (-0.00417768164 + w * (-0.00125372503 + w * 0.000218580870)));
  } else {
    w = std::sqrt(w) - 3;
    p = 2.83297682 + w * (1.00167406 + w * (0.00943887047 + w * (-0.0076224613 + w * 0.00573950773)));
  }
  double y = std::fabs(p * x);
  double a = std::fabs(x);
  for (int i = 0; i < 4; ++i) {  // erfc stays exact where erf nears 1, and erf where erfc does
    double slope = M_2_SQRTPI * std::exp(-y * y);
    if (slope == 0) break;
    y += (a < 0.5 ? a - std::erf(y) : std::erfc(y) - (1 - a)) / slope;
  }
  return std::copysign(y, x);
}

double digamma(double x) {
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  if (x == -std::numeric_limits<double>::infinity() || (x < 0 && x == std::floor(x)))
    return std::numeric_limits<double>::quiet_NaN();
  if (x < 0.5) return digamma(1 - x) - M_PI / std::tan(M_PI * (x - std::nearbyint(x)));
  double sum = 0;
  for (; x < 12; x += 1) sum -= 1 / x;
  double y = 1 / (x * x);
  return sum + std::log(x) - 0.5 / x -
         y * (1.0 / 12 -
              y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132 - y * (691.0 / 32760))))));
}

// What the standard library lacks of complex numbers. NumPy's formulas, but that log1p keeps its digits.
Complex complex_expm1(Complex z) {
  double a = std::sin(z.imag() / 2);
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * a * a, std::exp(z.real()) * std::sin(z.imag())};
}
Complex complex_exp2(Complex z) { return std::exp(Complex(z.real() * M_LN2, z.imag() * M_LN2)); }
template <auto Scale>
Complex complex_log(Complex z) {
  Complex l = std::log(z);
  return {l.real() * Scale, l.imag() * Scale};
}
Complex complex_log1p(Complex z) {
  double x = z.real(), y = z.imag();
  Complex moved(1 + x, y);
  if (std::fabs(x) < 2 && std::fabs(y) < 2) {
    long double wide_x = x, wide_y = y, excess = 2 * wide_x + wide_x * wide_x + wide_y * wide_y;
    if (excess > -0.5L && excess < 1)
      return {static_cast<double>(0.5L * std::log1p(excess)), std::arg(moved)};
  }
  return std::log(moved);
}

// Derivatives, as factors of the tangent: t * d(x, f(x)).
template <auto Factor>
std::vector<Value> scaled(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  return {c.build("multiply", {c.tangents[0], Factor(c.build, c.operands[0], c.results[0])})};
}
Value one_minus_square(Builder& b, Value v) { return b("subtract", {b.full_like(v, 1), b("square", {v})}); }
Value one_plus_square(Builder& b, Value v) { return b("add", {b.full_like(v, 1), b("square", {v})}); }
Value inverse(Builder& b, Value v) { return b("divide", {b.full_like(v, 1), v}); }
Value times(Builder& b, Value v, double k) { return b("multiply", {v, b.full_like(v, k)}); }

const Node* made_by(Value value, std::string_view name) {
  const Node* node = value->node();
  return node && node->op().name() == name ? node : nullptr;
}
// Whether v is x less the maximum of x over some axes, as in every softmax.
bool is_below_maximum(Value v) {
  const Node* less = made_by(v, "subtract");
  const Node* spread = less ? made_by(less->operand(1), "broadcast_in_dim") : nullptr;
  const Node* fold = spread ? made_by(spread->operand(0), "reduce_max") : nullptr;
  if (!fold || fold->operand(0) != less->operand(0)) return false;
  const Ints &folded = fold->attrs().get(kAxes), &places = spread->attrs().get(kBroadcastDims);
  Ints kept;
  for (int64_t axis = 0; axis < fold->operand(0)->type().rank(); ++axis)
    if (std::find(folded.begin(), folded.end(), axis) == folded.end()) kept.push_back(axis);
  return places == kept;
}
// Whether v is not positive, or NaN, by how it is made.
bool never_positive(Value v) {
  const Node* negated = made_by(v, "negate");
  return (negated && made_by(negated->operand(0), "abs")) || is_below_maximum(v);
}
loop::Expr lower_exp(ScalarContext& c) {
  if (is_complex(c.x[0].type())) return complex_math::exp(c.x[0]);
  return never_positive(c.node->operand(0)) ? math::exp_of_nonpositive(c.x[0]) : math::exp(c.x[0]);
}
// In every softplus x is a power of e that is 1 at most.
loop::Expr lower_log1p(ScalarContext& c) {
  if (is_complex(c.x[0].type())) return complex_math::log1p(c.x[0]);
  const Node* power = made_by(c.node->operand(0), "exponential");
  return power && never_positive(power->operand(0)) ? math::log1p_up_to_one(c.x[0]) : math::log1p(c.x[0]);
}

}  // namespace

std::vector<Op> unary_float_ops() {
  std::vector<Op> ops;
  ops.push_back(
      unary<[](double x) { return std::exp(x); }, nullptr, math::exp, [](Complex z) { return std::exp(z); },
            complex_math::exp>({.name = "exponential",
                                .python = "exp",
                                .doc = "e to the power of each element.",
                                .dtypes = DTypeSet::FloatComplex,
                                .numpy = "np.exp(x)",
                                .low = -20,
                                .high = 20,
                                .ulp = 2,
                                .complex_ulp = 6,
                                .jvp = scaled<[](Builder&, Value, Value y) { return y; }>}));
  ops.back().rules.lower = LowerRule::of_scalar(&lower_exp);
  ops.push_back(
      unary<[](double x) { return std::expm1(x); }, nullptr, math::expm1, complex_expm1, complex_math::expm1>(
          {.name = "exponential_minus_one",
           .python = "expm1",
           .doc = "e to the power of each element, less 1; exact near 0.",
           .dtypes = DTypeSet::FloatComplex,
           .numpy = "np.expm1(x)",
           .ulp = 2,
           .complex_ulp = 8,
           // Not the result plus 1, which is 0 where the power is below half a unit of 1.
           .jvp = scaled<[](Builder& b, Value x, Value) { return b("exponential", {x}); }>}));
  ops.push_back(
      unary<[](double x) { return std::exp2(x); }, nullptr, math::exp2, complex_exp2, complex_math::exp2>(
          {.name = "exp2",
           .python = "exp2",
           .doc = "2 to the power of each element.",
           .dtypes = DTypeSet::FloatComplex,
           .numpy = "np.exp2(x)",
           .low = -20,
           .high = 20,
           .ulp = 2,
           .complex_ulp = 10,
           .jvp = scaled<[](Builder& b, Value, Value y) { return times(b, y, M_LN2); }>}));
  ops.push_back(
      unary<[](double x) { return std::log(x); }, nullptr, math::log, [](Complex z) { return std::log(z); },
            complex_math::log>({.name = "log",
                                .python = "log",
                                .doc = "The natural logarithm; -inf of 0, NaN of negatives.",
                                .dtypes = DTypeSet::FloatComplex,
                                .numpy = "np.log(x)",
                                .low = 0.01,
                                .high = 100,
                                .ulp = 2,
                                .complex_ulp = 6,
                                .jvp = scaled<[](Builder& b, Value x, Value) { return inverse(b, x); }>}));
  ops.push_back(unary<[](double x) { return std::log2(x); }, nullptr, math::log2, complex_log<M_LOG2E>,
                      complex_math::log2>(
      {.name = "log2",
       .python = "log2",
       .doc = "The logarithm to base 2.",
       .dtypes = DTypeSet::FloatComplex,
       .numpy = "np.log2(x)",
       .low = 0.01,
       .high = 100,
       .ulp = 2,
       .complex_ulp = 8,
       .jvp = scaled<[](Builder& b, Value x, Value) { return inverse(b, times(b, x, M_LN2)); }>}));
  ops.push_back(unary<[](double x) { return std::log10(x); }, nullptr, math::log10, complex_log<M_LOG10E>,
                      complex_math::log10>(
      {.name = "log10",
       .python = "log10",
       .doc = "The logarithm to base 10.",
       .dtypes = DTypeSet::FloatComplex,
       .numpy = "np.log10(x)",
       .low = 0.01,
       .high = 100,
       .ulp = 2,
       .complex_ulp = 8,
       .jvp = scaled<[](Builder& b, Value x, Value) { return inverse(b, times(b, x, M_LN10)); }>}));
  ops.push_back(unary<[](double x) { return std::log1p(x); }, nullptr, math::log1p, complex_log1p,
                      complex_math::log1p>(
      {.name = "log_plus_one",
       .python = "log1p",
       .doc = "The natural logarithm of 1 + x; exact near 0.",
       .dtypes = DTypeSet::FloatComplex,
       .numpy = "np.log1p(x)",
       .low = -0.9,
       .high = 20,
       .ulp = 2,
       .complex_ulp = 6,
       .jvp =
           scaled<[](Builder& b, Value x, Value) { return inverse(b, b("add", {x, b.full_like(x, 1)})); }>}));
  ops.back().rules.lower = LowerRule::of_scalar(&lower_log1p);
  ops.push_back(unary<logistic, nullptr, math::logistic>(
      {.name = "logistic",
       .python = "sigmoid",
       .doc = "1 / (1 + exp(-x)).",
       .numpy = "scipy.special.expit(x)",
       .low = -10,
       .high = 10,
       .ulp = 3,
       .jvp = scaled<[](Builder& b, Value, Value y) {
         return b("multiply", {y, b("subtract", {b.full_like(y, 1), y})});
       }>}));
  ops.push_back(unary<[](double x) { return std::tanh(x); }, nullptr, math::tanh,
                      [](Complex z) { return std::tanh(z); }, complex_math::tanh>(
      {.name = "tanh",
       .python = "tanh",
       .doc = "The hyperbolic tangent.",
       .dtypes = DTypeSet::FloatComplex,
       .numpy = "np.tanh(x)",
       .ulp = 2,
       .complex_ulp = 12,
       .jvp = scaled<[](Builder& b, Value, Value y) { return one_minus_square(b, y); }>}));
  ops.push_back(unary<[](double x) { return std::sinh(x); }, nullptr, math::sinh,
                      [](Complex z) { return std::sinh(z); }, complex_math::sinh>(
      {.name = "sinh",
       .python = "sinh",
       .doc = "The hyperbolic sine.",
       .dtypes = DTypeSet::FloatComplex,
       .numpy = "np.sinh(x)",
       .ulp = 3,
       .complex_ulp = 8,
       .jvp = scaled<[](Builder& b, Value x, Value) { return b("cosh", {x}); }>}));
  ops.push_back(unary<[](double x) { return std::cosh(x); }, nullptr, math::cosh,
                      [](Complex z) { return std::cosh(z); }, complex_math::cosh>(
      {.name = "cosh",
       .python = "cosh",
       .doc = "The hyperbolic cosine.",
       .dtypes = DTypeSet::FloatComplex,
       .numpy = "np.cosh(x)",
       .ulp = 3,
       .complex_ulp = 8,
       .jvp = scaled<[](Builder& b, Value x, Value) { return b("sinh", {x}); }>}));
  ops.push_back(
      unary<[](double x) { return std::sin(x); }, nullptr, math::sin, [](Complex z) { return std::sin(z); },
            complex_math::sin>({.name = "sine",
                                .python = "sin",
                                .doc = "The sine of an angle in radians.",
                                .dtypes = DTypeSet::FloatComplex,
                                .numpy = "np.sin(x)",
                                .low = -30,
                                .high = 30,
                                .ulp = 2,
                                .complex_ulp = 8,
                                .jvp = scaled<[](Builder& b, Value x, Value) { return b("cosine", {x}); }>}));
  ops.push_back(unary<[](double x) { return std::cos(x); }, nullptr, math::cos,
                      [](Complex z) { return std::cos(z); }, complex_math::cos>(
      {.name = "cosine",
       .python = "cos",
       .doc = "The cosine of an angle in radians.",
       .dtypes = DTypeSet::FloatComplex,
       .numpy = "np.cos(x)",
       .low = -30,
       .high = 30,
       .ulp = 2,
       .complex_ulp = 8,
       .jvp = scaled<[](Builder& b, Value x, Value) { return b("negate", {b("sine", {x})}); }>}));
  ops.push_back(unary<[](double x) { return std::tan(x); }, nullptr, math::tan,
                      [](Complex z) { return std::tan(z); }, complex_math::tan>(
      {.name = "tan",
       .python = "tan",
       .doc = "The tangent of an angle in radians.",
       .dtypes = DTypeSet::FloatComplex,
       .numpy = "np.tan(x)",
       .low = -1.5,
       .high = 1.5,
       .ulp = 3,
       .complex_ulp = 12,
       .jvp = scaled<[](Builder& b, Value, Value y) { return one_plus_square(b, y); }>}));
  ops.push_back(unary<[](double x) { return std::asin(x); }, nullptr, math::asin,
                      [](Complex z) { return std::asin(z); }, complex_math::asin>(
      {.name = "asin",
       .python = "asin",
       .doc = "The angle in [-π/2, π/2] whose sine is x; NaN outside [-1, 1].",
       .dtypes = DTypeSet::FloatComplex,
       .numpy = "np.arcsin(x)",
       .low = -1,
       .high = 1,
       .ulp = 3,
       .complex_ulp = 8,
       .jvp = scaled<[](Builder& b, Value x, Value) { return b("rsqrt", {one_minus_square(b, x)}); }>}));
  ops.push_back(unary<[](double x) { return std::acos(x); }, nullptr, math::acos,
                      [](Complex z) { return std::acos(z); }, complex_math::acos>(
      {.name = "acos",
       .python = "acos",
       .doc = "The angle in [0, π] whose cosine is x; NaN outside [-1, 1].",
       .dtypes = DTypeSet::FloatComplex,
       .numpy = "np.arccos(x)",
       .low = -1,
       .high = 1,
       .ulp = 3,
       .complex_ulp = 8,
       .jvp = scaled<[](Builder& b, Value x, Value) {
         return b("negate", {b("rsqrt", {one_minus_square(b, x)})});
       }>}));
  ops.push_back(unary<[](double x) { return std::atan(x); }, nullptr, math::atan,
                      [](Complex z) { return std::atan(z); }, complex_math::atan>(
      {.name = "atan",
       .python = "atan",
       .doc = "The angle in [-π/2, π/2] whose tangent is x.",
       .dtypes = DTypeSet::FloatComplex,
       .numpy = "np.arctan(x)",
       .ulp = 3,
       .complex_ulp = 8,
       .jvp = scaled<[](Builder& b, Value x, Value) { return inverse(b, one_plus_square(b, x)); }>}));
  ops.push_back(unary<[](double x) { return std::asinh(x); }, nullptr, math::asinh,
                      [](Complex z) { return std::asinh(z); }, complex_math::asinh>(
      {.name = "asinh",
       .python = "asinh",
       .doc = "The inverse of sinh.",
       .dtypes = DTypeSet::FloatComplex,
       .numpy = "np.arcsinh(x)",
       .ulp = 3,
       .complex_ulp = 8,
       .jvp = scaled<[](Builder& b, Value x, Value) { return b("rsqrt", {one_plus_square(b, x)}); }>}));
  ops.push_back(unary<[](double x) { return std::acosh(x); }, nullptr, math::acosh,
                      [](Complex z) { return std::acosh(z); }, complex_math::acosh>(
      {.name = "acosh",
       .python = "acosh",
       .doc = "The inverse of cosh; NaN below 1.",
       .dtypes = DTypeSet::FloatComplex,
       .numpy = "np.arccosh(x)",
       .low = 1,
       .high = 20,
       .ulp = 3,
       .complex_ulp = 8,
       .jvp = scaled<[](Builder& b, Value x, Value) {
         return b("rsqrt", {b("subtract", {b("square", {x}), b.full_like(x, 1)})});
       }>}));
  ops.push_back(unary<[](double x) { return std::atanh(x); }, nullptr, math::atanh,
                      [](Complex z) { return std::atanh(z); }, complex_math::atanh>(
      {.name = "atanh",
       .python = "atanh",
       .doc = "The inverse of tanh; NaN outside [-1, 1].",
       .dtypes = DTypeSet::FloatComplex,
       .numpy = "np.arctanh(x)",
       .low = -0.99,
       .high = 0.99,
       .ulp = 3,
       .complex_ulp = 8,
       .jvp = scaled<[](Builder& b, Value x, Value) { return inverse(b, one_minus_square(b, x)); }>}));
  ops.push_back(unary<[](double x) { return std::sqrt(x); }, nullptr, [](Expr x) { return sqrt(x); },
                      [](Complex z) { return std::sqrt(z); }, complex_math::sqrt>(
      {.name = "sqrt",
       .python = "sqrt",
       .doc = "The square root, rightly rounded; NaN of negatives, -0 of -0.",
       .dtypes = DTypeSet::FloatComplex,
       .numpy = "np.sqrt(x)",
       .low = 0,
       .high = 100,
       .complex_ulp = 4,
       .jvp = scaled<[](Builder& b, Value, Value y) { return inverse(b, times(b, y, 2)); }>}));
  ops.push_back(unary<[](double x) { return 1 / std::sqrt(x); }, nullptr, math::rsqrt,
                      [](Complex z) { return complex_reciprocal(std::sqrt(z)); }, complex_math::rsqrt>(
      {.name = "rsqrt",
       .python = "rsqrt",
       .doc = "1 / sqrt(x).",
       .dtypes = DTypeSet::FloatComplex,
       .numpy = "1 / np.sqrt(x if x.dtype.kind == 'c' else x.astype('f8'))",
       .low = 0.01,
       .high = 100,
       .ulp = 2,
       .complex_ulp = 8,
       .jvp = scaled<[](Builder& b, Value x, Value y) { return times(b, b("divide", {y, x}), -0.5); }>}));
  ops.push_back(unary<[](double x) { return std::cbrt(x); }, nullptr, math::cbrt>(
      {.name = "cbrt",
       .python = "cbrt",
       .doc = "The real cube root.",
       .numpy = "np.cbrt(x)",
       .low = -100,
       .high = 100,
       .ulp = 2,
       .jvp = scaled<[](Builder& b, Value, Value y) { return inverse(b, times(b, b("square", {y}), 3)); }>}));
  ops.push_back(unary<[](double x) { return 1 / x; }, nullptr, [](Expr x) { return 1.0 / x; },
                      [](auto z) { return complex_reciprocal(z); }, complex_math::reciprocal>(
      {.name = "reciprocal",
       .python = "reciprocal",
       .doc = "1 / x.",
       .dtypes = DTypeSet::FloatComplex,
       .numpy = "np.reciprocal(x)",
       .low = 0.1,
       .high = 10,
       .traits = static_cast<uint32_t>(Trait::Cheap),
       .jvp = scaled<[](Builder& b, Value, Value y) { return b("negate", {b("square", {y})}); }>}));
  ops.push_back(unary<[](double x) { return std::erf(x); }, nullptr, math::erf>(
      {.name = "erf",
       .python = "erf",
       .doc = "The error function.",
       .numpy = "scipy.special.erf(x)",
       .ulp = 3,
       .jvp = scaled<[](Builder& b, Value x, Value) {
         return times(b, b("exponential", {b("negate", {b("square", {x})})}), M_2_SQRTPI);
       }>}));
  ops.push_back(unary<[](double x) { return std::erfc(x); }, nullptr, math::erfc>(
      {.name = "erfc",
       .python = "erfc",
       .doc = "1 - erf(x), exact where it is small.",
       .numpy = "scipy.special.erfc(x)",
       .ulp = 4,
       .jvp = scaled<[](Builder& b, Value x, Value) {
         return times(b, b("exponential", {b("negate", {b("square", {x})})}), -M_2_SQRTPI);
       }>}));
  ops.push_back(unary<erf_inv, nullptr, math::erf_inv>(
      {.name = "erf_inv",
       .python = "erfinv",
       .doc = "The inverse of erf; infinite at -1 and 1, NaN outside.",
       .numpy = "scipy.special.erfinv(x)",
       .low = -0.99,
       .high = 0.99,
       .ulp = 4,
       .jvp = scaled<[](Builder& b, Value, Value y) {
         return times(b, b("exponential", {b("square", {y})}), 1 / M_2_SQRTPI);
       }>}));
  ops.push_back(unary<[](double x) { return std::lgamma(x); }, nullptr, math::lgamma>(
      {.name = "lgamma",
       .python = "lgamma",
       .doc = "The logarithm of the absolute value of the gamma function.",
       .numpy = "scipy.special.gammaln(x)",
       .low = 0.1,
       .high = 20,
       .ulp = 4,
       .jvp = scaled<[](Builder& b, Value x, Value) { return b("digamma", {x}); }>}));
  ops.push_back(unary<digamma, nullptr, math::digamma>(
      {.name = "digamma",
       .python = "digamma",
       .doc = "The derivative of the logarithm of the gamma function.",
       .numpy = "scipy.special.digamma(x)",
       .low = 0.1,
       .high = 20,
       .ulp = 4,
       .jvp = scaled<[](Builder& b, Value x, Value) { return b("polygamma", {b.full_like(x, 1), x}); }>}));
  return ops;
}

}  // namespace ig::ops
