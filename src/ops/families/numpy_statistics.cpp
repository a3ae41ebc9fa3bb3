// NumPy's folds that pass NaN over, order statistics, averages and covariances.
#include <cmath>
#include <limits>

#include "ops/attrs.h"
#include "ops/families/compose.h"
#include "ops/families/families.h"
#include "ops/order_attrs.h"

namespace ig::ops {

std::vector<Op> numpy_samples();  // numpy_samples.cpp

namespace {

constexpr Attr<double> kCorrection{
    "correction", "What is taken off the count of elements: 1 for an estimate from a sample.", "0x0p+0"};
constexpr Attr<std::string> kMethod{"method", "What is taken between two elements.", "\"linear\"",
                                    "linear|lower|higher|midpoint|nearest"};
constexpr Attr<bool> kRowVar{"rowvar", "Whether a row is a variable, and a column an observation.", "true"};
constexpr Attr<double> kDdof{"ddof", "What is taken off the count of observations.", "0x1p+0"};

Value kept(BodyContext& c, Value folded) {
  if (!c.get(kKeepDims)) return folded;
  Compose m(c.build);
  return m.keep(folded, c.operands[0], c.get(kAxes));
}
Value fold(BodyContext& c, std::string_view op, Value x) { return c.build(op, {x}, {kAxes % c.get(kAxes)}); }

// --- folds that pass NaN over
// -------------------------------------------------------------------------------------------
Value is_nan(BodyContext& c, Value x) {
  return is_float(x->type().dtype) ? c.build("is_nan", {x})
                                   : c.build.full(Type::tensor(DType::Bool, x->type().dims), 0);
}
Value without_nan(BodyContext& c, Value x, double instead) {
  if (!is_float(x->type().dtype)) return x;
  Compose m(c.build);
  return m.where(c.build("is_nan", {x}), m.number(x, instead), x);
}
Value widened(BodyContext& c, Value x) {
  DType d = x->type().dtype;
  if (is_signed_int(d)) return c.build.convert(x, DType::I64);
  return is_unsigned_int(d) ? c.build.convert(x, DType::U64) : x;
}
std::vector<Value> nansum_body(BodyContext& c) {
  return {kept(c, fold(c, "reduce_sum", widened(c, without_nan(c, c.operands[0], 0))))};
}
std::vector<Value> nanprod_body(BodyContext& c) {
  return {kept(c, fold(c, "reduce_prod", widened(c, without_nan(c, c.operands[0], 1))))};
}
// Where nothing but NaN is folded, NaN.
Value nan_extreme(BodyContext& c, std::string_view op, double instead) {
  Compose m(c.build);
  Value x = c.operands[0];
  if (!is_float(x->type().dtype)) return c.build(op, {x}, {kAxes % c.get(kAxes)});
  Value out = c.build(op, {without_nan(c, x, instead)}, {kAxes % c.get(kAxes)});
  return m.where(fold(c, "reduce_and", is_nan(c, x)), m.number(out, std::numeric_limits<double>::quiet_NaN()),
                 out);
}
std::vector<Value> nanmax_body(BodyContext& c) { return {kept(c, nan_extreme(c, "max", -INFINITY))}; }
std::vector<Value> nanmin_body(BodyContext& c) { return {kept(c, nan_extreme(c, "min", INFINITY))}; }

struct Counted {
  Value x, count;  // the elements with 0 in place of NaN; how many others there are, as a number of x's type
  Value there;     // where they are
};
Counted counted(BodyContext& c, Compose& m) {
  Value x = m.wide(c.operands[0]);
  Value there = c.build("not", {is_nan(c, x)});
  return {m.where(there, x, m.number(x, 0)), fold(c, "reduce_sum", c.build.convert(there, x->type().dtype)),
          there};
}
std::vector<Value> nanmean_body(BodyContext& c) {
  Compose m(c.build);
  Counted n = counted(c, m);
  Value mean = m.div(fold(c, "reduce_sum", n.x), n.count);
  return {c.build.convert(kept(c, mean), c.operands[0]->type().dtype)};
}
Value nan_variance(BodyContext& c, Compose& m) {
  Counted n = counted(c, m);
  Value mean = m.div(fold(c, "reduce_sum", n.x), m.max(n.count, 1.0));
  Value d = m.where(n.there, m.sub(n.x, m.keep(mean, n.x, c.get(kAxes))), m.number(n.x, 0));
  Value freedom = m.sub(n.count, c.get(kCorrection));
  Value enough = m.less(m.number(freedom, 0), freedom);
  Value variance = m.div(fold(c, "reduce_sum", m.mul(d, d)), m.where(enough, freedom, m.number(freedom, 1)));
  return m.where(enough, variance, m.number(variance, std::numeric_limits<double>::quiet_NaN()));
}
std::vector<Value> nanvar_body(BodyContext& c) {
  Compose m(c.build);
  return {c.build.convert(kept(c, nan_variance(c, m)), c.operands[0]->type().dtype)};
}
std::vector<Value> nanstd_body(BodyContext& c) {
  Compose m(c.build);
  return {c.build.convert(kept(c, m.sqrt(nan_variance(c, m))), c.operands[0]->type().dtype)};
}
std::vector<Value> ptp_body(BodyContext& c) {
  Compose m(c.build);
  Value x = c.operands[0];
  Value high = c.build("max", {x}, {kAxes % c.get(kAxes)}), low = c.build("min", {x}, {kAxes % c.get(kAxes)});
  return {kept(c, m.sub(high, low))};
}

void infer_axes(InferContext& c) {
  c.require_dtype(0, c.op.decl.dtypes);
  for (int64_t axis : c.get(kAxes)) c.axis(axis, c.operand(0).rank());
  tools::infer_by_body(c);
}

void require_elements(InferContext& c) {
  Dim folded(int64_t{1});
  const Type& x = c.operand(0);
  for (int64_t axis : c.get(kAxes)) folded = folded * x.dims[static_cast<size_t>(c.axis(axis, x.rank()))];
  if (folded == 0)
    c.fail(ErrorKind::Value, fmt::format("the axes of {} hold no elements", x.str()),
           "the result is one of the elements, or lies between two of them, and there is none",
           "test the size first, or join a first element with ig.concat");
}

void infer_extreme(InferContext& c) {
  c.require_dtype(0, DTypeSet::Real);
  require_elements(c);
  tools::infer_by_body(c);
}

// --- order statistics
// ---------------------------------------------------------------------------------------------------
// The axes as one, behind the others: the elements that are put in order.
Value rows_of(BodyContext& c, Value x, Dim& n) {
  const Ints& axes = c.get(kAxes);
  Ints order;
  Dims shape;
  n = 1;
  for (int64_t i = 0; i < x->type().rank(); ++i)
    if (!tools::contains_axis(axes, i)) {
      order.push_back(i);
      shape.push_back(x->type().dims[static_cast<size_t>(i)]);
    }
  for (int64_t axis : axes) {
    order.push_back(axis);
    n = n * x->type().dims[static_cast<size_t>(axis)];
  }
  shape.push_back(n);
  return c.build.reshape(c.build.transpose(x, order), shape);
}

Value size_as(BodyContext& c, const Dim& n, DType dtype) {
  if (n.is_constant()) return c.build.scalar(dtype, static_cast<double>(n.constant()));
  return c.build.convert(c.build("dimension_size", {}, {{"size", Dims{n}}}), dtype);
}

// The elements at the shares q (float64, one axis) of each row in order, the shares in front. A row that
// holds a NaN gives NaN.
Value at_shares(BodyContext& c, Value q, const std::string& method) {
  Compose m(c.build);
  Dim n;
  Value x = rows_of(c, m.wide(c.operands[0]), n);
  int64_t rank = x->type().rank();
  Value sorted = c.build("sort", {x}, {kAxis % (rank - 1), kDescending % false});
  Value last = m.sub(size_as(c, n, DType::F64), 1.0);
  Value place = m.mul(q, last);
  Value low = c.build("floor", {place});
  Value share = m.sub(place, low), high = m.min(m.add(low, 1.0), last);
  auto taken = [&](Value at) {
    Value index = c.build.convert(c.build("stop_gradient", {at}), DType::I64);
    return c.build("take", {sorted, index}, {{"axis", rank - 1}});
  };
  Value out;
  if (method == "lower") {
    out = taken(low);
  } else if (method == "higher") {
    out = taken(c.build("ceil", {place}));
  } else if (method == "nearest") {
    out = taken(c.build("round_nearest_even", {place}));
  } else {
    Value a = taken(low), b = taken(high);
    Value t = method == "midpoint"
                  ? m.where(m.equal(share, m.number(share, 0)), m.number(share, 0), m.number(share, 0.5))
                  : share;
    t = c.build.broadcast_to(c.build.convert(t, a->type().dtype), a->type().dims);
    // From the nearer end, so that t = 1 gives b itself.
    Value d = m.sub(b, a), near = m.less(t, m.number(t, 0.5));
    out = m.where(near, m.add(a, m.mul(d, t)), m.sub(b, m.mul(d, m.sub(m.number(t, 1), t))));
    out = m.where(m.equal(a, b), a, out);  // two infinities have no difference
  }
  Value top = c.build("stop_gradient", {m.top_keep(x, {rank - 1})});
  Value nan = c.build.broadcast_to(c.build("is_nan", {top}), out->type().dims);
  out = m.where(nan, m.number(out, std::numeric_limits<double>::quiet_NaN()), out);
  Ints order{rank - 1};
  for (int64_t i = 0; i + 1 < rank; ++i) order.push_back(i);
  return c.build.convert(c.build.transpose(out, order), c.operands[0]->type().dtype);
}

// With the folded axes as size 1, where they are kept; and without the axis of the shares, where q has none.
Value placed(BodyContext& c, Value out, bool one) {
  Dims shape;
  if (!one) shape.push_back(out->type().dims[0]);
  const Dims& x = c.operands[0]->type().dims;
  for (size_t i = 0; i < x.size(); ++i) {
    bool folded = tools::contains_axis(c.get(kAxes), static_cast<int64_t>(i));
    if (!folded)
      shape.push_back(x[i]);
    else if (c.get(kKeepDims))
      shape.push_back(1);
  }
  return c.build.reshape(out, shape);
}

std::vector<Value> quantile_of(BodyContext& c, double scale) {
  Compose m(c.build);
  Value q = c.operands[1];
  bool one = q->type().rank() == 0;
  if (one) q = c.build.reshape(q, {Dim(int64_t{1})});
  if (scale != 1) q = m.div(q, scale);
  return {placed(c, at_shares(c, q, c.get(kMethod)), one)};
}
std::vector<Value> quantile_body(BodyContext& c) { return quantile_of(c, 1); }
std::vector<Value> percentile_body(BodyContext& c) { return quantile_of(c, 100); }
std::vector<Value> median_body(BodyContext& c) {
  Value half = c.build.full(Type::tensor(DType::F64, {Dim(int64_t{1})}), 0.5);
  return {placed(c, at_shares(c, half, "linear"), true)};
}

void infer_quantile(InferContext& c) {
  c.require_dtype(0, DTypeSet::Float);
  if (c.operand(1).dtype != DType::F64 || c.operand(1).rank() > 1)
    c.fail(ErrorKind::Type, fmt::format("q is {}", c.operand(1).str()),
           "it is one share, or an axis of shares, in float64", "pass a number, or a list of numbers");
  require_elements(c);
  tools::infer_by_body(c);
}
void infer_median(InferContext& c) {
  c.require_dtype(0, DTypeSet::Float);
  require_elements(c);
  tools::infer_by_body(c);
}

// --- averages and covariances
// -----------------------------------------------------------------------------------------------
void infer_average(InferContext& c) {
  c.require_dtype(0, DTypeSet::FloatComplex);
  for (int64_t axis : c.get(kAxes)) c.axis(axis, c.operand(0).rank());
  if (c.size() > 1) {
    c.require_same_dtype(0, 1);
    if (c.operand(1).rank() == 1 && c.operand(0).rank() != 1) {
      if (c.get(kAxes).size() != 1)
        c.fail(ErrorKind::Shape, "weights of one axis, and several axes to fold",
               "it is not said along which of them they lie", "name one axis, or broadcast the weights");
      c.require_equal(c.operand(1).dims[0],
                      c.operand(0).dims[static_cast<size_t>(c.axis(c.get(kAxes)[0], c.operand(0).rank()))],
                      "the weights and the axis");
    } else {
      c.require_same_shape(0, 1);
    }
  }
  tools::infer_by_body(c);
}

std::vector<Value> average_body(BodyContext& c) {
  Compose m(c.build);
  Value x = m.wide(c.operands[0]);
  DType dtype = c.operands[0]->type().dtype;
  if (c.operands.size() < 2) {
    Value mean = m.div(fold(c, "reduce_sum", x), m.count(x, c.get(kAxes)));
    return {c.build.convert(kept(c, mean), dtype)};
  }
  Value w = m.wide(c.operands[1]);
  if (w->type().rank() == 1)
    w = c.build.broadcast(w, x->type().dims, {x->type().rank() == 1 ? 0 : c.get(kAxes)[0]});
  Value mean = m.div(fold(c, "reduce_sum", m.mul(x, w)), fold(c, "reduce_sum", w));
  return {c.build.convert(kept(c, mean), dtype)};
}

void infer_cov(InferContext& c) {
  c.require_dtype(0, DTypeSet::Float);
  if (c.operand(0).rank() < 1 || c.operand(0).rank() > 2)
    c.fail(ErrorKind::Shape, fmt::format("needs [variables, observations], got {}", c.operand(0).str()),
           "one axis holds the variables, the other one their observations", "reshape the array to two axes");
  tools::infer_by_body(c);
}

Value covariance(BodyContext& c, Compose& m, double ddof) {
  Value x = m.wide(c.operands[0]);
  if (x->type().rank() == 1)
    x = c.build.reshape(x, {Dim(int64_t{1}), x->type().dims[0]});
  else if (!c.get(kRowVar))
    x = c.build.transpose(x, {1, 0});
  Value d = m.centred(x, {1});
  return m.div(m.times_rows(d, d), m.sub(m.count(x, {1}), ddof));
}
std::vector<Value> cov_body(BodyContext& c) {
  Compose m(c.build);
  Value out = covariance(c, m, c.get(kDdof));
  if (c.operands[0]->type().rank() == 1) out = c.build.reshape(out, {});
  return {c.build.convert(out, c.operands[0]->type().dtype)};
}
std::vector<Value> corrcoef_body(BodyContext& c) {
  Compose m(c.build);
  Value out = covariance(c, m, 0);
  Value spread = m.sqrt(c.build("diagonal", {out}));
  Dims column{spread->type().dims[0], Dim(int64_t{1})};
  out = m.div(m.div(out, c.build.reshape(spread, column)), spread);
  out = m.min(m.max(out, -1.0), 1.0);
  if (c.operands[0]->type().rank() == 1) out = c.build.reshape(out, {});
  return {c.build.convert(out, c.operands[0]->type().dtype)};
}

std::vector<Sample> folds(const char* extra = "", double low = -4, double high = 4) {
  std::vector<Sample> out;
  for (auto [shape, axes] : {std::pair{"T[7]", "[0]"},
                             {"T[3, 50]", "[1]"},
                             {"T[2, 3, 4]", "[0, 2]"},
                             {"T[2, 3, 4]", "[0, 1, 2]"},
                             {"T[0, 4]", "[1]"}})
    for (const char* keep : {"false", "true"})
      out.push_back({shape, fmt::format("{{axes = {}, keepdims = {}{}}}", axes, keep, extra), low, high});
  return out;
}

}  // namespace

std::vector<Op> numpy_statistics() {
  std::vector<Op> ops;
  const std::string axes = "axis=tuple(axes), keepdims=keepdims";
  const OperandSpec x{"x", "The array."};
  auto reduction = [&](std::string name, std::string doc, DTypeSet dtypes, std::string numpy, double ulp) {
    return OpDecl{
        .name = name,
        .python = name,
        .doc = std::move(doc),
        .operands = {x},
        .attrs = {kAxes, kKeepDims},
        .dtypes = dtypes,
        .front = Front::Reduction,
        .numpy = std::move(numpy),
        .example = fmt::format("ig.{}(ig.asarray([[1.0, float('nan')], [3.0, 5.0]]), axis=1)", name),
        .samples = folds(),
        .bad_samples = {{"f32[3]", "{axes = [1], keepdims = false}",
                         fmt::format("IndexError: {}: axis 1 is out of range for rank 1", name)}},
        .ulp = ulp};
  };
  auto add = [&](OpDecl decl, BodyFn body, InferFn infer = infer_axes) {
    ops.push_back(composite(std::move(decl), body, infer));
  };
  const std::string wide_type =
      ", dtype=(x.dtype if x.dtype.kind not in 'iu' else np.uint64 if x.dtype.kind == 'u' else np.int64))";
  OpDecl nansum = reduction("nansum", "The sum of the elements over the axes that are not NaN.",
                            DTypeSet::Real, "np.nansum(x, " + axes + wide_type, 32);
  nansum.samples.push_back({"T[2, 3]", "{axes = [1], keepdims = false}"});
  add(nansum, nansum_body);
  OpDecl nanprod = reduction("nanprod", "The product of the elements over the axes that are not NaN.",
                             DTypeSet::Real, "np.nanprod(x, " + axes + wide_type, 64);
  for (Sample& s : nanprod.samples) s.low = 0.9, s.high = 1.1;
  nanprod.samples.push_back({"T[2, 3] {1, 2, 3, 4, 5, 6}", "{axes = [1], keepdims = false}"});
  add(nanprod, nanprod_body);
  for (bool largest : {true, false}) {
    std::string name = largest ? "nanmax" : "nanmin";
    OpDecl decl = reduction(name,
                            fmt::format("The {} element over the axes that is not NaN; NaN where all are.",
                                        largest ? "largest" : "smallest"),
                            DTypeSet::Real, "np." + name + "(x, " + axes + ")", 0);
    decl.bad_samples.push_back({"f32[2, 0]", "{axes = [1], keepdims = false}",
                                fmt::format("ValueError: {}: the axes of f32[2, 0] hold no elements", name)});
    add(std::move(decl), largest ? nanmax_body : nanmin_body, infer_extreme);
  }
  add(reduction("nanmean",
                "The mean of the elements over the axes that are not NaN; NaN where there are none.",
                DTypeSet::Float, "np.nanmean(x, " + axes + ")", 32),
      nanmean_body);
  for (bool root : {false, true}) {
    std::string name = root ? "nanstd" : "nanvar";
    OpDecl decl =
        reduction(name,
                  root ? "The root of nanvar."
                       : "The mean squared distance from nanmean; NaN where not more elements are there "
                         "than `correction`.",
                  DTypeSet::Float, "np." + name + "(x, " + axes + ", ddof=correction)", 64);
    decl.attrs.push_back(kCorrection);
    decl.samples.push_back({"T[5]", "{axes = [0], keepdims = false, correction = 1.0}"});
    add(std::move(decl), root ? nanstd_body : nanvar_body);
  }
  OpDecl ptp = reduction("ptp", "The largest element over the axes less the smallest.", DTypeSet::Real,
                         "np.ptp(x, " + axes + ")", 1);
  ptp.example = "ig.ptp(ig.asarray([[1.0, 4.0], [3.0, 5.0]]), axis=1)";
  add(std::move(ptp), ptp_body, infer_extreme);

  OpDecl median =
      reduction("median",
                "The middle element over the axes in order, or the mean of the middle two; NaN where "
                "there is one.",
                DTypeSet::Float, "np.median(x, " + axes + ")", 2);
  median.example = "ig.median(ig.asarray([[1.0, 7.0, 2.0], [3.0, 5.0, 4.0]]), axis=1)";
  median.bad_samples.push_back({"f32[2, 0]", "{axes = [1], keepdims = false}",
                                "ValueError: median: the axes of f32[2, 0] hold no elements"});
  add(std::move(median), median_body, infer_median);
  for (bool percent : {false, true}) {
    std::string name = percent ? "percentile" : "quantile";
    OpDecl decl = reduction(
        name,
        fmt::format(
            "What the share q of the elements over the axes is not above, q from 0 to {}.\nBetween two "
            "elements `method` decides, as in NumPy. Several shares give an axis in front. NaN where there "
            "is one; derivatives by q as well.",
            percent ? 100 : 1),
        DTypeSet::Float, "np." + name + "(x, q, " + axes + ", method=method)", 4);
    decl.operands.push_back(
        {"q", percent ? "Percentages, of no axis or one." : "Shares, of no axis or one."});
    decl.attrs.push_back(kMethod);
    auto share = [&](double q) { return fmt::format("{}", percent ? q * 100 : q); };
    const std::string one = "f64[] {" + share(0.3125) + "}",
                      some = "f64[3] {" + share(0.0625) + ", " + share(0.4375) + ", " + share(0.9375) + "}";
    decl.samples = {{"T[7], " + one, "{axes = [0], keepdims = false}"},
                    {"T[3, 12], " + some, "{axes = [1], keepdims = false}"},
                    {"T[2, 3, 4], " + some, "{axes = [0, 2], keepdims = true}"},
                    {"T[2, 3, 4], " + one, "{axes = [0, 1, 2], keepdims = true}"},
                    {"T[1], " + one, "{axes = [0], keepdims = false}"}};
    for (const char* method : {"lower", "higher", "midpoint", "nearest"})
      decl.samples.push_back(
          {"T[12], " + some, fmt::format("{{axes = [0], keepdims = false, method = \"{}\"}}", method)});
    decl.bad_samples = {{"f32[2, 0], f64[]", "{axes = [1], keepdims = false}",
                         fmt::format("ValueError: {}: the axes of f32[2, 0] hold no elements", name)},
                        {"f32[3], f64[2, 2]", "{axes = [0], keepdims = false}",
                         fmt::format("TypeError: {}: q is f64[2, 2]", name)}};
    decl.example = fmt::format("ig.{}(ig.asarray([1.0, 7.0, 2.0, 4.0]), {})", name, share(0.5));
    add(std::move(decl), percent ? percentile_body : quantile_body, infer_quantile);
  }

  OpDecl average = reduction(
      "average", "The mean of the elements over the axes, each times its weight.", DTypeSet::FloatComplex,
      "np.average(x, weights=weights, axis=tuple(axes) if weights is None or weights.ndim > 1 "
      "else axes[0], keepdims=keepdims)",
      32);
  average.operands.push_back({.name = "weights",
                              .doc = "Of x's shape, or along the one axis; all 1 where left out.",
                              .optional = true});
  average.complex_ulp = 32;
  average.example = "ig.average(ig.asarray([1.0, 4.0]), weights=ig.asarray([3.0, 1.0]))";
  average.samples = {{"T[7]", "{axes = [0], keepdims = false}"},
                     {"T[3, 5], T[3, 5]", "{axes = [0, 1], keepdims = true}", 1, 4},
                     {"T[3, 5], T[5]", "{axes = [1], keepdims = false}", 1, 4},
                     {"T[4], T[4]", "{axes = [0], keepdims = false}", 1, 4}};
  average.bad_samples = {{"f32[2, 3], f32[3]", "{axes = [0, 1], keepdims = false}",
                          "ShapeError: average: weights of one axis, and several axes to fold"},
                         {"f32[2, 3], f32[2]", "{axes = [1], keepdims = false}",
                          "ShapeError: average: the weights and the axis: 2 and 3 differ"}};
  add(std::move(average), average_body, infer_average);

  auto variables = [&](std::string name, std::string doc, std::vector<AttrSpec> attrs, std::string numpy) {
    OpDecl decl{
        .name = name,
        .python = name,
        .doc = std::move(doc),
        .operands = {{"x", "[variables, observations], or [observations] of one variable."}},
        .attrs = std::move(attrs),
        .dtypes = DTypeSet::Float,
        .numpy = std::move(numpy),
        .example = "ig." + name + "(ig.asarray([[1.0, 2.0, 3.0], [2.0, 4.0, 7.0]]))",
        .samples = {{"T[3, 7]", "{}"}, {"T[7, 3]", "{rowvar = false}"}, {"T[5]", "{}"}},
        .bad_samples = {{"f32[2, 2, 2]", "{}",
                         fmt::format("ShapeError: {}: needs [variables, observations], got f32[2, 2, 2]",
                                     name)}},
        .ulp = 256};
    return decl;
  };
  OpDecl cov = variables("cov", "How the variables vary together: the matrix of their covariances.",
                         {kRowVar, kDdof}, "np.cov(x, rowvar=rowvar, ddof=ddof)");
  cov.samples.push_back({"T[2, 5]", "{ddof = 0.0}"});
  add(std::move(cov), cov_body, infer_cov);
  add(variables("corrcoef", "The matrix of the variables' correlations: cov over the roots of its diagonal.",
                {kRowVar}, "np.corrcoef(x, rowvar=rowvar)"),
      corrcoef_body, infer_cov);
  for (Op& op : numpy_samples()) ops.push_back(std::move(op));
  return ops;
}

}  // namespace ig::ops
