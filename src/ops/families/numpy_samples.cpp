// NumPy's functions of sampled curves and of bins: interpolation, differences and areas, convolution,
// polynomials, counting.
#include <algorithm>

#include "ops/contraction.h"
#include "ops/families/compose.h"
#include "ops/shape_attrs.h"

namespace ig::ops {

std::vector<Op> numpy_samples();

namespace {

constexpr Attr<int64_t> kAlong{"axis", "The axis, counted from the end where negative.", "-1"};
constexpr Attr<double> kSpacing{"dx", "The distance of neighbours, where x is left out.", "0x1p+0"};
constexpr Attr<int64_t> kEdgeOrder{"edge_order", "The order of the differences at the ends: 1 or 2.", "1"};
constexpr Attr<std::string> kMode{"mode", "Which part of the whole.", "\"full\"", "full|same|valid"};
constexpr Attr<std::string> kValidMode{"mode", "Which part of the whole.", "\"valid\"", "full|same|valid"};
constexpr Attr<bool> kRight{"right", "Whether a bin holds its right end, and not its left.", "false"};
constexpr Attr<int64_t> kLength{"length", "The size of the result; greater numbers are not counted."};

// The elements of a row (one axis) at indices of any shape.
Value picked(Builder& b, Value row, Value index) {
  Value flat = b.reshape(index, {index->type().elements()});
  return b.reshape(b("take", {row, flat}, {{"axis", int64_t{0}}}), index->type().dims);
}
Value search(Builder& b, Value sorted, Value values, bool right) {
  return b("searchsorted", {sorted, values}, {{"side", std::string(right ? "right" : "left")}});
}
Value first_of(Builder& b, Value row) {
  Compose m(b);
  return b.reshape(m.slice(row, 0, 0, 1), {});
}
Value last_of(Builder& b, Value row) {
  Compose m(b);
  const Dim& n = row->type().dims[0];
  return b.reshape(m.slice(row, 0, n - 1, n), {});
}
void require_some(InferContext& c, size_t operand) {
  c.require_rank(operand, 1);
  c.require_less_equal(1, c.operand(operand).dims[0], "a row of at least one element");
}

// --- interp
// -------------------------------------------------------------------------------------------------------------
void infer_interp(InferContext& c) {
  c.require_dtype(0, DTypeSet::Float);
  for (size_t i = 1; i < c.size(); ++i) c.require_same_dtype(0, i);
  require_some(c, 1);
  c.require_rank(2, 1);
  c.require_equal(c.operand(1).dims[0], c.operand(2).dims[0], "the points and their values");
  for (size_t i = 3; i < c.size(); ++i) c.require_rank(i, 0);
  tools::infer_by_body(c);
}

std::vector<Value> interp_body(BodyContext& c) {
  Builder& b = c.build;
  Compose m(b);
  DType dtype = c.operands[0]->type().dtype;
  Value x = m.wide(c.operands[0]), xp = m.wide(c.operands[1]), fp = m.wide(c.operands[2]);
  Value place = b("stop_gradient", {search(b, xp, x, true)});
  const Dim& n = xp->type().dims[0];
  Value last = n.is_constant()
                   ? b.scalar(DType::I64, static_cast<double>(n.constant() - 1))
                   : m.sub(b.convert(b("dimension_size", {}, {{"size", Dims{n}}}), DType::I64), 1.0);
  Value high = m.min(m.max(place, 1.0), last), low = m.max(m.sub(high, 1.0), 0.0);
  Value x0 = picked(b, xp, low), x1 = picked(b, xp, high), f0 = picked(b, fp, low), f1 = picked(b, fp, high);
  Value width = m.sub(x1, x0), flat = m.equal(width, m.number(width, 0));
  Value share = m.div(m.sub(x, x0), m.where(flat, m.number(width, 1), width));
  Value out = m.where(flat, f1, m.add(f0, m.mul(share, m.sub(f1, f0))));
  Value left = c.operands.size() > 3 ? m.wide(c.operands[3]) : first_of(b, fp);
  Value right = c.operands.size() > 4 ? m.wide(c.operands[4]) : last_of(b, fp);
  out = m.where(m.less(x, first_of(b, xp)), left, m.where(m.less(last_of(b, xp), x), right, out));
  return {b.convert(out, dtype)};
}

// --- bins
// ---------------------------------------------------------------------------------------------------------------
void infer_digitize(InferContext& c) {
  c.require_dtype(0, DTypeSet::Real);
  c.require_same_dtype(0, 1);
  require_some(c, 1);
  tools::infer_by_body(c);
}

// Bins that fall are counted from the other end.
std::vector<Value> digitize_body(BodyContext& c) {
  Builder& b = c.build;
  Compose m(b);
  Value x = c.operands[0], bins = c.operands[1];
  bool right = !c.get(kRight);
  Value rising = m.less_equal(first_of(b, bins), last_of(b, bins));
  Value upward = m.where(rising, bins, b("reverse", {bins}, {kReversed % Ints{0}}));
  Value place = search(b, upward, x, right);
  const Dim& n = bins->type().dims[0];
  Value count = n.is_constant() ? b.scalar(DType::I64, static_cast<double>(n.constant()))
                                : b.convert(b("dimension_size", {}, {{"size", Dims{n}}}), DType::I64);
  return {m.where(rising, place, m.sub(count, place))};
}

// Zeros, with each update added at its index; indices outside of them add nothing.
Value counted(Builder& b, const Dim& length, Value index, Value updates) {
  Compose m(b);
  Dims flat{index->type().elements()}, column{flat[0], Dim(int64_t{1})};
  index = b.reshape(index, flat);
  updates = b.reshape(updates, flat);
  if (length == 0) return b.full(Type::tensor(updates->type().dtype, {length}), 0);
  Value inside = m.less_equal(m.number(index, 0), index);
  updates = m.where(inside, updates, m.number(updates, 0));
  // What is too large goes into a place of its own, which is cut off.
  Value room = b.full(Type::tensor(updates->type().dtype, {length + 1}), 0);
  Value end = length.is_constant() ? b.scalar(DType::I64, static_cast<double>(length.constant()))
                                   : b.convert(b("dimension_size", {}, {{"size", Dims{length}}}), DType::I64);
  index = m.min(m.max(index, 0.0), end);
  Value out = b("scatter", {room, b.reshape(index, column), updates},
                {kUpdateWindowDims % Ints{}, kInsertedDims % Ints{0}, kScatterMap % Ints{0},
                 kIndexVectorDim % int64_t{1}, kUpdate % std::string("add")});
  return m.slice(out, 0, 0, length);
}

void infer_bincount(InferContext& c) {
  tools::require_index_dtype(c, 0);
  c.require_rank(0, 1);
  if (c.get(kLength) < 0)
    c.fail(ErrorKind::Value, fmt::format("length is {}, below 0", c.get(kLength)),
           "it is the size of the result", "give the greatest number and 1");
  if (c.size() > 1) {
    c.require_dtype(1, DTypeSet::Numeric);
    c.require_same_shape(0, 1);
  }
  tools::infer_by_body(c);
}

std::vector<Value> bincount_body(BodyContext& c) {
  Value index = c.build.convert(c.operands[0], DType::I64);
  Value weights = c.operands.size() > 1
                      ? c.operands[1]
                      : c.build.full(Type::tensor(DType::I64, c.operands[0]->type().dims), 1);
  return {counted(c.build, c.get(kLength), index, weights)};
}

void infer_histogram(InferContext& c) {
  c.require_dtype(0, DTypeSet::Real);
  c.require_same_dtype(0, 1);
  c.require_rank(1, 1);
  c.require_less_equal(2, c.operand(1).dims[0], "the edges of at least one bin");
  if (c.size() > 2) {
    c.require_dtype(2, DTypeSet::Numeric);
    c.require_same_shape(0, 2);
  }
  tools::infer_by_body(c);
}

// A bin holds its left edge, the last one both.
std::vector<Value> histogram_body(BodyContext& c) {
  Builder& b = c.build;
  Compose m(b);
  Value x = b.reshape(c.operands[0], {c.operands[0]->type().elements()}), edges = c.operands[1];
  Dim bins = edges->type().dims[0] - 1;
  Value place = m.sub(search(b, edges, x, true), 1.0);
  Value at_end = m.equal(x, last_of(b, edges));
  Value end = bins.is_constant()
                  ? b.scalar(DType::I64, static_cast<double>(bins.constant() - 1))
                  : m.sub(b.convert(b("dimension_size", {}, {{"size", Dims{bins}}}), DType::I64), 1.0);
  place = m.where(at_end, end, place);
  Value weights = c.operands.size() > 2 ? b.reshape(c.operands[2], x->type().dims)
                                        : b.full(Type::tensor(DType::I64, x->type().dims), 1);
  return {counted(b, bins, place, weights)};
}

// --- differences and areas
// ----------------------------------------------------------------------------------------------
void infer_trapezoid(InferContext& c) {
  c.require_dtype(0, DTypeSet::Float);
  int64_t axis = checked_axis("trapezoid", c.get(kAlong), c.operand(0).rank());
  if (c.size() > 1) {
    c.require_same_dtype(0, 1);
    if (c.operand(1).rank() == 1)
      c.require_equal(c.operand(1).dims[0], c.operand(0).dims[static_cast<size_t>(axis)],
                      "the points and the axis");
    else
      c.require_same_shape(0, 1);
  }
  tools::infer_by_body(c);
}

std::vector<Value> trapezoid_body(BodyContext& c) {
  Compose m(c.build);
  Value y = m.wide(c.operands[0]);
  int64_t axis = checked_axis("trapezoid", c.get(kAlong), y->type().rank());
  const Dim n = y->type().dims[static_cast<size_t>(axis)];
  if (n == 0) {
    Dims shape = c.operands[0]->type().dims;
    shape.erase(shape.begin() + axis);
    return {c.build.full(Type::tensor(c.operands[0]->type().dtype, shape), 0)};
  }
  auto pair = [&](Value v) { return std::pair(m.slice(v, axis, 0, n - 1), m.slice(v, axis, 1, n)); };
  auto [a, b] = pair(y);
  Value height = m.div(m.add(a, b), 2.0), width;
  if (c.operands.size() > 1) {
    Value x = m.wide(c.operands[1]);
    if (x->type().rank() == 1) x = c.build.broadcast(x, y->type().dims, {axis});
    auto [from, to] = pair(x);
    width = m.sub(to, from);
  } else {
    width = m.number(height, c.get(kSpacing));
  }
  return {c.build.convert(m.sum(m.mul(height, width), {axis}), c.operands[0]->type().dtype)};
}

void infer_gradient(InferContext& c) {
  c.require_dtype(0, DTypeSet::Float);
  int64_t axis = checked_axis("gradient", c.get(kAlong), c.operand(0).rank());
  const Dim& n = c.operand(0).dims[static_cast<size_t>(axis)];
  int64_t order = c.get(kEdgeOrder);
  if (order != 1 && order != 2)
    c.fail(ErrorKind::Value, fmt::format("edge_order is {}", order),
           "differences at the ends are of order 1 or 2", "give 1 or 2");
  c.require_less_equal(order + 1, n, "the elements that differences need");
  if (c.size() > 1) {
    c.require_same_dtype(0, 1);
    if (c.operand(1).rank() > 1) c.require_rank(1, 1);
    if (c.operand(1).rank() == 1) c.require_equal(c.operand(1).dims[0], n, "the points and the axis");
  }
  tools::infer_by_body(c);
}

// NumPy's: in the middle of second order, also between points of unequal distance.
std::vector<Value> gradient_body(BodyContext& c) {
  Builder& b = c.build;
  Compose m(b);
  Value f = m.wide(c.operands[0]);
  int64_t axis = checked_axis("gradient", c.get(kAlong), f->type().rank());
  const Dim n = f->type().dims[static_cast<size_t>(axis)];
  auto part = [&](Value v, const Dim& from, const Dim& to) { return m.slice(v, axis, from, to); };
  bool second = c.get(kEdgeOrder) == 2;
  Value middle, first, last;
  bool points = c.operands.size() > 1 && c.operands[1]->type().rank() == 1;
  if (!points) {
    Value h = c.operands.size() > 1 ? m.wide(c.operands[1]) : b.scalar(f->type().dtype, 1);
    middle = m.div(m.sub(part(f, 2, n), part(f, 0, n - 2)), m.mul(h, 2.0));
    if (second) {
      auto edge = [&](Value near, Value next, Value far) {
        return m.div(m.add(m.sub(m.mul(next, 4.0), far), m.mul(near, -3.0)), m.mul(h, 2.0));
      };
      first = edge(part(f, 0, 1), part(f, 1, 2), part(f, 2, 3));
      last = m.neg(edge(part(f, n - 1, n), part(f, n - 2, n - 1), part(f, n - 3, n - 2)));
    } else {
      first = m.div(m.sub(part(f, 1, 2), part(f, 0, 1)), h);
      last = m.div(m.sub(part(f, n - 1, n), part(f, n - 2, n - 1)), h);
    }
  } else {
    Dims line(f->type().dims.size(), Dim(int64_t{1}));
    line[static_cast<size_t>(axis)] = n;
    Value x = b.reshape(m.wide(c.operands[1]), line);
    Value steps = m.sub(part(x, 1, n), part(x, 0, n - 1));
    auto step = [&](const Dim& i) { return part(steps, i, i + 1); };
    Value before = part(steps, 0, n - 2), behind = part(steps, 1, n - 1), both = m.add(before, behind);
    Value low = m.div(m.neg(behind), m.mul(before, both)), high = m.div(before, m.mul(behind, both));
    Value own = m.div(m.sub(behind, before), m.mul(before, behind));
    middle = m.add(m.add(m.mul(low, part(f, 0, n - 2)), m.mul(own, part(f, 1, n - 1))),
                   m.mul(high, part(f, 2, n)));
    if (second) {
      auto edge = [&](Value h1, Value h2, Value near, Value next, Value far) {
        Value sum = m.add(h1, h2);
        Value a = m.neg(m.div(m.add(m.mul(h1, 2.0), h2), m.mul(h1, sum)));
        Value d = m.div(sum, m.mul(h1, h2)), e = m.neg(m.div(h1, m.mul(h2, sum)));
        return m.add(m.add(m.mul(a, near), m.mul(d, next)), m.mul(e, far));
      };
      first = edge(step(0), step(1), part(f, 0, 1), part(f, 1, 2), part(f, 2, 3));
      last = m.neg(
          edge(step(n - 2), step(n - 3), part(f, n - 1, n), part(f, n - 2, n - 1), part(f, n - 3, n - 2)));
    } else {
      first = m.div(m.sub(part(f, 1, 2), part(f, 0, 1)), step(0));
      last = m.div(m.sub(part(f, n - 1, n), part(f, n - 2, n - 1)), step(n - 2));
    }
  }
  Value out = b("concatenate", {first, middle, last}, {kAxis % axis});
  return {b.convert(out, c.operands[0]->type().dtype)};
}

// --- convolution, polynomials
// -------------------------------------------------------------------------------------------
void infer_convolve(InferContext& c) {
  c.require_same_dtype(0, 1);
  c.require_dtype(0, DTypeSet::Real);
  require_some(c, 0);
  require_some(c, 1);
  if (!c.operand(0).dims[0].is_constant() && !c.operand(1).dims[0].is_constant())
    c.fail(ErrorKind::Shape, "the sizes of both rows are symbols", "one of the two is taken as the kernel",
           "call it with one row of fixed size");
  tools::infer_by_body(c);
}

// Sums of x[i + k] w[k] over the kernel w, which is no longer than x, of which all places or some are taken.
Value slid(Builder& b, Value x, Value w, const std::string& mode) {
  int64_t k = w->type().dims[0].constant();
  int64_t before = mode == "full" ? k - 1 : mode == "same" ? k / 2 : 0;
  int64_t behind = mode == "full" ? k - 1 : mode == "same" ? (k - 1) / 2 : 0;
  Dim one(int64_t{1});
  Value image = b.reshape(x, {one, one, x->type().dims[0]}),
        kernel = b.reshape(w, {one, one, w->type().dims[0]});
  Value out = b("convolution", {image, kernel},
                {kConvLayout % std::string("bf0_oi0->bf0"), kConvPadding % Ints{before, behind}});
  return b.reshape(out, {out->type().dims[2]});
}

bool shorter(const Dim& a, const Dim& b) {
  return a.is_constant() && (!b.is_constant() || a.constant() < b.constant());
}

Value reversed(Builder& b, Value x) { return b("reverse", {x}, {kReversed % Ints{0}}); }

std::vector<Value> convolve_body(BodyContext& c) {
  Value x = c.operands[0], y = c.operands[1];
  if (shorter(x->type().dims[0], y->type().dims[0])) std::swap(x, y);
  return {slid(c.build, x, reversed(c.build, y), c.get(kMode))};
}
std::vector<Value> correlate_body(BodyContext& c) {
  Value x = c.operands[0], y = c.operands[1];
  if (!shorter(x->type().dims[0], y->type().dims[0])) return {slid(c.build, x, y, c.get(kValidMode))};
  return {reversed(c.build, slid(c.build, y, x, c.get(kValidMode)))};
}

void infer_polyval(InferContext& c) {
  c.require_same_dtype(0, 1);
  c.require_dtype(0, DTypeSet::Numeric);
  c.require_rank(0, 1);
  if (!c.operand(0).dims[0].is_constant())
    c.fail(ErrorKind::Shape,
           fmt::format("the number {} of coefficients is not fixed", c.operand(0).dims[0].str()),
           "each coefficient is a step of the program", "call it with a fixed number of them");
  tools::infer_by_body(c);
}

std::vector<Value> polyval_body(BodyContext& c) {
  Compose m(c.build);
  Value p = c.operands[0], x = c.operands[1], out = m.number(x, 0);
  for (int64_t i = 0; i < p->type().dims[0].constant(); ++i)
    out = m.add(m.mul(out, x), c.build.reshape(m.slice(p, 0, i, i + 1), {}));
  return {out};
}

}  // namespace

std::vector<Op> numpy_samples() {
  std::vector<Op> ops;
  auto add = [&](OpDecl decl, BodyFn body, InferFn infer) {
    ops.push_back(composite(std::move(decl), body, infer));
  };
  auto optional = [](const char* name, const char* doc) {
    return OperandSpec{.name = name, .doc = doc, .optional = true};
  };
  add({.name = "interp",
       .python = "interp",
       .doc = "The piecewise linear curve through the points (xp, fp), at x.\nxp ascends. Outside of it the "
              "value is "
              "`left` and `right`, or that of the first and last point.",
       .operands = {{"x", "Where the curve is wanted."},
                    {"xp", "The points, one axis, ascending."},
                    {"fp", "The values at the points."},
                    optional("left", "The value in front of the points."),
                    optional("right", "The value behind the points.")},
       .dtypes = DTypeSet::Float,
       .numpy = "np.interp(x.astype(float), xp.astype(float), fp.astype(float), left, right)",
       .example =
           "ig.interp(ig.asarray([0.5, 1.5]), ig.asarray([0.0, 1.0, 2.0]), ig.asarray([0.0, 10.0, 40.0]))",
       .samples = {{"T[5], T[4] {-3, -1, 1, 2.5}, T[4]", "{}"},
                   {"T[2, 3], T[3] {-1, 0, 2}, T[3], T[] {-1}, T[] {7}", "{}"},
                   {"T[], T[2] {0, 1}, T[2]", "{}"},
                   {"T[3] {-0.5, 0.5, 0.75}, T[1] {0.25}, T[1] {5}", "{}"},
                   {"T[0], T[2] {0, 1}, T[2]", "{}"}},
       .bad_samples = {{"f32[3], f32[2], f32[3]", "{}",
                        "ShapeError: interp: the points and their values: 2 and 3 differ"}},
       .ulp = 64},
      interp_body, infer_interp);
  add({.name = "digitize",
       .python = "digitize",
       .doc = "The number of the bin that each element lies in, as int64: 0 in front of the first edge.\nThe "
              "edges "
              "ascend or fall. A bin holds its left edge, or with `right` its right one.",
       .operands = {{"x", "The array."}, {"bins", "The edges, one axis."}},
       .attrs = {kRight},
       .dtypes = DTypeSet::Real,
       .numpy = "np.digitize(x, bins, right)",
       .example = "ig.digitize(ig.asarray([0.5, 2.0]), ig.asarray([0.0, 1.0, 2.0]))",
       .samples = {{"T[6] {0, 1, 2, 3, 4, 9}, T[3] {1, 3, 4}", "{}"},
                   {"T[2, 3] {0, 1, 2, 3, 4, 9}, T[3] {4, 3, 1}", "{}"},
                   {"T[6] {0, 1, 2, 3, 4, 9}, T[3] {1, 3, 4}", "{right = true}"},
                   {"T[6] {0, 1, 2, 3, 4, 9}, T[3] {4, 3, 1}", "{right = true}"},
                   {"T[0], T[1] {1}", "{}"}}},
      digitize_body, infer_digitize);
  add({.name = "bincount",
       .python = "bincount",
       .doc = "How often each of the numbers 0, 1, … stands in x, or the sums of their weights.\nNumbers "
              "that are "
              "negative or not below `length` are not counted.",
       .operands = {{"x", "Integers, one axis."}, optional("weights", "What each counts.")},
       .attrs = {kLength},
       .numpy = "np.bincount(x[(x >= 0) & (x < length)].astype(np.int64), None if weights is None else "
                "weights[(x >= 0) "
                "& (x < length)], length)[:length].astype(np.int64 if weights is None else weights.dtype)",
       .example = "ig.bincount(ig.asarray([0, 2, 2]))",
       .samples = {{"i64[5] {0, 2, 2, 1, 2}", "{length = 3}"},
                   {"i32[4] {0, 5, -1, 1}, f32[4]", "{length = 4}"},
                   {"u8[3] {1, 1, 0}, f64[3]", "{length = 2}"},
                   {"i64[1] {0}", "{length = 3}"},
                   {"i64[0] {}", "{length = 2}"}},
       .bad_samples = {{"i64[2]", "{length = -1}", "ValueError: bincount: length is -1, below 0"}},
       .ulp = 8},
      bincount_body, infer_bincount);
  add({.name = "histogram_counts",
       .python = "histogram_counts",
       .doc = "How many elements lie in each bin, as int64, or the sums of their weights.\nThe edges ascend; "
              "a bin "
              "holds its left edge, the last one both. `histogram` makes the edges.",
       .operands = {{"x", "The array."},
                    {"edges", "One more than there are bins."},
                    optional("weights", "Of x's shape.")},
       .dtypes = DTypeSet::Real,
       .numpy = "np.histogram(x, edges, weights=weights)[0].astype(np.int64 if weights is None else "
                "weights.dtype)",
       .example = "ig.histogram_counts(ig.asarray([0.5, 1.0, 2.0]), ig.asarray([0.0, 1.0, 2.0]))",
       .samples = {{"T[6] {0, 1, 2, 3, 4, 9}, T[3] {1, 3, 4}", "{}"},
                   {"T[2, 3] {0, 1, 2, 3, 4, 4}, T[4] {0, 1, 4, 4}, f32[2, 3]", "{}"},
                   {"T[0], T[2] {0, 1}", "{}"}},
       .bad_samples = {{"f32[2], f32[3], f32[3]", "{}",
                        "ShapeError: histogram_counts: shapes [2] and [3] differ"}},
       .usual = {{{"f32[2]", "f32[3]"}}},
       .ulp = 8},
      histogram_body, infer_histogram);
  add({.name = "trapezoid",
       .python = "trapezoid",
       .doc = "The area under the samples y along an axis, by trapezes.",
       .operands = {{"y", "The samples."}, optional("x", "Where they were taken, one axis or y's shape.")},
       .attrs = {kSpacing, kAlong},
       .dtypes = DTypeSet::Float,
       .numpy = "np.trapezoid(y, x, dx, axis)",
       .example = "ig.trapezoid(ig.asarray([1.0, 2.0, 3.0]))",
       .samples = {{"T[5]", "{}"},
                   {"T[5], T[5]", "{}"},
                   {"T[3, 4], T[3]", "{axis = 0}"},
                   {"T[3, 4], T[3, 4]", "{}"},
                   {"T[2, 3]", "{dx = 0.5}"},
                   {"T[1]", "{}"}},
       .bad_samples = {{"f32[2, 3], f32[2]", "{}",
                        "ShapeError: trapezoid: the points and the axis: 2 and 3 differ"}},
       .ulp = 32},
      trapezoid_body, infer_trapezoid);
  add({.name = "gradient_along",
       .python = "gradient_along",
       .doc =
           "The slopes of the samples f along an axis: central differences, and one-sided ones at the ends.",
       .operands = {{"f", "The samples."}, optional("spacing", "Their distance, or where they were taken.")},
       .attrs = {kAlong, kEdgeOrder},
       .dtypes = DTypeSet::Float,
       .numpy = "np.gradient(f, *([] if spacing is None else [spacing if spacing.ndim else spacing.item()]), "
                "axis=axis, "
                "edge_order=edge_order)",
       .example = "ig.gradient_along(ig.asarray([1.0, 4.0, 9.0]))",
       .samples = {{"T[5]", "{}"},
                   {"T[5]", "{edge_order = 2}"},
                   {"T[3, 4], T[] {0.5}", "{axis = 0}"},
                   {"T[2, 4], T[4] {0, 1, 3, 4.5}", "{}"},
                   {"T[4, 2], T[4] {0, 1, 3, 4.5}", "{axis = 0, edge_order = 2}"},
                   {"T[2]", "{}"}},
       .bad_samples = {{"f32[3]", "{edge_order = 3}", "ValueError: gradient_along: edge_order is 3"}},
       .ulp = 32},
      gradient_body, infer_gradient);
  auto sliding = [&](const char* name, const char* doc, const Attr<std::string>& mode, BodyFn body) {
    add({.name = name,
         .python = name,
         .doc = doc,
         .operands = {{"x", "A row."}, {"y", "A row."}},
         .attrs = {mode},
         .dtypes = DTypeSet::Real,
         .numpy = fmt::format("np.{}(x, y, mode)", name),
         .example = fmt::format("ig.{}(ig.asarray([1.0, 2.0, 3.0]), ig.asarray([1.0, 0.5]))", name),
         .samples = {{"T[5], T[3]", "{}", -2, 2},
                     {"T[2], T[5]", "{mode = \"full\"}", -2, 2},
                     {"T[5], T[4]", "{mode = \"same\"}", -2, 2},
                     {"T[3], T[6]", "{mode = \"same\"}", -2, 2},
                     {"T[2], T[5]", "{mode = \"valid\"}", -2, 2},
                     {"T[1], T[1]", "{}", -2, 2}},
         .bad_samples = {{"f32[2, 2], f32[2]", "{}",
                          fmt::format("ShapeError: {}: expected x of rank 1, but its shape is [2, 2]",
                                      name)}},
         .ulp = 8},
        body, infer_convolve);
  };
  sliding("convolve", "The convolution of two rows: sums of products of elements whose places add up.", kMode,
          convolve_body);
  sliding("correlate", "The correlation of two rows: sums of products of x and of y moved along.", kValidMode,
          correlate_body);
  add({.name = "polyval",
       .python = "polyval",
       .doc = "The polynomial with the coefficients p, the highest power first, at x; by Horner's rule.",
       .operands = {{"p", "The coefficients, one axis."}, {"x", "Where it is wanted."}},
       .dtypes = DTypeSet::Numeric,
       .numpy = "np.polyval(p, x).astype(x.dtype)",
       .example = "ig.polyval(ig.asarray([1.0, 0.0, -1.0]), ig.asarray([2.0, 3.0]))",
       .samples = {{"T[3], T[4]", "{}", -2, 2},
                   {"T[4], T[2, 3]", "{}", -2, 2},
                   {"T[1], T[]", "{}", -2, 2},
                   {"T[0], T[2]", "{}", -2, 2}},
       .ulp = 64,
       .complex_ulp = 64},
      polyval_body, infer_polyval);
  return ops;
}

}  // namespace ig::ops
