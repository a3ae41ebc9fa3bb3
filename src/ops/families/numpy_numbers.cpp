// NumPy's functions of numbers that are made of others: comparisons within a tolerance, replacing of NaN,
// angles in degrees, and the like. 16-bit floats are widened for the whole body and rounded once at its end.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/families/compose.h"
#include "ops/families/families.h"

namespace ig::ops {
namespace {

constexpr Attr<double> kRelative{"rtol", "The share of |y| that they may be apart.", "0x1.4f8b588e368f1p-17"};
constexpr Attr<double> kAbsolute{"atol", "What they may be apart besides.", "0x1.5798ee2308c3ap-27"};
constexpr Attr<bool> kEqualNaN{"equal_nan", "Whether two NaN are equal.", "false"};
constexpr Attr<double> kForNaN{"nan", "What takes the place of NaN.", "0x0p+0"};
constexpr Attr<double> kForInfinity{
    "posinf", "What takes the place of +infinity; the greatest number of the type at most.",
    "0x1.fffffffffffffp+1023"};
constexpr Attr<double> kForMinus{"neginf",
                                 "What takes the place of -infinity; the least number of the type at least.",
                                 "-0x1.fffffffffffffp+1023"};

using Unary = Value (*)(Compose&, Value);
using Binary = Value (*)(Compose&, Value, Value);

void infer_same(InferContext& c) {
  for (size_t i = 1; i < c.size(); ++i) {
    c.require_same_dtype(0, i);
    c.require_same_shape(0, i);
  }
  c.require_dtype(0, c.op.decl.dtypes);
  tools::infer_by_body(c);
}

template <Unary fn>
std::vector<Value> unary_body(BodyContext& c) {
  Compose m(c.build);
  Value y = fn(m, m.wide(c.operands[0]));
  bool floats = is_float(y->type().dtype);
  return {floats ? c.build.convert(y, c.operands[0]->type().dtype) : y};
}

template <Binary fn>
std::vector<Value> binary_body(BodyContext& c) {
  Compose m(c.build);
  Value y = fn(m, m.wide(c.operands[0]), m.wide(c.operands[1]));
  return {c.build.convert(y, c.operands[0]->type().dtype)};
}

std::vector<Sample> unary_samples() {
  return {{"T[]", "{}"}, {"T[5]", "{}"}, {"T[3, 7]", "{}"}, {"T[0]", "{}"}, {"T[33]", "{}"}};
}

OpDecl unary_decl(std::string name, std::string doc, std::string numpy, double ulp,
                  DTypeSet dtypes = DTypeSet::Float) {
  return {.name = name,
          .python = name,
          .doc = std::move(doc),
          .operands = {{"x", "The array."}},
          .dtypes = dtypes,
          .traits = static_cast<uint32_t>(Trait::Elementwise),
          .front = Front::Elementwise,
          .numpy = std::move(numpy),
          .example = "ig." + name + "(ig.asarray([0.0, 0.5, -2.0]))",
          .samples = unary_samples(),
          .ulp = ulp};
}

OpDecl binary_decl(std::string name, std::string doc, std::string numpy, double ulp) {
  return {
      .name = name,
      .python = name,
      .doc = std::move(doc),
      .operands = {{"x", "The left array."}, {"y", "The right array."}},
      .dtypes = DTypeSet::Float,
      .traits = static_cast<uint32_t>(Trait::Elementwise),
      .front = Front::Elementwise,
      .numpy = std::move(numpy),
      .example = "ig." + name + "(ig.asarray([1.0, 2.0]), ig.asarray([3.0, -1.0]))",
      .samples = {{"T[], T[]", "{}"}, {"T[5], T[5]", "{}"}, {"T[3, 7], T[3, 7]", "{}"}, {"T[0], T[0]", "{}"}},
      .ulp = ulp};
}

Value degrees(Compose& m, Value x) { return m.mul(x, 180 / std::numbers::pi); }
Value radians(Compose& m, Value x) { return m.mul(x, std::numbers::pi / 180); }

Value is_positive_infinity(Compose& m, Value x) { return m.equal(x, m.number(x, INFINITY)); }
Value is_negative_infinity(Compose& m, Value x) { return m.equal(x, m.number(x, -INFINITY)); }

// Near 0 the series in x^2, whose derivatives of all orders are right there too. Further out whole numbers
// are taken off before pi rounds: so these give 0, and what lies near them keeps its digits. The divisor is
// never 0, so that neither side of the choice holds a NaN.
Value sinc(Compose& m, Value x) {
  Value zero = m.number(x, 0), one = m.number(x, 1);
  Value near = m.less(m.abs(x), m.number(x, 0.375));
  Value small = m.where(near, x, zero);
  Value square = m.mul(small, small);
  std::vector<double> terms{1};
  for (int k = 1; k <= 10; ++k)
    terms.push_back(-terms.back() * std::numbers::pi * std::numbers::pi / (2 * k * (2 * k + 1)));
  Value series = m.number(x, terms.back());
  for (size_t k = terms.size() - 1; k-- > 0;) series = m.add(m.mul(series, square), terms[k]);
  Value whole = m.b("round_nearest_even", {x});
  Value even = m.mul(m.b("round_nearest_even", {m.mul(whole, 0.5)}), 2.0);
  Value odd = m.abs(m.sub(whole, even));  // 1 or 0
  Value sine = m.b("sine", {m.mul(m.sub(x, whole), std::numbers::pi)});
  Value angle = m.mul(m.where(near, one, x), std::numbers::pi);
  return m.where(near, series, m.div(m.mul(sine, m.sub(one, m.mul(odd, 2.0))), angle));
}

Value logaddexp2(Compose& m, Value x, Value y) {
  Value high = m.max(x, y), low = m.min(x, y);
  Value same = m.equal(x, y);  // also two equal infinities, whose difference is NaN
  Value apart = m.where(same, m.number(x, 0), m.sub(low, high));
  Value more = m.div(m.log1p(m.b("exp2", {apart})), std::numbers::ln2);
  return m.add(high, more);
}

// The other one where one is NaN.
Value fmax(Compose& m, Value x, Value y) {
  return m.where(m.b("is_nan", {x}), y, m.where(m.b("is_nan", {y}), x, m.max(x, y)));
}
Value fmin(Compose& m, Value x, Value y) {
  return m.where(m.b("is_nan", {x}), y, m.where(m.b("is_nan", {y}), x, m.min(x, y)));
}
Value heaviside(Compose& m, Value x, Value y) {
  Value zero = m.number(x, 0);
  Value step = m.where(m.less(zero, x), m.number(x, 1), zero);
  return m.where(m.b("is_nan", {x}), x, m.where(m.equal(x, zero), y, step));
}

// --- within a tolerance
// -------------------------------------------------------------------------------------------------
// |x - y| <= atol + rtol |y|, in float64 for integers; infinities are close to themselves.
Value close(BodyContext& c, Compose& m, Value x, Value y) {
  DType dtype = x->type().dtype;
  if (is_integer(dtype)) x = c.build.convert(x, DType::F64), y = c.build.convert(y, DType::F64);
  x = m.wide(x), y = m.wide(y);
  Value size = m.abs(y), apart = m.abs(m.sub(x, y));
  Value near = m.less_equal(apart, m.add(m.mul(size, c.get(kRelative)), c.get(kAbsolute)));
  Value out = m.equal(x, y);
  if (is_float(size->type().dtype)) {
    Value finite = m.both(c.build("is_finite", {size}), c.build("is_finite", {m.abs(x)}));
    out = m.two("or", out, m.both(near, finite));
  }
  if (!c.get(kEqualNaN) || is_integer(dtype)) return out;
  return m.two("or", out, m.both(c.build("not_equal", {x, x}), c.build("not_equal", {y, y})));
}

std::vector<Value> isclose_body(BodyContext& c) {
  Compose m(c.build);
  return {close(c, m, c.operands[0], c.operands[1])};
}

Value all_of(Compose& m, Value truth) {
  return m.b("reduce_and", {truth}, {{"axes", tools::iota(truth->type().rank())}});
}

std::vector<Value> allclose_body(BodyContext& c) {
  Compose m(c.build);
  Dims shape = broadcast_shapes(c.operands[0]->type().dims, c.operands[1]->type().dims, c.build.graph().dims,
                                "allclose");
  return {all_of(m, close(c, m, c.build.broadcast_to(c.operands[0], shape),
                          c.build.broadcast_to(c.operands[1], shape)))};
}

void infer_allclose(InferContext& c) {
  c.require_same_dtype(0, 1);
  c.require_dtype(0, DTypeSet::Numeric);
  tools::infer_by_body(c);
}

std::vector<Value> array_equal_body(BodyContext& c) {
  Compose m(c.build);
  Value x = c.operands[0], y = c.operands[1];
  const Dims &a = x->type().dims, &b = y->type().dims;
  bool fits = a.size() == b.size();
  for (size_t i = 0; fits && i < a.size(); ++i) fits = c.build.graph().dims.decide_equal(a[i], b[i]);
  if (!fits) return {c.build.scalar(DType::Bool, 0)};
  Value same = m.equal(x, y);
  bool can_be_nan = is_float(x->type().dtype) || is_complex(x->type().dtype);
  if (c.get(kEqualNaN) && can_be_nan)
    same = m.two("or", same, m.both(c.build("not_equal", {x, x}), c.build("not_equal", {y, y})));
  return {all_of(m, same)};
}

void infer_array_equal(InferContext& c) {
  c.require_same_dtype(0, 1);
  tools::infer_by_body(c);
}

// --- nan_to_num
// ---------------------------------------------------------------------------------------------------------
std::vector<Value> nan_to_num_body(BodyContext& c) {
  Compose m(c.build);
  DType dtype = c.operands[0]->type().dtype;
  if (is_integer(dtype)) return {c.operands[0]};
  auto replaced = [&](Value x) {
    double greatest = x->type().dtype == DType::F16    ? 65504.0
                      : x->type().dtype == DType::BF16 ? 0x1.fep+127
                      : x->type().dtype == DType::F32  ? std::numeric_limits<float>::max()
                                                       : std::numeric_limits<double>::max();
    // An infinity that is given stays one.
    auto bounded = [&](double given) {
      return std::isinf(given) ? given : std::clamp(given, -greatest, greatest);
    };
    Value out = m.where(is_positive_infinity(m, x), m.number(x, bounded(c.get(kForInfinity))), x);
    out = m.where(is_negative_infinity(m, x), m.number(x, bounded(c.get(kForMinus))), out);
    return m.where(c.build("is_nan", {x}), m.number(x, c.get(kForNaN)), out);
  };
  if (!is_complex(dtype)) return {replaced(c.operands[0])};
  return {c.build("complex",
                  {replaced(c.build("real", {c.operands[0]})), replaced(c.build("imag", {c.operands[0]}))})};
}

}  // namespace

std::vector<Op> numpy_numbers() {
  std::vector<Op> ops;
  auto add = [&](OpDecl decl, BodyFn body, InferFn infer = infer_same) {
    ops.push_back(composite(std::move(decl), body, infer));
  };
  OpDecl isclose = binary_decl(
      "isclose",
      "Whether elements are equal within a tolerance: |x - y| <= atol + rtol |y|.\nInfinities are close to "
      "themselves alone, NaN to nothing, unless `equal_nan`. Integers are compared in float64.",
      "np.isclose(x, y, rtol, atol, equal_nan)", 0);
  isclose.attrs = {kRelative, kAbsolute, kEqualNaN};
  isclose.dtypes = DTypeSet::Numeric;
  isclose.samples = {{"T[], T[]", "{}"},
                     {"T[4] {1, 2, 3, 4}, T[4] {1, 2, 4, 4}", "{}"},
                     {"T[3, 7], T[3, 7]", "{rtol = 0.5, atol = 1.0}"},
                     {"T[5] {1, 2, 3, 4, 5}, T[5] {1, 3, 3, 4, 9}", "{equal_nan = true, atol = 1.5}"},
                     {"T[0], T[0]", "{}"}};
  isclose.bad_samples = {{"f32[2], f32[3]", "{}", "ShapeError: isclose: shapes [2] and [3] differ"}};
  OpDecl allclose = isclose;
  add(std::move(isclose), isclose_body);
  allclose.name = allclose.python = "allclose";
  allclose.doc =
      "Whether all elements are equal within a tolerance, as `isclose` has it; the arrays broadcast.";
  allclose.numpy = "np.allclose(x, y, rtol, atol, equal_nan)";
  allclose.example = "ig.allclose(ig.asarray([1.0, 2.0]), ig.asarray([1.0, 2.0000001]))";
  allclose.traits = 0;
  allclose.front = Front::Direct;
  allclose.samples.push_back({"T[5] {1, 1, 1, 1, 1}, T[1] {1}", "{}"});
  allclose.samples.push_back({"T[3] {1, 1, 1}, T[2, 1] {1, 1}", "{}"});
  allclose.bad_samples = {};
  add(allclose, allclose_body, infer_allclose);
  OpDecl equal = std::move(allclose);
  equal.name = equal.python = "array_equal";
  equal.doc = "Whether both have one shape, and all elements are equal; NaN equals NaN with `equal_nan`.";
  equal.attrs = {kEqualNaN};
  equal.dtypes = DTypeSet::Any;
  equal.numpy = "np.array_equal(x, y, equal_nan and x.dtype.kind in 'fc')";
  equal.example = "ig.array_equal(ig.asarray([1, 2]), ig.asarray([1, 2]))";
  equal.samples = {{"T[], T[]", "{}"},
                   {"T[2] {1, 1}, T[2] {1, 1}", "{}"},
                   {"T[3, 7], T[3, 7]", "{}"},
                   {"T[2] {1, 1}, T[2, 1] {1, 1}", "{}"},
                   {"f32[1] {3.4e38}, f32[1] {3.3e38}", "{}"},
                   {"T[2] {1, 1}, T[3] {1, 1, 1}", "{equal_nan = true}"},
                   {"T[0], T[0]", "{}"}};
  add(std::move(equal), array_equal_body, infer_array_equal);
  OpDecl replaced =
      unary_decl("nan_to_num",
                 "The array with numbers in place of NaN and infinities; of complex numbers in each "
                 "part. Integers stay.",
                 "np.nan_to_num(x, nan=nan, posinf=None if posinf > 1e308 else posinf, "
                 "neginf=None if neginf < -1e308 else neginf)",
                 0, DTypeSet::Numeric);
  replaced.attrs = {kForNaN, kForInfinity, kForMinus};
  replaced.example = "ig.nan_to_num(ig.asarray([1.0, float('nan')]), nan=5.0)";
  replaced.samples.push_back({"T[4]", "{nan = 1.0, posinf = 2.0, neginf = -2.0}"});
  add(std::move(replaced), nan_to_num_body);
  for (bool positive : {true, false}) {
    OpDecl decl = unary_decl(positive ? "isposinf" : "isneginf",
                             fmt::format("Whether an element is {}infinity.", positive ? '+' : '-'),
                             positive ? "np.isposinf(x)" : "np.isneginf(x)", 0);
    decl.samples.push_back({"T[5] {nan, inf, -inf, 0, 1}", "{}"});
    add(std::move(decl), positive ? unary_body<is_positive_infinity> : unary_body<is_negative_infinity>);
  }
  add(unary_decl("rad2deg", "Angles in degrees, of radians.", "np.rad2deg(x)", 2), unary_body<degrees>);
  add(unary_decl("deg2rad", "Angles in radians, of degrees.", "np.deg2rad(x)", 2), unary_body<radians>);
  // NumPy's sinc is not 0 at whole numbers.
  OpDecl sinc_decl =
      unary_decl("sinc", "sin(pi x) / (pi x), and 1 at 0; 0 at the other whole numbers.",
                 "(lambda x, n: np.where(x == 0, 1, np.sin(np.pi * (x - n)) * np.where(n % 2 == 0, 1, -1) / "
                 "(np.pi * np.where(x == 0, 1, x))))(x, np.round(x))",
                 4);
  sinc_decl.samples.push_back({"T[8] {0, 1, -2, 1.0009765625, 7.9921875, 100.5, 0x1p-12, -0.5}", "{}"});
  add(std::move(sinc_decl), unary_body<sinc>);
  add(binary_decl("logaddexp2", "log2(2**x + 2**y) without overflow on the way.", "np.logaddexp2(x, y)", 16),
      binary_body<logaddexp2>);
  add(binary_decl("fmax", "The greater of x and y; the other one where one is NaN.", "np.fmax(x, y)", 0),
      binary_body<fmax>);
  add(binary_decl("fmin", "The lesser of x and y; the other one where one is NaN.", "np.fmin(x, y)", 0),
      binary_body<fmin>);
  add(binary_decl("heaviside", "0 where x is negative, 1 where it is positive, y where it is 0.",
                  "np.heaviside(x, y)", 0),
      binary_body<heaviside>);
  return ops;
}

}  // namespace ig::ops
