// The public folds: the primitives with axes that can be kept as size 1, and the statistics that are built on
// them.
#include <cmath>
#include <limits>

#include "ops/attrs.h"
#include "ops/families/compose.h"
#include "ops/families/families.h"
#include "ops/families/row_rules.h"

namespace ig::ops {
namespace {

constexpr Attr<double> kCorrection{
    "correction", "What is taken off the count of elements: 1 for an estimate from a sample.", "0x0p+0"};

Value kept(BodyContext& c, Value folded) {
  if (!c.get(kKeepDims)) return folded;
  Compose m(c.build);
  return m.keep(folded, c.operands[0], c.get(kAxes));
}
Value fold(BodyContext& c, std::string_view op, Value x) { return c.build(op, {x}, {kAxes % c.get(kAxes)}); }

// Sums and products of small integers are taken in 64 bits, as the array API asks.
Value widened(BodyContext& c) {
  Value x = c.operands[0];
  DType d = x->type().dtype;
  if (d == DType::Bool || (is_signed_int(d) && d != DType::I64)) return c.build.convert(x, DType::I64);
  return is_unsigned_int(d) && d != DType::U64 ? c.build.convert(x, DType::U64) : x;
}
std::vector<Value> sum_body(BodyContext& c) { return {kept(c, fold(c, "reduce_sum", widened(c)))}; }
std::vector<Value> prod_body(BodyContext& c) { return {kept(c, fold(c, "reduce_prod", widened(c)))}; }
std::vector<Value> max_body(BodyContext& c) { return {kept(c, fold(c, "reduce_max", c.operands[0]))}; }
std::vector<Value> min_body(BodyContext& c) { return {kept(c, fold(c, "reduce_min", c.operands[0]))}; }
std::vector<Value> argmax_body(BodyContext& c) { return {kept(c, fold(c, "reduce_argmax", c.operands[0]))}; }
std::vector<Value> argmin_body(BodyContext& c) { return {kept(c, fold(c, "reduce_argmin", c.operands[0]))}; }
Value truth(BodyContext& c) { return c.build.convert(c.operands[0], DType::Bool); }
std::vector<Value> all_body(BodyContext& c) { return {kept(c, fold(c, "reduce_and", truth(c)))}; }
std::vector<Value> any_body(BodyContext& c) { return {kept(c, fold(c, "reduce_or", truth(c)))}; }
std::vector<Value> count_body(BodyContext& c) {
  return {kept(c, fold(c, "reduce_sum", c.build.convert(truth(c), DType::I64)))};
}

std::vector<Value> mean_body(BodyContext& c) {
  Compose m(c.build);
  Value x = m.wide(c.operands[0]);
  Value mean = m.div(m.sum(x, c.get(kAxes)), m.count(x, c.get(kAxes)));
  return {c.build.convert(kept(c, mean), c.operands[0]->type().dtype)};
}
// Two passes: the mean, then the mean of squared differences from it.
Value variance(BodyContext& c, Compose& m, Value x) {
  const Ints& axes = c.get(kAxes);
  Value d = m.centred(x, axes);
  Value squares = m.mul(d, d);
  if (is_complex(x->type().dtype)) {
    Value re = c.build("real", {d}), im = c.build("imag", {d});
    squares = m.add(m.mul(re, re), m.mul(im, im));
  }
  Value count = m.sub(m.count(squares, axes), c.get(kCorrection));
  return m.div(m.sum(squares, axes), m.max(count, 0.0));
}
std::vector<Value> var_body(BodyContext& c) {
  Compose m(c.build);
  return {
      c.build.convert(kept(c, variance(c, m, m.wide(c.operands[0]))), part_of(c.operands[0]->type().dtype))};
}
std::vector<Value> std_body(BodyContext& c) {
  Compose m(c.build);
  return {c.build.convert(kept(c, m.sqrt(variance(c, m, m.wide(c.operands[0])))),
                          part_of(c.operands[0]->type().dtype))};
}
// 2 sum(d t) / count of the differences d from the mean: that the mean moves too comes to nothing, since they
// sum to zero. Of the root half of that over the root.
Value moved_variance(JvpContext& c, Compose& m) {
  const Ints& axes = c.node->attrs().get(kAxes);
  Value d = m.centred(m.wide(c.operands[0]), axes), t = m.wide(c.tangents[0]);
  auto part = [&](std::string_view name, Value v) { return c.build(name, {v}); };
  Value along = is_complex(d->type().dtype)
                    ? m.add(m.mul(part("real", d), part("real", t)), m.mul(part("imag", d), part("imag", t)))
                    : m.mul(d, t);
  Value count = m.sub(m.count(along, axes), c.node->attrs().get(kCorrection));
  Value out = m.div(m.mul(m.sum(along, axes), 2), m.max(count, 0.0));
  return c.build.reshape(out, c.results[0]->type().dims);
}
std::vector<Value> jvp_var(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Compose m(c.build);
  return {c.build.convert(moved_variance(c, m), c.results[0]->type().dtype)};
}
std::vector<Value> jvp_std(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Compose m(c.build);
  Value out = m.div(moved_variance(c, m), m.mul(m.wide(c.results[0]), 2));
  return {c.build.convert(out, c.results[0]->type().dtype)};
}
std::vector<Value> logsumexp_body(BodyContext& c) {
  Compose m(c.build);
  Powers p = powers_of(m, m.wide(c.operands[0]), c.get(kAxes));
  return {c.build.convert(kept(c, m.add(m.log(p.sum), p.shift)), c.operands[0]->type().dtype)};
}

template <DTypeSet Set>
void infer_folded(InferContext& c) {
  c.require_dtype(0, Set);
  for (int64_t axis : c.get(kAxes)) c.axis(axis, c.operand(0).rank());
  tools::infer_by_body(c);
}
// Of no elements there is no largest one. (The primitive folds are total, and give their start.)
void infer_extreme(InferContext& c) {
  c.require_dtype(0, DTypeSet::Real);
  for (int64_t axis : c.get(kAxes)) c.axis(axis, c.operand(0).rank());
  Dim folded(int64_t{1}), kept(int64_t{1});
  const Type& x = c.operand(0);
  for (int i = 0; i < x.rank(); ++i) {
    Dim& part = tools::contains_axis(c.get(kAxes), i) ? folded : kept;
    part = part * x.dims[static_cast<size_t>(i)];
  }
  if (folded == 0 && kept != 0)
    c.fail(ErrorKind::Value, fmt::format("the axes of {} hold no elements", x.str()),
           "the result is one of the elements, and there is none",
           "test the size first, or join a first element with ig.concat");
  tools::infer_by_body(c);
}
void infer_truth(InferContext& c) {
  if (c.operand(0).dtype == DType::Key)
    c.fail(ErrorKind::Type, "keys have no truth",
           "the op asks whether elements are not zero, and the bits of a key are no number",
           "draw numbers from the keys first");
  for (int64_t axis : c.get(kAxes)) c.axis(axis, c.operand(0).rank());
  tools::infer_by_body(c);
}
void infer_summed(InferContext& c) {
  if (c.operand(0).dtype == DType::Key) c.require_dtype(0, DTypeSet::Numeric);
  for (int64_t axis : c.get(kAxes)) c.axis(axis, c.operand(0).rank());
  tools::infer_by_body(c);
}

std::vector<Sample> samples(const char* extra, double low, double high) {
  std::vector<Sample> out;
  for (auto [shape, axes] : {std::pair{"T[]", "[]"},
                             {"T[7]", "[0]"},
                             {"T[3, 50]", "[1]"},
                             {"T[30, 5]", "[0]"},
                             {"T[2, 3, 4]", "[0, 2]"},
                             {"T[2, 3, 4]", "[0, 1, 2]"},
                             {"T[0, 4]", "[1]"}})
    for (const char* keep : {"false", "true"})
      out.push_back({shape, fmt::format("{{axes = {}, keepdims = {}{}}}", axes, keep, extra), low, high});
  return out;
}

}  // namespace

std::vector<Op> reduce_composites() {
  std::vector<Op> ops;
  auto add = [&](std::string name, std::string doc, DTypeSet dtypes, BodyFn body, InferFn infer,
                 std::string numpy, double ulp, const char* extra = "", double low = -4, double high = 4) {
    OpDecl decl{.name = name,
                .python = name,
                .doc = std::move(doc),
                .operands = {{"x", "The array."}},
                .attrs = {kAxes, kKeepDims},
                .dtypes = dtypes,
                .traits = 0,
                .front = Front::Reduction,
                .numpy = std::move(numpy),
                .example = fmt::format("ig.{}(ig.asarray([[1.0, 2.0], [3.0, 5.0]]), axis=1)", name),
                .samples = samples(extra, low, high),
                .bad_samples = {{"f32[3]", "{axes = [1], keepdims = false}",
                                 fmt::format("IndexError: {}: axis 1 is out of range for rank 1", name)}},
                .ulp = ulp,
                .complex_ulp = ulp};
    if (infer == infer_extreme)
      decl.bad_samples.push_back(
          {"f32[2, 0]", "{axes = [1], keepdims = false}",
           fmt::format("ValueError: {}: the axes of f32[2, 0] hold no elements", name)});
    if (body == var_body || body == std_body) decl.attrs.push_back(kCorrection);
    ops.push_back(composite(std::move(decl), body, infer));
  };
  const std::string axes = "axis=tuple(axes), keepdims=keepdims";
  add("sum",
      "The sum of the elements over the axes. Sums of integers narrower than 64 bits, and of bool, are of "
      "int64 or uint64.",
      DTypeSet::Numeric, sum_body, infer_summed,
      "np.sum(x, " + axes +
          ", dtype=(x.dtype if x.dtype.kind not in 'biu' else np.uint64 if x.dtype.kind == 'u' else "
          "np.int64))",
      32);
  add("prod", "The product of the elements over the axes; types as for sum.", DTypeSet::Numeric, prod_body,
      infer_summed,
      "np.prod(x, " + axes +
          ", dtype=(x.dtype if x.dtype.kind not in 'biu' else np.uint64 if x.dtype.kind == 'u' else "
          "np.int64))",
      64, "", 0.9, 1.1);
  add("max",
      "The largest element over the axes; NaN where there is one. Axes without elements are refused; where a "
      "size is a symbol that turns out 0, the result is the least value of the dtype.",
      DTypeSet::Real, max_body, infer_extreme, "np.max(x, " + axes + ")", 0);
  add("min",
      "The smallest element over the axes; NaN where there is one. Axes without elements are refused; where "
      "a size is a symbol that turns out 0, the result is the greatest value of the dtype.",
      DTypeSet::Real, min_body, infer_extreme, "np.min(x, " + axes + ")", 0);
  add("all", "Whether every element over the axes is not zero.", DTypeSet::Any, all_body, infer_truth,
      "np.all(x, " + axes + ")", 0);
  add("any", "Whether any element over the axes is not zero.", DTypeSet::Any, any_body, infer_truth,
      "np.any(x, " + axes + ")", 0);
  add("count_nonzero", "How many elements over the axes are not zero.", DTypeSet::Any, count_body,
      infer_truth, "np.count_nonzero(x, " + axes + ")", 0);
  auto numpy_arg = [](std::string f) {
    return "(np." + f +
           "(np.moveaxis(x, axes, range(x.ndim - len(axes), x.ndim)).reshape([n for i, n in "
           "enumerate(x.shape) if i not in axes] + [int(np.prod([x.shape[a] for a in axes]))]), "
           "axis=-1)).reshape([(1 if keepdims else None) if i in axes else n for i, n in enumerate(x.shape) "
           "if keepdims or i not in axes])";
  };
  add("argmax",
      "The position of the first largest element: along the axis, or in row-major order over several.",
      DTypeSet::Real, argmax_body, infer_extreme, numpy_arg("argmax"), 0);
  add("argmin",
      "The position of the first smallest element: along the axis, or in row-major order over several.",
      DTypeSet::Real, argmin_body, infer_extreme, numpy_arg("argmin"), 0);
  add("mean", "The mean of the elements over the axes; NaN where there are none.", DTypeSet::FloatComplex,
      mean_body, infer_folded<DTypeSet::FloatComplex>, "np.mean(x, " + axes + ")", 32);
  add("var",
      "The variance of the elements over the axes: the mean squared distance from the mean; of complex "
      "numbers too it is real.",
      DTypeSet::FloatComplex, var_body, infer_folded<DTypeSet::FloatComplex>,
      "np.var(x, " + axes + ", ddof=correction)", 64, ", correction = 0x1p-1");
  ops.back().rules.jvp = jvp_var;
  add("std", "The standard deviation of the elements over the axes: the square root of the variance.",
      DTypeSet::FloatComplex, std_body, infer_folded<DTypeSet::FloatComplex>,
      "np.std(x, " + axes + ", ddof=correction)", 64, ", correction = 0x0p+0");
  ops.back().rules.jvp = jvp_std;
  add("logsumexp", "log(sum(exp(x))) over the axes, without overflow on the way.", DTypeSet::Float,
      logsumexp_body, infer_folded<DTypeSet::Float>, "np.logaddexp.reduce(x, " + axes + ")", 32);
  ops.back().rules.jvp = jvp_logsumexp;
  return ops;
}

}  // namespace ig::ops
