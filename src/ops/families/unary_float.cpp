// Functions of one floating-point (or complex) number. Domain edges are those of C's <math.h> (and its Annex F); the
// bounds in ulp are those of the vector maths in loop/math.cpp.
#include <cmath>
#include <numbers>

#include "ops/families/elementwise.h"
#include "ops/families/families.h"
#include "ops/families/special.h"

namespace ig::ops {
namespace {

using namespace elements;
using loop::Expr;
namespace math = loop::math;

constexpr double kLn2 = std::numbers::ln2, kLn10 = std::numbers::ln10;
constexpr double kTwoOverRootPi = 2 * std::numbers::inv_sqrtpi;

template <typename T>
std::complex<double> complex_expm1(T z) {  // without cancellation near 0
  double s = std::sin(z.imag() / 2);
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * s * s, std::exp(z.real()) * std::sin(z.imag())};
}

Op real_function(Elementwise e) {
  e.dtypes = DTypeSet::Float;
  return unary(std::move(e));
}
Op function(Elementwise e) {
  e.dtypes = DTypeSet::FloatComplex;
  return unary(std::move(e));
}

template <auto Fn>
constexpr ReferenceFn complex_too = reference1<DTypeSet::FloatComplex, Fn>;
template <auto Fn>
constexpr ReferenceFn real_only = reference1<DTypeSet::Float, Fn>;
using scalar::rule1;

void exponentials(std::vector<Op>& ops) {
  ops.push_back(function({.name = "exponential", .python = "exp",
      .doc = "e to the power x.\n\nexp(-inf) is 0, exp(inf) is inf. StableHLO exponential.",
      .numpy = "np.exp(x)", .low = -8, .high = 8, .ulp = 2,
      .reference = complex_too<[](auto x) { return std::exp(wide(x)); }>,
      .scalar = rule1<[](Expr x) { return math::exp(x); }>,
      .jvp = slope_jvp<[](Compose&, Value, Value y) { return y; }>}));
  ops.push_back(function({.name = "exponential_minus_one", .python = "expm1",
      .doc = "exp(x) - 1, exact also near 0.\n\nexpm1(-0) is -0. StableHLO exponential_minus_one.",
      .numpy = "np.expm1(x)", .ulp = 2,
      .reference = complex_too<[](auto x) {
        if constexpr (is_complex_number<decltype(x)>) return complex_expm1(wide(x));
        else return std::expm1(wide(x));
      }>,
      .scalar = rule1<[](Expr x) { return math::expm1(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value, Value y) { return m.add(y, 1); }>}));
  ops.push_back(real_function({.name = "exp2", .python = "exp2", .doc = "2 to the power x.",
      .numpy = "np.exp2(x)", .low = -8, .high = 8, .ulp = 2,
      .reference = real_only<[](auto x) { return std::exp2(wide(x)); }>,
      .scalar = rule1<[](Expr x) { return math::exp2(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value, Value y) { return m.mul(y, kLn2); }>}));
  ops.push_back(real_function({.name = "logistic", .python = "sigmoid",
      .doc = "1 / (1 + exp(-x)), without overflow.\n\nStableHLO logistic.",
      .numpy = "scipy.special.expit(x)", .low = -10, .high = 10, .ulp = 4,
      .reference = real_only<[](auto v) {
        double x = v;
        return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
      }>,
      .scalar = rule1<[](Expr x) { return math::logistic(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value, Value y) { return m.mul(y, m.sub(m.number(y, 1), y)); }>}));
}

void logarithms(std::vector<Op>& ops) {
  ops.push_back(function({.name = "log", .python = "log",
      .doc = "The natural logarithm.\n\nlog(±0) is -inf; NaN below 0. StableHLO log.",
      .numpy = "np.log(x)", .low = 0.01, .high = 20, .ulp = 2,
      .reference = complex_too<[](auto x) { return std::log(wide(x)); }>,
      .scalar = rule1<[](Expr x) { return math::log(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value x, Value) { return m.div(m.number(x, 1), x); }>}));
  ops.push_back(function({.name = "log2", .python = "log2", .doc = "The logarithm to base 2; exact at powers of 2.",
      .numpy = "np.log2(x)", .low = 0.01, .high = 20, .ulp = 2,
      .reference = complex_too<[](auto x) {
        if constexpr (is_complex_number<decltype(x)>) return std::log(wide(x)) / kLn2;
        else return std::log2(wide(x));
      }>,
      .scalar = rule1<[](Expr x) { return math::log2(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value x, Value) { return m.div(m.number(x, 1 / kLn2), x); }>}));
  ops.push_back(function({.name = "log10", .python = "log10", .doc = "The logarithm to base 10.",
      .numpy = "np.log10(x)", .low = 0.01, .high = 200, .ulp = 2,
      .reference = complex_too<[](auto x) { return std::log10(wide(x)); }>,
      .scalar = rule1<[](Expr x) { return math::log10(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value x, Value) { return m.div(m.number(x, 1 / kLn10), x); }>}));
  ops.push_back(function({.name = "log_plus_one", .python = "log1p",
      .doc = "log(1 + x), exact also near 0.\n\nlog1p(-1) is -inf, log1p(-0) is -0. StableHLO log_plus_one.",
      .numpy = "np.log1p(x)", .low = -0.9, .high = 10, .ulp = 2,
      .reference = complex_too<[](auto x) {
        if constexpr (is_complex_number<decltype(x)>) return std::log(1.0 + wide(x));
        else return std::log1p(wide(x));
      }>,
      .scalar = rule1<[](Expr x) { return math::log1p(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value x, Value) { return m.div(m.number(x, 1), m.add(x, 1)); }>}));
}

void circular(std::vector<Op>& ops) {
  ops.push_back(function({.name = "sine", .python = "sin",
      .doc = "The sine of x in radians.\n\nNaN at infinities; the argument is reduced exactly. StableHLO sine.",
      .numpy = "np.sin(x)", .low = -30, .high = 30, .ulp = 2,
      .reference = complex_too<[](auto x) { return std::sin(wide(x)); }>,
      .scalar = rule1<[](Expr x) { return math::sin(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value x, Value) { return m.b("cosine", {x}); }>}));
  ops.push_back(function({.name = "cosine", .python = "cos",
      .doc = "The cosine of x in radians.\n\nNaN at infinities; the argument is reduced exactly. StableHLO cosine.",
      .numpy = "np.cos(x)", .low = -30, .high = 30, .ulp = 2,
      .reference = complex_too<[](auto x) { return std::cos(wide(x)); }>,
      .scalar = rule1<[](Expr x) { return math::cos(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value x, Value) { return m.neg(m.b("sine", {x})); }>}));
  ops.push_back(function({.name = "tan", .python = "tan",
      .doc = "The tangent of x in radians.\n\nNaN at infinities. StableHLO tan.",
      .numpy = "np.tan(x)", .low = -1.4, .high = 1.4, .ulp = 4,
      .reference = complex_too<[](auto x) { return std::tan(wide(x)); }>,
      .scalar = rule1<[](Expr x) { return math::tan(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value, Value y) { return m.add(m.mul(y, y), 1); }>}));
  ops.push_back(function({.name = "asin", .python = "asin",
      .doc = "The angle in [-pi/2, pi/2] whose sine is x; NaN outside [-1, 1].",
      .numpy = "np.arcsin(x)", .low = -0.99, .high = 0.99, .ulp = 4,
      .reference = complex_too<[](auto x) { return std::asin(wide(x)); }>,
      .scalar = rule1<[](Expr x) { return math::asin(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value x, Value) {
        return m.b("rsqrt", {m.sub(m.number(x, 1), m.mul(x, x))});
      }>}));
  ops.push_back(function({.name = "acos", .python = "acos",
      .doc = "The angle in [0, pi] whose cosine is x; NaN outside [-1, 1].",
      .numpy = "np.arccos(x)", .low = -0.99, .high = 0.99, .ulp = 4,
      .reference = complex_too<[](auto x) { return std::acos(wide(x)); }>,
      .scalar = rule1<[](Expr x) { return math::acos(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value x, Value) {
        return m.neg(m.b("rsqrt", {m.sub(m.number(x, 1), m.mul(x, x))}));
      }>}));
  ops.push_back(function({.name = "atan", .python = "atan",
      .doc = "The angle in [-pi/2, pi/2] whose tangent is x.",
      .numpy = "np.arctan(x)", .ulp = 4,
      .reference = complex_too<[](auto x) { return std::atan(wide(x)); }>,
      .scalar = rule1<[](Expr x) { return math::atan(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value x, Value) { return m.div(m.number(x, 1), m.add(m.mul(x, x), 1)); }>}));
}

void hyperbolic(std::vector<Op>& ops) {
  ops.push_back(function({.name = "sinh", .python = "sinh", .doc = "The hyperbolic sine; sinh(-0) is -0.",
      .numpy = "np.sinh(x)", .ulp = 4,
      .reference = complex_too<[](auto x) { return std::sinh(wide(x)); }>,
      .scalar = rule1<[](Expr x) { return math::sinh(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value x, Value) { return m.b("cosh", {x}); }>}));
  ops.push_back(function({.name = "cosh", .python = "cosh", .doc = "The hyperbolic cosine.",
      .numpy = "np.cosh(x)", .ulp = 4,
      .reference = complex_too<[](auto x) { return std::cosh(wide(x)); }>,
      .scalar = rule1<[](Expr x) { return math::cosh(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value x, Value) { return m.b("sinh", {x}); }>}));
  ops.push_back(function({.name = "tanh", .python = "tanh",
      .doc = "The hyperbolic tangent; tanh(-0) is -0, ±1 at the infinities.\n\nStableHLO tanh.",
      .numpy = "np.tanh(x)", .ulp = 4,
      .reference = complex_too<[](auto x) { return std::tanh(wide(x)); }>,
      .scalar = rule1<[](Expr x) { return math::tanh(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value, Value y) { return m.sub(m.number(y, 1), m.mul(y, y)); }>}));
  ops.push_back(function({.name = "asinh", .python = "asinh", .doc = "The number whose hyperbolic sine is x.",
      .numpy = "np.arcsinh(x)", .ulp = 4,
      .reference = complex_too<[](auto x) { return std::asinh(wide(x)); }>,
      .scalar = rule1<[](Expr x) { return math::asinh(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value x, Value) { return m.b("rsqrt", {m.add(m.mul(x, x), 1)}); }>}));
  ops.push_back(function({.name = "acosh", .python = "acosh",
      .doc = "The number, at least 0, whose hyperbolic cosine is x; NaN below 1.",
      .numpy = "np.arccosh(x)", .low = 1.01, .high = 20, .ulp = 4,
      .reference = complex_too<[](auto x) { return std::acosh(wide(x)); }>,
      .scalar = rule1<[](Expr x) { return math::acosh(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value x, Value) {
        return m.b("rsqrt", {m.mul(m.sub(x, 1), m.add(x, 1))});
      }>}));
  ops.push_back(function({.name = "atanh", .python = "atanh",
      .doc = "The number whose hyperbolic tangent is x.\n\n±inf at ±1, NaN beyond.",
      .numpy = "np.arctanh(x)", .low = -0.95, .high = 0.95, .ulp = 4,
      .reference = complex_too<[](auto x) { return std::atanh(wide(x)); }>,
      .scalar = rule1<[](Expr x) { return math::atanh(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value x, Value) {
        return m.div(m.number(x, 1), m.sub(m.number(x, 1), m.mul(x, x)));
      }>}));
}

void roots(std::vector<Op>& ops) {
  ops.push_back(function({.name = "sqrt", .python = "sqrt",
      .doc = "The square root, rounded correctly.\n\nsqrt(-0) is -0; NaN below 0. StableHLO sqrt.",
      .numpy = "np.sqrt(x)", .low = 0, .high = 50,
      .reference = complex_too<[](auto x) {
        if constexpr (is_complex_number<decltype(x)>) return std::sqrt(wide(x));
        else return std::sqrt(x);
      }>,
      .scalar = rule1<[](Expr x) { return loop::sqrt(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value, Value y) { return m.div(m.number(y, 0.5), y); }>}));
  ops.push_back(function({.name = "rsqrt", .python = "rsqrt",
      .doc = "1 / sqrt(x).\n\nrsqrt(±0) is ±inf; NaN below 0. StableHLO rsqrt.",
      .numpy = "1 / np.sqrt(x)", .low = 0.01, .high = 50, .ulp = 2,
      .reference = complex_too<[](auto x) { return 1.0 / std::sqrt(wide(x)); }>,
      .scalar = rule1<[](Expr x) { return math::rsqrt(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value x, Value y) { return m.mul(m.div(y, x), -0.5); }>}));
  ops.push_back(real_function({.name = "cbrt", .python = "cbrt",
      .doc = "The cube root, of negative numbers too.\n\nStableHLO cbrt.",
      .numpy = "np.cbrt(x)", .low = -50, .high = 50, .ulp = 2,
      .reference = real_only<[](auto x) { return std::cbrt(wide(x)); }>,
      .scalar = rule1<[](Expr x) { return math::cbrt(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value, Value y) { return m.div(m.number(y, 1.0 / 3), m.mul(y, y)); }>}));
  ops.push_back(function({.name = "reciprocal", .python = "reciprocal",
      .doc = "1 / x, rounded correctly.\n\nThe reciprocal of ±0 is ±inf.",
      .numpy = "np.reciprocal(x)", .low = 0.1, .high = 8,
      .reference = complex_too<[](auto x) { return decltype(x)(1) / x; }>,
      .scalar = rule1<[](Expr x) { return 1.0 / x; }>,
      .jvp = slope_jvp<[](Compose& m, Value, Value y) { return m.neg(m.mul(y, y)); }>}));
}

void special_functions(std::vector<Op>& ops) {
  ops.push_back(real_function({.name = "erf", .python = "erf", .doc = "The error function.",
      .numpy = "scipy.special.erf(x)", .ulp = 4,
      .reference = real_only<[](auto x) { return std::erf(wide(x)); }>,
      .scalar = rule1<[](Expr x) { return math::erf(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value x, Value) { return m.mul(m.exp(m.neg(m.mul(x, x))), kTwoOverRootPi); }>}));
  ops.push_back(real_function({.name = "erfc", .python = "erfc", .doc = "1 - erf(x), exact also for large x.",
      .numpy = "scipy.special.erfc(x)", .ulp = 16,
      .reference = real_only<[](auto x) { return std::erfc(wide(x)); }>,
      .scalar = rule1<[](Expr x) { return math::erfc(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value x, Value) { return m.mul(m.exp(m.neg(m.mul(x, x))), -kTwoOverRootPi); }>}));
  ops.push_back(real_function({.name = "erf_inv", .python = "erfinv",
      .doc = "The number whose error function is x.\n\n±inf at ±1, NaN beyond.",
      .numpy = "scipy.special.erfinv(x)", .low = -0.99, .high = 0.99, .ulp = 8,
      .reference = real_only<[](auto x) { return special::erf_inv(x); }>,
      .scalar = rule1<[](Expr x) { return math::erf_inv(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value, Value y) { return m.mul(m.exp(m.mul(y, y)), 1 / kTwoOverRootPi); }>}));
  ops.push_back(real_function({.name = "lgamma", .python = "lgamma",
      .doc = "The logarithm of the absolute value of the gamma function.\n\ninf at 0 and at negative whole numbers; "
             "the bound holds away from the roots at 1, 2 and those below 0.",
      .numpy = "scipy.special.gammaln(x)", .low = 0.1, .high = 20, .ulp = 64,
      .reference = real_only<[](auto x) { return special::log_gamma(x); }>,
      .scalar = rule1<[](Expr x) { return math::lgamma(x); }>,
      .jvp = slope_jvp<[](Compose& m, Value x, Value) { return m.b("digamma", {x}); }>}));
  ops.push_back(real_function({.name = "digamma", .python = "digamma",
      .doc = "The derivative of lgamma.\n\nNaN at 0 and at negative whole numbers; the bound holds away from its roots.",
      .numpy = "scipy.special.digamma(x)", .low = 0.1, .high = 20, .ulp = 64,
      .reference = real_only<[](auto x) { return special::digamma(x); }>,
      .scalar = rule1<[](Expr x) { return math::digamma(x); }>,
      .jvp = tools::no_rule("its derivative, the trigamma function, is not among the ops")}));
}

}  // namespace

std::vector<Op> unary_float_ops() {
  std::vector<Op> ops;
  exponentials(ops);
  logarithms(ops);
  circular(ops);
  hyperbolic(ops);
  roots(ops);
  special_functions(ops);
  return ops;
}

}  // namespace ig::ops
