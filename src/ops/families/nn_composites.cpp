// Composites of neural networks, first part: activations, softmax and normalisations. Each is kept whole by
// its name until it is expanded; 16-bit floats are widened for the whole body and rounded once at its end.
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/families/batch_rules.h"
#include "ops/families/compose.h"
#include "ops/families/families.h"
#include "ops/families/row_rules.h"

namespace ig::ops {

std::vector<Op> nn_layers();      // nn_layers.cpp
std::vector<Op> attention_ops();  // attention.cpp

namespace {

constexpr Attr<double> kSlope{"negative_slope", "The factor of negative elements.", "0x1.47ae147ae147bp-7"};
constexpr Attr<double> kAlpha{"alpha", "What it tends to, negated.", "0x1p+0"};
constexpr Attr<double> kLowest{"min_val", "The least value.", "-0x1p+0"};
constexpr Attr<double> kGreatest{"max_val", "The greatest value.", "0x1p+0"};
constexpr Attr<double> kLambda{"lambd", "How far from 0 an element must be.", "0x1p-1"};
constexpr Attr<std::string> kApproximate{"approximate", "Which form of the normal distribution.", "\"none\"",
                                         "none|tanh"};
using Unary = Value (*)(Compose&, Value);

// An activation: one float array in, one out.
template <Unary fn>
std::vector<Value> unary_body(BodyContext& c) {
  Compose m(c.build);
  return {c.build.convert(fn(m, m.wide(c.operands[0])), c.operands[0]->type().dtype)};
}

void infer_float(InferContext& c) {
  c.require_dtype(0, DTypeSet::Float);
  for (size_t i = 1; i < c.size(); ++i) c.require_same_dtype(0, i);
  tools::infer_by_body(c);
}

template <Unary fn>
Op activation(std::string name, std::string doc, std::string numpy, double ulp) {
  return composite({.name = name,
                    .python = name,
                    .doc = std::move(doc),
                    .operands = {{"x", "The array."}},
                    .dtypes = DTypeSet::Float,
                    .traits = static_cast<uint32_t>(Trait::Elementwise),
                    .front = Front::Elementwise,
                    .numpy = std::move(numpy),
                    .samples = {{"T[]", "{}"},
                                {"T[5]", "{}"},
                                {"T[3, 7]", "{}"},
                                {"T[2, 3, 4]", "{}", -10, 10},
                                {"T[0]", "{}"},
                                {"T[33]", "{}"}},
                    .ulp = ulp},
                   unary_body<fn>, infer_float);
}

Value relu(Compose& m, Value x) { return m.max(x, 0.0); }
Value relu6(Compose& m, Value x) { return m.min(m.max(x, 0.0), 6.0); }
Value silu(Compose& m, Value x) { return m.mul(x, m.logistic(x)); }
Value softplus(Compose& m, Value x) { return m.add(m.max(x, 0.0), m.log1p(m.exp(m.neg(m.abs(x))))); }
Value log_sigmoid(Compose& m, Value x) { return m.neg(softplus(m, m.neg(x))); }
Value mish(Compose& m, Value x) { return m.mul(x, m.tanh(softplus(m, x))); }
Value hard_sigmoid(Compose& m, Value x) { return m.div(m.min(m.max(m.add(x, 3.0), 0.0), 6.0), 6.0); }
Value hard_swish(Compose& m, Value x) { return m.mul(x, hard_sigmoid(m, x)); }

Value soft_sign(Compose& m, Value x) { return m.div(x, m.add(m.abs(x), 1.0)); }
// Near 0 the two cancel: there it is (x cosh x - sinh x) / cosh x, of which both sides are series without a
// change of sign: 2k / (2k + 1)! x^(2k + 1) from k = 1 on, and x^2k / (2k)!. From 1.5 on the difference loses
// less than a bit.
Value tanh_shrink(Compose& m, Value x) {
  Value near = m.less(m.abs(x), m.number(x, 1.5));
  Value small = m.where(near, x, m.number(x, 0));  // so that the series overflow for nobody
  Value square = m.mul(small, small);
  constexpr int kTerms = 11;
  double even = 1, odd = 1;  // (2k)! and (2k + 1)!
  std::vector<double> above, below{1};
  for (int k = 1; k <= kTerms; ++k) {
    even = odd * (2 * k);
    odd = even * (2 * k + 1);
    above.push_back(2 * k / odd);
    below.push_back(1 / even);
  }
  auto series = [&](const std::vector<double>& terms) {
    Value sum = m.number(x, terms.back());
    for (size_t k = terms.size() - 1; k-- > 0;) sum = m.add(m.mul(sum, square), terms[k]);
    return sum;
  };
  Value cube = m.mul(square, small);
  return m.where(near, m.mul(cube, m.div(series(above), series(below))), m.sub(x, m.tanh(x)));
}

std::vector<Value> jvp_tanh_shrink(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Compose m(c.build);
  Value slope = m.tanh(c.operands[0]);
  return {m.mul(m.mul(slope, slope), c.tangents[0])};
}
// Klambauer et al. (2017): the fixed point of mean 0 and variance 1.
constexpr double kSeluScale = 1.0507009873554804934193349852946,
                 kSeluAlpha = 1.6732632423543772848170429916717;
Value selu(Compose& m, Value x) {
  Value below = m.mul(m.expm1(m.min(x, 0.0)), kSeluAlpha);
  return m.mul(m.where(m.less(x, m.number(x, 0)), below, x), kSeluScale);
}

std::vector<Value> celu_body(BodyContext& c) {
  Compose m(c.build);
  Value x = m.wide(c.operands[0]);
  Value below = m.mul(m.expm1(m.div(m.min(x, 0.0), c.get(kAlpha))), c.get(kAlpha));
  return {c.build.convert(m.where(m.less(x, m.number(x, 0)), below, x), c.operands[0]->type().dtype)};
}

void infer_celu(InferContext& c) {
  c.require_dtype(0, DTypeSet::Float);
  if (!(c.get(kAlpha) != 0))
    c.fail(ErrorKind::Value, fmt::format("alpha is {}", c.get(kAlpha)), "elements are divided by it",
           "give a positive number such as 1");
  tools::infer_by_body(c);
}

std::vector<Value> hard_tanh_body(BodyContext& c) {
  Compose m(c.build);
  return {m.min(m.max(c.operands[0], c.get(kLowest)), c.get(kGreatest))};
}

std::vector<Value> soft_shrink_body(BodyContext& c) {
  Compose m(c.build);
  Value x = c.operands[0], far = m.number(x, c.get(kLambda)), near = m.number(x, -c.get(kLambda));
  return {m.where(m.less(far, x), m.sub(x, far), m.where(m.less(x, near), m.sub(x, near), m.mul(x, 0.0)))};
}

std::vector<Value> hard_shrink_body(BodyContext& c) {
  Compose m(c.build);
  Value x = c.operands[0], zero = m.number(x, 0);
  Value inside =
      m.both(m.less_equal(m.number(x, -c.get(kLambda)), x), m.less_equal(x, m.number(x, c.get(kLambda))));
  return {m.where(inside, zero, x)};
}

void infer_shrink(InferContext& c) {
  c.require_dtype(0, DTypeSet::Float);
  if (!(c.get(kLambda) >= 0))
    c.fail(ErrorKind::Value, fmt::format("lambd is {}, but it is a distance", c.get(kLambda)),
           "a negative one would push numbers apart", "give 0 or more");
  tools::infer_by_body(c);
}

std::vector<Value> leaky_relu_body(BodyContext& c) {
  Compose m(c.build);
  Value x = m.wide(c.operands[0]);
  Value y = m.where(m.less(x, m.number(x, 0)), m.mul(x, c.get(kSlope)), x);
  return {c.build.convert(y, c.operands[0]->type().dtype)};
}

std::vector<Value> elu_body(BodyContext& c) {
  Compose m(c.build);
  Value x = m.wide(c.operands[0]);
  // The unused side is kept at 0, so that it overflows for nobody.
  Value y = m.where(m.less(x, m.number(x, 0)), m.mul(m.expm1(m.min(x, 0.0)), c.get(kAlpha)), x);
  return {c.build.convert(y, c.operands[0]->type().dtype)};
}

std::vector<Value> gelu_body(BodyContext& c) {
  Compose m(c.build);
  Value x = m.wide(c.operands[0]);
  Value y;
  if (c.get(kApproximate) == "tanh") {
    // (1 + tanh z) / 2 is the logistic function of 2 z: nothing cancels where x is far below 0.
    const double slope = 2 * std::sqrt(2 / std::numbers::pi);
    y = m.mul(x, m.logistic(m.mul(x, m.add(m.mul(m.mul(x, x), slope * 0.044715), slope))));
  } else {
    y = m.mul(m.mul(x, 0.5), m.add(m.erf(m.mul(x, std::numbers::sqrt2 / 2)), 1.0));
  }
  return {c.build.convert(y, c.operands[0]->type().dtype)};
}

std::vector<Value> glu_body(BodyContext& c) {
  Compose m(c.build);
  Value x = m.wide(c.operands[0]);
  int64_t axis = checked_axis("glu", c.get(kRowAxis), x->type().rank());
  const Dim& n = x->type().dims[static_cast<size_t>(axis)];
  Dim half = floordiv(n, 2);
  Value y = m.mul(m.slice(x, axis, 0, half), m.logistic(m.slice(x, axis, half, half * 2)));
  return {c.build.convert(y, c.operands[0]->type().dtype)};
}

void infer_glu(InferContext& c) {
  c.require_dtype(0, DTypeSet::Float);
  int64_t axis = checked_axis("glu", c.get(kRowAxis), c.operand(0).rank());
  c.require_equal(mod(c.operand(0).dims[static_cast<size_t>(axis)], 2), Dim(int64_t{0}), "the axis modulo 2");
  tools::infer_by_body(c);
}

// --- softmax
// -----------------------------------------------------------------------------------------------------------
// The row's maximum is subtracted, so that the largest power is 1. A row of -inf alone gives NaN, as the
// quotient does. One division a row: the product with its rounded result is within two units of the quotient.
std::vector<Value> softmax_body(BodyContext& c) {
  Compose m(c.build);
  Value x = m.wide(c.operands[0]);
  Ints axis{checked_axis("softmax", c.get(kRowAxis), x->type().rank())};
  Value power = m.exp(m.sub(x, m.top_keep(x, axis)));
  Value sum = m.sum_keep(power, axis);
  return {c.build.convert(m.mul(power, m.div(m.number(sum, 1), sum)), c.operands[0]->type().dtype)};
}

std::vector<Value> log_softmax_body(BodyContext& c) {
  Compose m(c.build);
  Value x = m.wide(c.operands[0]);
  Ints axis{checked_axis("log_softmax", c.get(kRowAxis), x->type().rank())};
  Value shifted = m.sub(x, m.top_keep(x, axis));
  Value y = m.sub(shifted, m.log(m.sum_keep(m.exp(shifted), axis)));
  return {c.build.convert(y, c.operands[0]->type().dtype)};
}

// --- normalisations
// ----------------------------------------------------------------------------------------------------
Value scaled(Compose& m, Value x, std::span<const Value> operands, size_t weight, size_t bias) {
  if (operands.size() > weight) x = m.mul(x, m.wide(operands[weight]));
  if (operands.size() > bias) x = m.add(x, m.wide(operands[bias]));
  return x;
}

std::vector<Value> layer_norm_body(BodyContext& c) {
  Compose m(c.build);
  Value x = m.wide(c.operands[0]);
  int64_t rank = x->type().rank(), n = c.get(kNormalized);
  Value y = normalised(m, x, tools::iota(n, rank - n), c.get(kEpsilon)).rows;
  y = scaled(m, y, c.operands, 1, 2);
  return {c.build.convert(y, c.operands[0]->type().dtype)};
}

void infer_layer_norm(InferContext& c) {
  c.require_dtype(0, DTypeSet::Float);
  const Type& x = c.operand(0);
  int64_t n = c.get(kNormalized);
  if (n < 1 || n > x.rank())
    c.fail(ErrorKind::Value, fmt::format("normalized_rank is {}, but there are {} axes", n, x.rank()),
           "it counts the last axes, which are normalised", "give a number from 1 to the rank");
  for (size_t i = 1; i < c.size(); ++i) {
    c.require_same_dtype(0, i);
    c.require_rank(i, static_cast<int>(n));
    for (int64_t k = 0; k < n; ++k)
      c.require_equal(c.operand(i).dims[static_cast<size_t>(k)],
                      x.dims[static_cast<size_t>(x.rank() - n + k)],
                      i == 1 ? "the weight and the normalised axes" : "the bias and the normalised axes");
  }
  tools::infer_by_body(c);
}

std::vector<Value> rms_norm_body(BodyContext& c) {
  Compose m(c.build);
  Value x = m.wide(c.operands[0]);
  int64_t rank = x->type().rank(), n = c.get(kNormalized);
  Value y = scaled_to_one(m, x, tools::iota(n, rank - n), c.get(kEpsilon)).rows;
  y = scaled(m, y, c.operands, 1, 9);
  return {c.build.convert(y, c.operands[0]->type().dtype)};
}

std::vector<Value> group_norm_body(BodyContext& c) {
  Compose m(c.build);
  Value x = m.wide(c.operands[0]);
  const Dims dims = x->type().dims;
  Value g = in_groups(m, x, c.get(kGroups));
  Value y = normalised(m, g, axes_of_group(g->type().rank()), c.get(kEpsilon)).rows;
  y = c.build.reshape(y, dims);
  int rank = x->type().rank();
  if (c.operands.size() > 1) y = m.mul(y, per_channel(m, c.operands[1], rank));
  if (c.operands.size() > 2) y = m.add(y, per_channel(m, c.operands[2], rank));
  return {c.build.convert(y, c.operands[0]->type().dtype)};
}

void require_channels(InferContext& c, size_t first) {
  c.require_dtype(0, DTypeSet::Float);
  if (c.operand(0).rank() < 2)
    c.fail(ErrorKind::Shape, fmt::format("needs a batch and a channel axis, got {}", c.operand(0).str()),
           "the axes are batch, channels, and what follows", "add a batch axis in front: x[None]");
  for (size_t i = first; i < c.size(); ++i) {
    c.require_same_dtype(0, i);
    c.require_rank(i, 1);
    c.require_equal(c.operand(i).dims[0], c.operand(0).dims[1], "a value for each channel");
  }
}

void infer_group_norm(InferContext& c) {
  require_channels(c, 1);
  if (c.get(kGroups) < 1)
    c.fail(ErrorKind::Value, fmt::format("num_groups is {}, below 1", c.get(kGroups)),
           "the channels are cut into so many groups", "give 1 or more");
  c.require_equal(mod(c.operand(0).dims[1], c.get(kGroups)), Dim(int64_t{0}),
                  "the channels modulo the groups");
  tools::infer_by_body(c);
}

// Inference: the statistics are given.
std::vector<Value> batch_norm_body(BodyContext& c) {
  Compose m(c.build);
  Value x = m.wide(c.operands[0]);
  int rank = x->type().rank();
  Value d = m.sub(x, per_channel(m, c.operands[1], rank));
  // One division a channel; an element costs a product.
  Value spread = m.sqrt(m.add(per_channel(m, c.operands[2], rank), c.get(kEpsilon)));
  Value scale = c.operands.size() > 3 ? per_channel(m, c.operands[3], rank) : m.number(spread, 1);
  Value y = m.mul(d, m.div(scale, spread));
  if (c.operands.size() > 4) y = m.add(y, per_channel(m, c.operands[4], rank));
  return {c.build.convert(y, c.operands[0]->type().dtype)};
}

void infer_batch_norm(InferContext& c) {
  require_channels(c, 1);
  tools::infer_by_body(c);
}

std::vector<Value> normalize_body(BodyContext& c) {
  Compose m(c.build);
  Value x = m.wide(c.operands[0]);
  Ints axis{checked_axis("normalize", c.get(kRowAxis), x->type().rank())};
  Value length = m.sqrt(m.sum_keep(m.mul(x, x), axis));
  return {c.build.convert(m.div(x, m.max(length, c.get(kEpsilon))), c.operands[0]->type().dtype)};
}

std::vector<Sample> row_samples() {
  return {{"T[5]", "{}"},
          {"T[3, 7]", "{}"},
          {"T[3, 4]", "{axis = 0}"},
          {"T[2, 3, 4]", "{axis = 1}", -20, 20},
          {"T[2, 2, 3, 5]", "{}"},
          {"T[4, 1]", "{}"},
          {"T[0, 3]", "{}"},
          {"T[2, 40]", "{}"}};
}

OpDecl float_decl(std::string name, std::string doc, std::vector<OperandSpec> operands,
                  std::vector<AttrSpec> attrs, std::string numpy, std::vector<Sample> samples, double ulp) {
  return {.name = name,
          .python = name,
          .doc = std::move(doc),
          .operands = std::move(operands),
          .attrs = std::move(attrs),
          .dtypes = DTypeSet::Float,
          .numpy = std::move(numpy),
          .samples = std::move(samples),
          .ulp = ulp};
}

// --- batching
// -------------------------------------------------------------------------------------------------------------
Batched batch_row(BatchContext& c) {
  Attrs attrs = c.node->attrs();
  if (attrs.get(kRowAxis) >= 0) attrs.set(kRowAxis, attrs.get(kRowAxis) + 1);
  return again(c, all_in_front(c), std::move(attrs));
}

// Weights of each example's own are for the body.
Batched batch_norm_rows(BatchContext& c) {
  if (any_batched(c, 1)) return {};
  std::vector<Value> operands(c.operands.begin(), c.operands.end());
  operands[0] = in_front(c, 0);
  return again(c, std::move(operands), c.node->attrs());
}

}  // namespace

std::vector<Op> nn_composites() {
  const OperandSpec x{"x", "The array."};
  auto optional = [](const char* name, const char* doc) {
    return OperandSpec{.name = name, .doc = doc, .optional = true};
  };
  const std::string scale = " * (1 if weight is None else weight) + (0 if bias is None else bias)";
  const std::string channels = ".reshape([1, -1] + [1] * (x.ndim - 2))";
  const std::string channel_scale =
      " * (1 if weight is None else weight" + channels + ") + (0 if bias is None else bias" + channels + ")";
  std::vector<Op> ops;
  ops.push_back(activation<relu>("relu", "The greater of x and 0; NaN stays.", "np.maximum(x, 0)", 0));
  ops.push_back(activation<relu6>("relu6", "x bounded to [0, 6].", "np.minimum(np.maximum(x, 0), 6)", 0));
  ops.push_back(activation<silu>("silu", "x times its logistic function.", "x / (1 + np.exp(-x))", 8));
  ops.push_back(
      activation<softplus>("softplus", "log(1 + exp(x)), without overflow.", "np.logaddexp(x, 0)", 8));
  ops.push_back(activation<log_sigmoid>("log_sigmoid", "The logarithm of the logistic function.",
                                        "-np.logaddexp(-x, 0)", 8));
  ops.push_back(
      activation<mish>("mish", "x times tanh(softplus(x)).", "x * np.tanh(np.logaddexp(x, 0))", 16));
  ops.push_back(activation<hard_sigmoid>("hard_sigmoid", "(x + 3) / 6, bounded to [0, 1].",
                                         "np.clip(x + 3, 0, 6) / 6", 2));
  ops.push_back(
      activation<hard_swish>("hard_swish", "x times hard_sigmoid(x).", "x * (np.clip(x + 3, 0, 6) / 6)", 4));

  std::vector<Sample> plain{{"T[]", "{}"}, {"T[3, 7]", "{}"}, {"T[0]", "{}"}, {"T[33]", "{}"}};
  auto with = [&](const char* attrs) {
    std::vector<Sample> s = plain;
    s.push_back({"T[2, 3]", attrs});
    return s;
  };
  auto each_element = [](Op op) {
    op.decl.traits |= static_cast<uint32_t>(Trait::Elementwise);
    return op;
  };
  ops.push_back(each_element(composite(
      float_decl("leaky_relu", "x, and negative_slope times x below 0.", {x}, {kSlope},
                 "np.where(x < 0, x * x.dtype.type(negative_slope), x)", with("{negative_slope = 0.25}"), 1),
      leaky_relu_body, infer_float)));
  ops.push_back(each_element(composite(
      float_decl("elu", "x, and alpha (exp(x) - 1) below 0.", {x}, {kAlpha},
                 "np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)", with("{alpha = 0.5}"), 8),
      elu_body, infer_float)));
  ops.push_back(each_element(composite(
      float_decl("gelu",
                 "x times the normal distribution function of x; `approximate` \"tanh\" takes the usual "
                 "approximation of it.",
                 {x}, {kApproximate},
                 "0.5 * x * (1 + (np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)) if approximate == "
                 "'tanh' else "
                 "scipy.special.erf(x / np.sqrt(2))))",
                 with("{approximate = \"tanh\"}"), 64),
      gelu_body, infer_float)));
  ops.back().decl.usual = {{{"f32[2]"}, make_attrs({kApproximate % "tanh"})}};
  ops.push_back(activation<soft_sign>("soft_sign", "x / (1 + |x|).", "x / (1 + np.abs(x))", 2));
  // NumPy's difference has no digits near 0; its series has.
  ops.push_back(activation<tanh_shrink>(
      "tanh_shrink", "x - tanh(x), with all its digits near 0.",
      "np.where(np.abs(x) < 0.25, x**3 * (1/3 - x**2 * (2/15 - x**2 * (17/315 - x**2 * (62/2835 - x**2 * "
      "(1382/155925 - x**2 * (21844/6081075 - x**2 * (929569/638512875 - x**2 * 6404582/10854718875))))))), "
      "x - np.tanh(x))",
      4));
  ops.back().rules.jvp = jvp_tanh_shrink;
  ops.back().decl.samples.push_back(
      {"T[7] {0x1p-10, -0x1p-6, 0.2490234375, 1.5, -1.4990234375, 20, 0x1p-3}", "{}"});
  ops.push_back(activation<selu>(
      "selu", "elu with the scale and slope that keep mean 0 and variance 1. Klambauer et al. (2017).",
      "1.0507009873554804934 * np.where(x > 0, x, 1.6732632423543772848 * np.expm1(np.minimum(x, 0)))", 16));
  ops.push_back(each_element(composite(
      float_decl("celu", "x, and alpha (exp(x / alpha) - 1) below 0. Barron (2017).", {x}, {kAlpha},
                 "np.where(x < 0, alpha * np.expm1(np.minimum(x, 0) / alpha), x)", with("{alpha = 0.5}"), 8),
      celu_body, infer_celu)));
  ops.back().decl.bad_samples.push_back({"f32[2]", "{alpha = 0x0p+0}", "ValueError: celu: alpha is 0"});
  ops.push_back(each_element(
      composite(float_decl("hard_tanh", "x bounded to [min_val, max_val].", {x}, {kLowest, kGreatest},
                           "np.clip(x, x.dtype.type(min_val), x.dtype.type(max_val))",
                           with("{min_val = -0.5, max_val = 2.0}"), 0),
                hard_tanh_body, infer_float)));
  ops.push_back(each_element(composite(
      float_decl("softshrink", "x moved towards 0 by lambd; 0 where it is nearer than that.", {x}, {kLambda},
                 "x - np.clip(x, -x.dtype.type(lambd), x.dtype.type(lambd))", with("{lambd = 1.5}"), 1),
      soft_shrink_body, infer_shrink)));
  ops.back().decl.bad_samples.push_back(
      {"f32[2]", "{lambd = -0x1p+0}", "ValueError: softshrink: lambd is -1, but it is a distance"});
  ops.push_back(each_element(composite(
      float_decl("hardshrink", "x, and 0 where it is no further than lambd from 0.", {x}, {kLambda},
                 "np.where(np.abs(x) <= x.dtype.type(lambd), x.dtype.type(0), x)", with("{lambd = 1.5}"), 0),
      hard_shrink_body, infer_shrink)));
  ops.back().decl.bad_samples.push_back(
      {"f32[2]", "{lambd = -0x1p+0}", "ValueError: hardshrink: lambd is -1, but it is a distance"});
  ops.push_back(composite(
      float_decl("glu", "The first half along `axis` times the logistic function of the second.", {x},
                 {kRowAxis}, "(lambda a, b: a / (1 + np.exp(-b)))(*np.split(x, 2, axis))",
                 {{"T[6]", "{}"}, {"T[4, 3]", "{axis = 0}"}, {"T[2, 3, 4]", "{}"}, {"T[0]", "{}"}}, 8),
      glu_body, infer_glu));
  ops.push_back(
      composite(float_decl("softmax", "exp(x) over its sum along `axis`, with the maximum subtracted first.",
                           {x}, {kRowAxis},
                           "(lambda e: e / e.sum(axis, keepdims=True))(np.exp(x - x.max(axis, keepdims=True, "
                           "initial=-np.inf)))",
                           row_samples(), 16),
                softmax_body, infer_float));
  ops.back().rules.jvp = jvp_softmax;
  ops.push_back(composite(
      float_decl("log_softmax", "The logarithm of softmax, without underflow.", {x}, {kRowAxis},
                 "(lambda s: s - np.log(np.exp(s).sum(axis, keepdims=True)))(x - x.max(axis, keepdims=True, "
                 "initial=-np.inf))",
                 row_samples(), 64),
      log_softmax_body, infer_float));
  ops.back().rules.jvp = jvp_log_softmax;
  ops.push_back(composite(
      float_decl(
          "layer_norm",
          "(x - mean) / sqrt(variance + eps) over the last axes, times weight, plus bias.\nThe variance is "
          "the mean of squared differences from the mean (two passes), and what the rounding of the mean "
          "left in them is taken off: a row far from 0 loses nothing.",
          {x, optional("weight", "A factor for each normalised element."), optional("bias", "An addend.")},
          {kNormalized, kEpsilon},
          "(lambda a: (x - x.mean(a, keepdims=True)) / np.sqrt(x.var(a, keepdims=True) + eps))("
          "tuple(range(x.ndim - normalized_rank, x.ndim)))" +
              scale,
          {{"T[2, 5]", "{}"},
           {"T[2, 5], T[5], T[5]", "{}"},
           {"T[2, 3, 4], T[3, 4], T[3, 4]", "{normalized_rank = 2, eps = 0.001}"},
           {"T[7], T[7]", "{}"},
           {"T[0, 4]", "{}"},
           {"T[3, 1]", "{}"},
           {"T[2, 33], T[33], T[33]", "{}"}},
          128),
      layer_norm_body, infer_layer_norm));
  ops.push_back(composite(
      float_decl("rms_norm",
                 "x over the root of its mean square (plus eps) over the last axes, times weight.",
                 {x, optional("weight", "A factor for each normalised element.")}, {kNormalized, kEpsilon},
                 "(lambda a: x / np.sqrt((x * x).mean(a, keepdims=True) + eps))(tuple(range(x.ndim - "
                 "normalized_rank, "
                 "x.ndim))) * (1 if weight is None else weight)",
                 {{"T[2, 5]", "{}"},
                  {"T[2, 5], T[5]", "{}"},
                  {"T[2, 3, 4], T[3, 4]", "{normalized_rank = 2}"},
                  {"T[0, 4]", "{}"},
                  {"T[2, 33], T[33]", "{}"}},
                 16),
      rms_norm_body, infer_layer_norm));
  const Attrs smallest = make_attrs({kEpsilon % 0x1p-23});  // torch's for float32
  ops.back().decl.usual = {{{"f32[2, 3]"}, smallest}, {{"f32[2, 3]", "f32[3]"}, smallest}};
  ops.push_back(composite(
      float_decl(
          "group_norm",
          "The channels (axis 1) in groups, each normalised with its space as layer_norm does; "
          "then times weight, plus bias, for each channel.",
          {x, optional("weight", "A factor for each channel."),
           optional("bias", "An addend for each channel.")},
          {kGroups, kEpsilon},
          "(lambda g: (lambda a: ((g - g.mean(a, keepdims=True)) / np.sqrt(g.var(a, keepdims=True) + eps))"
          ".reshape(x.shape))(tuple(range(2, g.ndim))))(x.reshape((x.shape[0], num_groups, x.shape[1] // "
          "num_groups) + x.shape[2:]))" +
              channel_scale,
          {{"T[2, 4, 3]", "{num_groups = 2}"},
           {"T[2, 4, 2, 2], T[4], T[4]", "{num_groups = 4}"},
           {"T[1, 6], T[6]", "{num_groups = 1}"},
           {"T[0, 4, 3]", "{num_groups = 2}"}},
          128),
      group_norm_body, infer_group_norm));
  ops.push_back(composite(
      float_decl("batch_norm",
                 "(x - mean) / sqrt(variance + eps), times weight, plus bias, for each channel (axis 1).\n"
                 "The statistics are given, as at inference.",
                 {x,
                  {"mean", "For each channel."},
                  {"variance", "For each channel."},
                  optional("weight", "A factor for each channel."),
                  optional("bias", "An addend for each channel.")},
                 {kEpsilon},
                 "(x - mean" + channels + ") / np.sqrt(variance" + channels + " + eps)" + channel_scale,
                 {{"T[2, 3, 4], T[3], T[3]", "{}", 0.1, 4},
                  {"T[2, 3, 2, 2], T[3], T[3], T[3], T[3]", "{}", 0.1, 4},
                  {"T[4, 3], T[3], T[3], T[3]", "{eps = 0.001}", 0.1, 4},
                  {"T[0, 3], T[3], T[3]", "{}", 0.1, 4}},
                 16),
      batch_norm_body, infer_batch_norm));
  ops.push_back(composite(
      float_decl("normalize", "x over its Euclidean length along `axis`, or over eps where that is greater.",
                 {x}, {kRowAxis, kEpsilon}, "x / np.maximum(np.sqrt((x * x).sum(axis, keepdims=True)), eps)",
                 row_samples(), 16),
      normalize_body, infer_float));
  for (Op& op : ops) {
    // Element by element, along one axis, or over the last axes of one array, they stay whole under a batch.
    for (std::string_view name : {"softmax", "log_softmax", "normalize"})
      if (op.decl.name == name) op.rules.batch = batch_row;
    for (std::string_view name :
         {"leaky_relu", "elu", "gelu", "celu", "hard_tanh", "softshrink", "hardshrink"})
      if (op.decl.name == name) op.rules.batch = batch_in_front;
    for (std::string_view name : {"layer_norm", "rms_norm"})
      if (op.decl.name == name) op.rules.batch = batch_norm_rows;
    for (auto [name, rule] : {std::pair<std::string_view, JvpFn>{"layer_norm", jvp_layer_norm},
                              {"rms_norm", jvp_rms_norm},
                              {"group_norm", jvp_group_norm},
                              {"normalize", jvp_normalize}})
      if (op.decl.name == name) op.rules.jvp = rule;
  }
  for (Op& op : attention_ops()) ops.push_back(std::move(op));
  for (Op& op : nn_layers()) ops.push_back(std::move(op));
  give_examples(
      ops, {
               {"relu", "ig.relu(ig.asarray([-2.0, 0.0, 2.0]))"},
               {"relu6", "ig.relu6(ig.asarray([-2.0, 0.0, 2.0]))"},
               {"silu", "ig.silu(ig.asarray([-2.0, 0.0, 2.0]))"},
               {"softplus", "ig.softplus(ig.asarray([-2.0, 0.0, 2.0]))"},
               {"log_sigmoid", "ig.log_sigmoid(ig.asarray([-2.0, 0.0, 2.0]))"},
               {"mish", "ig.mish(ig.asarray([-2.0, 0.0, 2.0]))"},
               {"hard_sigmoid", "ig.hard_sigmoid(ig.asarray([-2.0, 0.0, 2.0]))"},
               {"hard_swish", "ig.hard_swish(ig.asarray([-2.0, 0.0, 2.0]))"},
               {"leaky_relu", "ig.leaky_relu(ig.asarray([-2.0, 0.0, 2.0]))"},
               {"elu", "ig.elu(ig.asarray([-2.0, 0.0, 2.0]))"},
               {"gelu", "ig.gelu(ig.asarray([-2.0, 0.0, 2.0]))"},
               {"softmax", "ig.softmax(ig.asarray([-2.0, 0.0, 2.0]))"},
               {"log_softmax", "ig.log_softmax(ig.asarray([-2.0, 0.0, 2.0]))"},
               {"soft_sign", "ig.soft_sign(ig.asarray([-3.0, 0.0, 1.0]))"},
               {"tanh_shrink", "ig.tanh_shrink(ig.asarray([-2.0, 0.0, 2.0]))"},
               {"selu", "ig.selu(ig.asarray([-2.0, 0.0, 2.0]))"},
               {"celu", "ig.celu(ig.asarray([-2.0, 0.0, 2.0]))"},
               {"hard_tanh", "ig.hard_tanh(ig.asarray([-2.0, 0.5, 2.0]))"},
               {"softshrink", "ig.softshrink(ig.asarray([-2.0, 0.25, 2.0]))"},
               {"hardshrink", "ig.hardshrink(ig.asarray([-2.0, 0.25, 2.0]))"},
               {"glu", "ig.glu(ig.asarray([1.0, 2.0, 0.0, 0.0]))"},
               {"layer_norm", "ig.layer_norm(ig.asarray([[1.0, 2.0, 3.0]]))"},
               {"rms_norm", "ig.rms_norm(ig.asarray([[3.0, 4.0]]))"},
               {"group_norm", "ig.group_norm(ig.asarray([[1.0, 3.0, 5.0, 7.0]]), num_groups=2)"},
               {"batch_norm",
                "ig.batch_norm(ig.asarray([[1.0, 3.0]]), ig.asarray([0.0, 1.0]), ig.asarray([1.0, 4.0]))"},
               {"normalize", "ig.normalize(ig.asarray([3.0, 4.0]))"},
           });
  return ops;
}

}  // namespace ig::ops
