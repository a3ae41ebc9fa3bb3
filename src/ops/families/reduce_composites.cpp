// The public folds, as the array API standard has them: made of the folds of reduce.cpp, with kept axes, wider sums of
// small integers, and statistics. An axis that is folded away of size 0 has no greatest element: that is refused.
#include "ops/families/families.h"
#include "ops/families/reduce.h"

namespace ig::ops {
namespace {

Value kept(BodyContext& c, Compose& m, Value folded) {
  return c.get(kKeepDims) ? m.keep(folded, c.operands[0], c.get(kAxes)) : folded;
}
// Small integers and booleans are summed as the 64-bit integer of their kind.
DType sum_type(DType d) {
  if (d == DType::Bool || is_signed_int(d)) return DType::I64;
  return is_unsigned_int(d) ? DType::U64 : d;
}

template <const char* Fold>
std::vector<Value> sum_body(BodyContext& c) {
  Compose m(c.build);
  Value x = c.build.convert(c.operands[0], sum_type(c.operands[0]->type().dtype));
  return {kept(c, m, c.build(Fold, {x}, {kAxes % c.get(kAxes)}))};
}
template <const char* Fold>
std::vector<Value> fold_body(BodyContext& c) {
  Compose m(c.build);
  return {kept(c, m, c.build(Fold, {c.operands[0]}, {kAxes % c.get(kAxes)}))};
}
template <const char* Fold>
std::vector<Value> truth_body(BodyContext& c) {
  Compose m(c.build);
  return {kept(c, m, c.build(Fold, {c.build.convert(c.operands[0], DType::Bool)}, {kAxes % c.get(kAxes)}))};
}
std::vector<Value> count_body(BodyContext& c) {
  Compose m(c.build);
  Value ones = c.build.convert(c.build.convert(c.operands[0], DType::Bool), DType::I64);
  return {kept(c, m, m.sum(ones, c.get(kAxes)))};
}

// 16-bit floats stay float32 until the end, so that sums neither overflow nor round twice.
Value mean_of(Compose& m, Value x, const Ints& axes) { return m.div(m.sum(x, axes), m.count(x, axes)); }

std::vector<Value> mean_body(BodyContext& c) {
  Compose m(c.build);
  return {kept(c, m, c.build.convert(mean_of(m, m.wide(c.operands[0]), c.get(kAxes)), c.operands[0]->type().dtype))};
}
Value variance(BodyContext& c, Compose& m) {
  const Ints& axes = c.get(kAxes);
  Value x = m.wide(c.operands[0]), away = m.centred(x, axes);
  Value count = m.sub(m.count(x, axes), c.get(kCorrection));
  return m.div(m.sum(m.mul(away, away), axes), m.max(count, 0.0));
}
std::vector<Value> variance_body(BodyContext& c) {
  Compose m(c.build);
  return {kept(c, m, c.build.convert(variance(c, m), c.operands[0]->type().dtype))};
}
std::vector<Value> deviation_body(BodyContext& c) {
  Compose m(c.build);
  return {kept(c, m, c.build.convert(m.sqrt(variance(c, m)), c.operands[0]->type().dtype))};
}
std::vector<Value> log_sum_exp_body(BodyContext& c) {
  Compose m(c.build);
  const Ints& axes = c.get(kAxes);
  Value x = m.wide(c.operands[0]), top = m.top(x, axes);
  top = m.where(m.b("is_finite", {top}), top, m.number(top, 0));  // all -inf, or any inf: nothing to take out
  Value spread = m.b("exponential", {m.sub(x, spread_back(c.build, m.b("stop_gradient", {top}), x, axes))});
  Value sum = m.add(m.log(m.sum(spread, axes)), m.b("stop_gradient", {top}));
  return {kept(c, m, c.build.convert(sum, c.operands[0]->type().dtype))};
}

void infer_public_fold(InferContext& c) {
  c.require_dtype(0, c.op.decl.dtypes);
  require_folded_axes(c, c.get(kAxes), c.operand(0).rank());
  tools::infer_by_body(c);
}
void infer_extreme(InferContext& c) {
  c.require_dtype(0, c.op.decl.dtypes);
  require_folded_axes(c, c.get(kAxes), c.operand(0).rank());
  for (int64_t axis : c.get(kAxes))
    if (c.operand(0).dims[static_cast<size_t>(axis)] == 0)
      c.fail(ErrorKind::Value, fmt::format("axis {} of shape {} has no elements", axis, str(c.operand(0).dims)),
             "no elements have no extreme", "test the size first");
  tools::infer_by_body(c);
}

constexpr char kSum[] = "reduce_sum", kProd[] = "reduce_prod", kMax[] = "reduce_max", kMin[] = "reduce_min";
constexpr char kAll[] = "reduce_and", kAny[] = "reduce_or", kArgMax[] = "reduce_argmax", kArgMin[] = "reduce_argmin";

struct PublicFold {
  std::string name, doc, numpy;
  DTypeSet dtypes;
  BodyFn body;
  bool extreme = false;
  double low = -4, high = 4, ulp = 0;
};

Op public_fold(PublicFold f) {
  std::vector<Sample> samples;
  for (auto [shape, attrs] : {std::pair{"[3, 7]", "{axes = [1]}"}, {"[3, 7]", "{axes = [0], keepdims = true}"}, {"[3, 7]", "{axes = [0, 1]}"},
                              {"[33]", "{axes = [0]}"}, {"[2, 3, 4]", "{axes = [0, 2], keepdims = true}"}, {"[0, 3]", "{axes = [1]}"},
                              {"[1, 5]", "{axes = [0]}"}, {"[2, 70]", "{axes = [1]}"}})
    samples.push_back({std::string("T") + shape, attrs, f.low, f.high});
  if (!f.extreme) samples.push_back({"T[3, 0]", "{axes = [1]}", f.low, f.high});
  std::string own(name(members(f.dtypes).front()));
  std::vector<BadSample> bad{{own + "[2, 3]", "{axes = [2]}", fmt::format("IndexError: {}: axis 2 is out of range for rank 2", f.name)},
                             {own + "[2, 3]", "{axes = [0, 0]}", fmt::format("ValueError: {}: axes 0 and 0 are not in ascending order", f.name)}};
  if (f.extreme) bad.push_back({own + "[2, 0]", "{axes = [1]}", fmt::format("ValueError: {}: axis 1 of shape [2, 0] has no elements", f.name)});
  if (!contains(f.dtypes, DType::Bool))
    bad.push_back({"bool[2]", "{axes = [0]}", fmt::format("TypeError: {}: expected {}, but x is bool", f.name, describe(f.dtypes))});
  return composite({.name = f.name, .python = f.name, .doc = f.doc, .operands = {{"x", "The array."}}, .attrs = {kAxes, kKeepDims},
                    .dtypes = f.dtypes, .front = Front::Reduction, .numpy = f.numpy,
                    .example = "ig." + f.name + "(ig.asarray([[1.0, 2.0], [3.0, 5.0]]), axis=1)", .samples = std::move(samples),
                    .bad_samples = std::move(bad), .ulp = f.ulp},
                   f.body, f.extreme ? infer_extreme : infer_public_fold);
}

std::string of_numpy(const char* function) { return fmt::format("np.{}(x, axis=tuple(axes), keepdims=keepdims)", function); }

}  // namespace

std::vector<Op> reduce_composites() {
  std::vector<Op> ops;
  auto positions = [](const char* function) {
    return fmt::format("np.{}(x.transpose([i for i in range(x.ndim) if i not in axes] + list(axes)).reshape([x.shape[i] for i in "
                       "range(x.ndim) if i not in axes] + [int(np.prod([x.shape[i] for i in axes]))]), -1).reshape([1 if i in axes "
                       "else n for i, n in enumerate(x.shape) if keepdims or i not in axes])", function);
  };
  ops.push_back(public_fold({.name = "sum",
      .doc = "The sum of the elements over the axes; 0 of none.\n\nIntegers and booleans are summed as int64 or uint64; "
             "16-bit floats as float32, rounded at the end.",
      .numpy = of_numpy("sum"), .dtypes = DTypeSet::NumericBool, .body = sum_body<kSum>, .ulp = 64}));
  ops.push_back(public_fold({.name = "prod",
      .doc = "The product of the elements over the axes; 1 of none.\n\nIntegers and booleans are multiplied as int64 or uint64.",
      .numpy = of_numpy("prod"), .dtypes = DTypeSet::NumericBool, .body = sum_body<kProd>, .low = -1.5, .high = 1.5, .ulp = 64}));
  ops.push_back(public_fold({.name = "max", .doc = "The greatest element over the axes; NaN if any is NaN.",
      .numpy = of_numpy("max"), .dtypes = DTypeSet::Real, .body = fold_body<kMax>, .extreme = true}));
  ops.push_back(public_fold({.name = "min", .doc = "The least element over the axes; NaN if any is NaN.",
      .numpy = of_numpy("min"), .dtypes = DTypeSet::Real, .body = fold_body<kMin>, .extreme = true}));
  ops.push_back(public_fold({.name = "all", .doc = "Whether all elements over the axes are true (not zero); true of none.",
      .numpy = of_numpy("all"), .dtypes = DTypeSet::NumericBool, .body = truth_body<kAll>, .low = -2, .high = 2}));
  ops.push_back(public_fold({.name = "any", .doc = "Whether any element over the axes is true (not zero); false of none.",
      .numpy = of_numpy("any"), .dtypes = DTypeSet::NumericBool, .body = truth_body<kAny>, .low = -2, .high = 2}));
  ops.push_back(public_fold({.name = "count_nonzero", .doc = "How many elements over the axes are not zero, as int64.",
      .numpy = of_numpy("count_nonzero"), .dtypes = DTypeSet::NumericBool, .body = count_body, .low = -2, .high = 2}));
  ops.push_back(public_fold({.name = "argmax",
      .doc = "Where the greatest element over the axes stands, as int64: the first of equal ones; NaN is above all.\n\nOver "
             "several axes it is the position in row-major order.",
      .numpy = positions("argmax"), .dtypes = DTypeSet::Real, .body = fold_body<kArgMax>, .extreme = true}));
  ops.push_back(public_fold({.name = "argmin",
      .doc = "Where the least element over the axes stands, as int64: the first of equal ones; NaN is below all.\n\nOver "
             "several axes it is the position in row-major order.",
      .numpy = positions("argmin"), .dtypes = DTypeSet::Real, .body = fold_body<kArgMin>, .extreme = true}));
  ops.push_back(public_fold({.name = "mean", .doc = "The arithmetic mean over the axes; NaN of no elements.",
      .numpy = of_numpy("mean"), .dtypes = DTypeSet::FloatComplex, .body = mean_body, .ulp = 64}));
  std::string spread = "np.{}(x, axis=tuple(axes), keepdims=keepdims, ddof=correction)";
  auto add_spread = [&](const char* name, std::string doc, BodyFn body) {
    Op op = public_fold({.name = name,
        .doc = std::move(doc) + "\n\nComputed in two passes. `correction` is taken from the count that divides: 1 gives "
               "the estimate from a sample.",
        .numpy = fmt::format(fmt::runtime(spread), name), .dtypes = DTypeSet::Float, .body = body, .ulp = 256});
    op.decl.attrs.push_back(kCorrection);
    op.decl.samples.push_back({"T[3, 7]", "{axes = [1], correction = 0x1p+0}"});
    ops.push_back(std::move(op));
  };
  add_spread("var", "The variance over the axes: the mean of squared differences from the mean.", variance_body);
  add_spread("std", "The standard deviation over the axes: the root of the variance.", deviation_body);
  ops.push_back(public_fold({.name = "logsumexp",
      .doc = "log of the sum of exp(x) over the axes, with the greatest taken out first.\n\n-inf of no elements.",
      .numpy = "scipy.special.logsumexp(x, axis=tuple(axes), keepdims=keepdims) if x.size else np.full([1 if i in axes else n "
               "for i, n in enumerate(x.shape) if keepdims or i not in axes], -np.inf, x.dtype)",
      .dtypes = DTypeSet::Float, .body = log_sum_exp_body, .ulp = 64}));
  return ops;
}

}  // namespace ig::ops
