// Composites of neural networks, second part: layers with weights, losses, recurrent cells, convolution and
// pooling in the forms that PyTorch users know.
#include <limits>

#include "ops/contraction.h"
#include "ops/families/compose.h"
#include "ops/random_attrs.h"
#include "ops/shape_attrs.h"
#include "ops/window_attrs.h"

namespace ig::ops {

std::vector<Op> nn_layers();

namespace {

constexpr Attr<std::string> kFold{"reduction", "What becomes of the single losses.", "\"mean\"",
                                  "none|mean|sum"};
constexpr Attr<int64_t> kIgnore{"ignore_index", "The label whose loss does not count.", "-100"};
constexpr Attr<double> kRate{"p", "The probability with which an element becomes 0.", "0x1p-1"};
constexpr Attr<Ints> kKernelSize{"kernel_size", "The size of the window, for each spatial axis."};
constexpr Attr<Ints> kPoolStride{"stride", "The step of the window; none: its size.", "[]"};
constexpr Attr<Ints> kStride{"stride", "The step of the window, for each spatial axis; none: 1.", "[]"};
constexpr Attr<Ints> kPadding{"padding", "What is added on both sides of each spatial axis; none: 0.", "[]"};
constexpr Attr<Ints> kDilation{"dilation", "The kernel's taps stand this far apart; none: 1.", "[]"};
constexpr Attr<int64_t> kConvGroups{"groups", "How many groups the channels fall into.", "1"};
constexpr Attr<Ints> kOutputPadding{"output_padding",
                                    "What is added behind each spatial axis of the result; none: 0.", "[]"};
constexpr Attr<Ints> kPoolDilation{"dilation", "The window's elements stand this far apart; none: 1.", "[]"};
constexpr Attr<bool> kCeil{
    "ceil_mode", "Has windows that end behind the padding too, where they begin before it.", "false"};
constexpr Attr<bool> kCountPad{"count_include_pad", "Divides by the whole window, padding too.", "true"};
constexpr Attr<int64_t> kDivisor{"divisor_override",
                                 "What the sum of each window is divided by; 0: its size.", "0"};

void infer_same_floats(InferContext& c) {
  c.require_dtype(0, DTypeSet::Float);
  for (size_t i = 1; i < c.size(); ++i) c.require_same_dtype(0, i);
  tools::infer_by_body(c);
}

// --- linear, embedding
// -------------------------------------------------------------------------------------------------
void infer_linear(InferContext& c) {
  c.require_same_dtype(0, 1);
  if (c.operand(0).rank() < 1)
    c.fail(ErrorKind::Shape, "needs [..., in], got a scalar", "the last axis holds the features",
           "reshape to (1,) first");
  c.require_rank(1, 2);
  c.require_equal(c.operand(0).dims.back(), c.operand(1).dims[1], "the features of x and of the weight");
  if (c.size() > 2) {
    c.require_same_dtype(0, 2);
    c.require_rank(2, 1);
    c.require_equal(c.operand(2).dims[0], c.operand(1).dims[0], "the bias and the weight's rows");
  }
  tools::infer_by_body(c);
}

std::vector<Value> linear_body(BodyContext& c) {
  Compose m(c.build);
  Value y = m.times_rows(c.operands[0], c.operands[1]);
  return {c.operands.size() > 2 ? m.add(y, c.operands[2]) : y};
}

Value take_rows(Builder& b, Value table, Value indices) {
  const Dims& dims = table->type().dims;
  Dims sizes = dims;
  sizes[0] = 1;
  int64_t rank = indices->type().rank();
  return b("gather", {table, indices},
           {kOffsetDims % tools::iota(static_cast<int64_t>(dims.size()) - 1, rank), kCollapsedDims % Ints{0},
            kStartIndexMap % Ints{0}, kIndexVectorDim % rank, kSliceSizes % sizes});
}

void infer_embedding(InferContext& c) {
  tools::require_index_dtype(c, 0);
  c.require_rank(1, 2);
  tools::infer_by_body(c);
}

std::vector<Value> embedding_body(BodyContext& c) {
  return {take_rows(c.build, c.operands[1], c.operands[0])};
}

// --- losses
// ------------------------------------------------------------------------------------------------------------
Value all(Compose& m, Value x) { return m.sum(x, tools::iota(x->type().rank())); }

void infer_cross_entropy(InferContext& c) {
  c.require_dtype(0, DTypeSet::Float);
  tools::require_index_dtype(c, 1);
  const Type &x = c.operand(0), &labels = c.operand(1);
  if (x.rank() < 1)
    c.fail(ErrorKind::Shape, "needs [..., classes], got a scalar",
           "the last axis holds a score for each class", "reshape so that the classes are the last axis");
  c.require_rank(1, x.rank() - 1);
  for (size_t i = 0; i < labels.dims.size(); ++i)
    c.require_equal(x.dims[i], labels.dims[i], "the scores and the labels");
  tools::infer_by_body(c);
}

// The labels as integers, and where they do not count.
struct Labels {
  Value labels, ignored;
};
Labels labels_of(Compose& m, Value labels, int64_t ignore) {
  labels = m.b.convert(labels, DType::I64);
  return {labels, m.equal(labels, m.number(labels, static_cast<double>(ignore)))};
}

// The losses of the single rows, made one by `reduction`.
Value folded(Compose& m, Value losses, const Labels& l, const std::string& reduction) {
  if (reduction == "none") return losses;
  Value sum = all(m, losses);
  if (reduction == "sum") return sum;
  Value counted = m.where(l.ignored, m.number(l.labels, 0), m.number(l.labels, 1));
  return m.div(sum, all(m, m.b.convert(counted, losses->type().dtype)));
}

std::vector<Value> cross_entropy_body(BodyContext& c) {
  Compose m(c.build);
  Value x = m.wide(c.operands[0]);
  int64_t rank = x->type().rank();
  Value logs = c.build("log_softmax", {x}, {{"axis", rank - 1}});
  Labels l = labels_of(m, c.operands[1], c.get(kIgnore));
  Dims column = l.labels->type().dims;
  column.push_back(1);
  Ints batch = tools::iota(rank - 1);
  Value picked =
      c.build("gather", {logs, c.build.reshape(l.labels, column)},
              {kOffsetDims % Ints{}, kCollapsedDims % Ints{rank - 1}, kOperandBatchDims % batch,
               kIndicesBatchDims % batch, kStartIndexMap % Ints{rank - 1}, kIndexVectorDim % (rank - 1),
               kSliceSizes % Dims(static_cast<size_t>(rank), Dim(int64_t{1}))});
  Value losses = m.where(l.ignored, m.number(picked, 0), m.neg(picked));
  return {c.build.convert(folded(m, losses, l, c.get(kFold)), c.operands[0]->type().dtype)};
}

// sum((softmax(x) - 1 at the label) t), which needs no scattering in reverse mode. Rows that do not count
// have no share in it, whatever they hold.
std::vector<Value> jvp_cross_entropy(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Compose m(c.build);
  Value x = m.wide(c.operands[0]), t = m.wide(c.tangents[0]);
  const int64_t last = x->type().rank() - 1;
  Labels l = labels_of(m, c.operands[1], c.node->attrs().get(kIgnore));
  Value power = m.exp(m.sub(x, m.top_keep(x, {last})));
  Value sum = m.sum_keep(power, {last});
  Value share = m.mul(power, m.div(m.number(sum, 1), sum));
  Value classes = m.iota(DType::I64, x->type().dims, last);
  auto column = [&](Value v) { return m.keep(v, x, {last}); };
  // As the body's gather clamps them.
  Value greatest =
      c.build.convert(c.build("dimension_size", {}, {{"size", Dims{x->type().dims.back() - 1}}}), DType::I64);
  Value label = m.max(m.min(l.labels, greatest), m.number(greatest, 0));
  Value taken = m.equal(classes, column(label));
  Value less = m.where(taken, m.sub(share, 1.0), share);
  Value moved = m.sum(m.mul(m.where(column(l.ignored), m.number(less, 0), less), t), {last});
  return {c.build.convert(folded(m, moved, l, c.node->attrs().get(kFold)), c.results[0]->type().dtype)};
}

std::vector<Value> mse_body(BodyContext& c) {
  Compose m(c.build);
  Value d = m.sub(m.wide(c.operands[0]), m.wide(c.operands[1]));
  Value loss = m.mul(d, d);
  if (c.get(kFold) == "sum")
    loss = all(m, loss);
  else if (c.get(kFold) == "mean")
    loss = m.div(all(m, loss), m.count(loss, tools::iota(loss->type().rank())));
  return {c.build.convert(loss, c.operands[0]->type().dtype)};
}

void infer_mse(InferContext& c) {
  c.require_same_shape(0, 1);
  infer_same_floats(c);
}

// --- dropout
// -----------------------------------------------------------------------------------------------------------
void infer_dropout(InferContext& c) {
  c.require_dtype(0, DTypeSet::Float);
  c.require_dtype(1, DTypeSet::Key);
  double p = c.get(kRate);
  if (!(p >= 0 && p <= 1))
    c.fail(ErrorKind::Value, fmt::format("p is {}, but a probability lies in [0, 1]", p),
           "it is how often an element is dropped", "give a number from 0 to 1");
  tools::infer_by_body(c);
}

std::vector<Value> dropout_body(BodyContext& c) {
  Compose m(c.build);
  Value x = c.operands[0];
  double p = c.get(kRate);
  if (p == 1) return {m.number(x, 0)};
  Value drawn = c.build("random_uniform", {c.operands[1]},
                        {kShape % x->type().dims, kDType % DType::F32, kLow % 0.0, kHigh % 1.0});
  Value dropped = m.less(drawn, m.number(drawn, p));
  return {m.where(dropped, m.number(x, 0), m.div(x, 1 - p))};
}

// --- recurrent cells
// -----------------------------------------------------------------------------------------------------
void infer_cell(InferContext& c, size_t states, int64_t gates) {
  size_t weights = 1 + states;
  if (c.size() < weights + 2)
    c.fail(ErrorKind::Value,
           fmt::format("takes x, {} and two weights, got {} operands", states == 2 ? "h, c" : "h", c.size()),
           "a cell reads the input, its state, and a weight for each",
           "pass them in this order, then the biases");
  c.require_dtype(0, DTypeSet::Float);
  for (size_t i = 1; i < c.size(); ++i) c.require_same_dtype(0, i);
  for (size_t i = 0; i < weights + 2; ++i) c.require_rank(i, 2);
  const Dim& hidden = c.operand(1).dims[1];
  for (size_t i = 1; i < weights; ++i) {
    c.require_equal(c.operand(i).dims[0], c.operand(0).dims[0], "the batch of x and of the state");
    c.require_equal(c.operand(i).dims[1], hidden, "the sizes of the states");
  }
  for (size_t i = weights; i < c.size(); ++i)
    c.require_equal(c.operand(i).dims[0], hidden * gates, "the rows of weights and biases and the gates");
  c.require_equal(c.operand(weights).dims[1], c.operand(0).dims[1], "the features of x and of its weight");
  c.require_equal(c.operand(weights + 1).dims[1], hidden, "the state and its weight");
  tools::infer_by_body(c);
}
void infer_lstm(InferContext& c) { infer_cell(c, 2, 4); }
void infer_gru(InferContext& c) { infer_cell(c, 1, 3); }

std::vector<Value> lstm_body(BodyContext& c) {
  Compose m(c.build);
  std::vector<Value> v;
  for (Value operand : c.operands) v.push_back(m.wide(operand));
  Value sum = m.times_rows(v[0], v[3]);
  if (v.size() > 5) sum = m.add(sum, v[5]);
  Value from_state = m.times_rows(v[1], v[4]);
  if (v.size() > 6) from_state = m.add(from_state, v[6]);
  sum = m.add(sum, from_state);
  const Dim& n = v[1]->type().dims[1];
  auto gate = [&](int64_t i) { return m.slice(sum, 1, n * i, n * (i + 1)); };
  Value cell = m.add(m.mul(m.logistic(gate(1)), v[2]), m.mul(m.logistic(gate(0)), m.tanh(gate(2))));
  Value hidden = m.mul(m.logistic(gate(3)), m.tanh(cell));
  DType dtype = c.operands[0]->type().dtype;
  return {c.build.convert(hidden, dtype), c.build.convert(cell, dtype)};
}

std::vector<Value> gru_body(BodyContext& c) {
  Compose m(c.build);
  std::vector<Value> v;
  for (Value operand : c.operands) v.push_back(m.wide(operand));
  Value from_x = m.times_rows(v[0], v[2]), from_h = m.times_rows(v[1], v[3]);
  if (v.size() > 4) from_x = m.add(from_x, v[4]);
  if (v.size() > 5) from_h = m.add(from_h, v[5]);
  const Dim& n = v[1]->type().dims[1];
  auto gate = [&](Value of, int64_t i) { return m.slice(of, 1, n * i, n * (i + 1)); };
  Value reset = m.logistic(m.add(gate(from_x, 0), gate(from_h, 0)));
  Value update = m.logistic(m.add(gate(from_x, 1), gate(from_h, 1)));
  Value fresh = m.tanh(m.add(gate(from_x, 2), m.mul(reset, gate(from_h, 2))));
  Value hidden = m.add(m.mul(m.sub(m.number(update, 1), update), fresh), m.mul(update, v[1]));
  return {c.build.convert(hidden, c.operands[0]->type().dtype)};
}

// --- convolution and pooling
// ---------------------------------------------------------------------------------------------
Ints spatial(std::string_view op, const Ints& given, size_t count, int64_t value, std::string_view what) {
  if (given.empty()) return Ints(count, value);
  if (given.size() == 1) return Ints(count, given[0]);
  if (given.size() != count)
    throw make_error(ErrorKind::Value, "{}: {} has {} entries, but there are {} spatial axes", op, what,
                     given.size(), count)
        .why("the axes behind batch and channels are the space")
        .hint(fmt::format("give {}, or one for all", count));
  return given;
}

Ints both_sides(const Ints& padding, size_t in_front) {
  Ints out(2 * in_front, 0);
  for (int64_t p : padding) out.insert(out.end(), {p, p});
  return out;
}

void require_image(InferContext& c) {
  if (c.operand(0).rank() < 3)
    c.fail(ErrorKind::Shape, fmt::format("needs [batch, channels, space...], got {}", c.operand(0).str()),
           "windows move along the axes behind the channels", "add a batch axis in front: x[None]");
}

void infer_conv(InferContext& c) {
  c.require_same_dtype(0, 1);
  require_image(c);
  c.require_rank(1, c.operand(0).rank());
  if (c.size() > 2) {
    c.require_same_dtype(0, 2);
    c.require_rank(2, 1);
    c.require_equal(c.operand(2).dims[0], c.operand(1).dims[0], "the bias and the output channels");
  }
  tools::infer_by_body(c);
}

std::vector<Value> conv_body(BodyContext& c) {
  Compose m(c.build);
  Value x = c.operands[0];
  auto n = static_cast<size_t>(x->type().rank() - 2);
  std::string digits = std::string("0123456789").substr(0, n);
  Ints padding = spatial("conv", c.get(kPadding), n, 0, "padding");
  Value y = c.build(
      "convolution", {x, c.operands[1]},
      {kConvLayout % ("bf" + digits + "_oi" + digits + "->bf" + digits),
       kConvStrides % spatial("conv", c.get(kStride), n, 1, "stride"), kConvPadding % both_sides(padding, 0),
       kRhsDilation % spatial("conv", c.get(kDilation), n, 1, "dilation"),
       kFeatureGroups % c.get(kConvGroups)});
  if (c.operands.size() > 2) {
    Dims shape(n + 2, Dim(int64_t{1}));
    shape[1] = c.operands[2]->type().dims[0];
    y = m.add(y, c.build.reshape(c.operands[2], shape));
  }
  return {y};
}

void infer_conv_transpose(InferContext& c) {
  c.require_same_dtype(0, 1);
  require_image(c);
  c.require_rank(1, c.operand(0).rank());
  if (c.get(kConvGroups) < 1)
    c.fail(ErrorKind::Value, fmt::format("groups is {}, below 1", c.get(kConvGroups)),
           "the channels are cut into so many groups", "give 1 or more");
  c.require_equal(c.operand(0).dims[1], c.operand(1).dims[0], "the channels of x and of the weight");
  c.require_equal(mod(c.operand(0).dims[1], c.get(kConvGroups)), Dim(int64_t{0}),
                  "the channels modulo the groups");
  for (size_t i = 2; i < c.operand(1).dims.size(); ++i)
    if (!c.operand(1).dims[i].is_constant())
      c.fail(ErrorKind::Shape,
             fmt::format("the size {} of the kernel is not fixed", c.operand(1).dims[i].str()),
             "what is put around the image is made of it", "give the weight a number of taps");
  if (c.size() > 2) {
    c.require_same_dtype(0, 2);
    c.require_rank(2, 1);
    c.require_equal(c.operand(2).dims[0], c.operand(1).dims[1] * c.get(kConvGroups),
                    "the bias and the output channels");
  }
  tools::infer_by_body(c);
}

// The convolution whose transpose is a convolution of the image with gaps, by the kernel back to front.
std::vector<Value> conv_transpose_body(BodyContext& c) {
  Compose m(c.build);
  Value x = c.operands[0], w = c.operands[1];
  auto n = static_cast<size_t>(x->type().rank() - 2);
  Ints stride = spatial("conv_transpose", c.get(kStride), n, 1, "stride");
  Ints dilation = spatial("conv_transpose", c.get(kDilation), n, 1, "dilation");
  Ints padding = spatial("conv_transpose", c.get(kPadding), n, 0, "padding");
  Ints behind = spatial("conv_transpose", c.get(kOutputPadding), n, 0, "output_padding");
  int64_t groups = c.get(kConvGroups);
  const Dims wide = w->type().dims;
  Dims apart{Dim(groups), floordiv(wide[0], groups), wide[1]};
  Dims joined{wide[1] * groups, floordiv(wide[0], groups)};
  Ints order{0, 2, 1}, taps, around;
  for (size_t i = 0; i < n; ++i) {
    apart.push_back(wide[i + 2]);
    joined.push_back(wide[i + 2]);
    order.push_back(static_cast<int64_t>(i) + 3);
    taps.push_back(static_cast<int64_t>(i) + 2);
    int64_t low = dilation[i] * (wide[i + 2].constant() - 1) - padding[i];
    around.insert(around.end(), {low, low + behind[i]});
  }
  w = c.build.reshape(c.build.transpose(c.build.reshape(w, apart), order), joined);
  w = c.build("reverse", {w}, {kReversed % taps});
  std::string digits = std::string("0123456789").substr(0, n);
  Value y = c.build("convolution", {x, w},
                    {kConvLayout % ("bf" + digits + "_oi" + digits + "->bf" + digits), kConvPadding % around,
                     kLhsDilation % stride, kRhsDilation % dilation, kFeatureGroups % groups});
  if (c.operands.size() > 2) {
    Dims shape(n + 2, Dim(int64_t{1}));
    shape[1] = c.operands[2]->type().dims[0];
    y = m.add(y, c.build.reshape(c.operands[2], shape));
  }
  return {y};
}

void infer_pool(InferContext& c) {
  c.require_dtype(0, DTypeSet::Real);
  require_image(c);
  tools::infer_by_body(c);
}

// The windows of x, folded; `padded`: what is to stand around x is in it already.
Value pooled(BodyContext& c, std::string_view op, std::string_view fold, Value x, bool padded = false) {
  auto n = static_cast<size_t>(x->type().rank() - 2);
  Ints window = spatial(op, c.get(kKernelSize), n, 1, "kernel_size");
  Ints strides = c.get(kPoolStride).empty() ? window : spatial(op, c.get(kPoolStride), n, 1, "stride");
  const Ints padding = spatial(op, c.get(kPadding), n, 0, "padding");
  Ints dilation = spatial(op, c.get(kPoolDilation), n, 1, "dilation");
  const bool beyond = c.get(kCeil);
  Ints around(4, 0);
  std::vector<Dim> most(n);
  for (size_t i = 0; i < n; ++i) {
    const int64_t side = padded ? 0 : padding[i], stride = std::max<int64_t>(strides[i], 1);
    around.insert(around.end(), {side, side + (beyond ? stride - 1 : 0)});
    // Windows begin before the padding behind.
    most[i] = ceildiv(x->type().dims[i + 2] + (side - (padded ? padding[i] : 0)), stride);
  }
  for (Ints* each : {&window, &strides, &dilation}) each->insert(each->begin(), {1, 1});
  Value y = c.build(
      fold, {x},
      {kWindow % window, kWindowStrides % strides, kWindowDilations % dilation, kWindowPadding % around});
  for (size_t i = 0; beyond && i < n; ++i) {
    const Dim size = y->type().dims[i + 2], within = min(size, most[i]);
    if (within != size) y = Compose(c.build).slice(y, static_cast<int64_t>(i) + 2, Dim(int64_t{0}), within);
  }
  return y;
}

std::vector<Value> max_pool_body(BodyContext& c) {
  return {pooled(c, "max_pool", "reduce_window_max", c.operands[0])};
}

// What the sum of each window of x is divided by.
Value window_sizes(BodyContext& c, Value x, Value sums) {
  Compose m(c.build);
  const auto n = static_cast<size_t>(x->type().rank() - 2);
  if (c.get(kDivisor) != 0) return m.number(sums, static_cast<double>(c.get(kDivisor)));
  if (!c.get(kCountPad)) return pooled(c, "avg_pool", "reduce_window_sum", m.number(x, 1));
  if (c.get(kCeil)) {
    Dims shape = x->type().dims;
    const Ints padding = spatial("avg_pool", c.get(kPadding), n, 0, "padding");
    for (size_t i = 0; i < n; ++i) shape[i + 2] = shape[i + 2] + 2 * padding[i];
    return pooled(c, "avg_pool", "reduce_window_sum", c.build.full(Type::tensor(x->type().dtype, shape), 1),
                  true);
  }
  int64_t count = 1;
  for (int64_t size : spatial("avg_pool", c.get(kKernelSize), n, 1, "kernel_size")) count *= size;
  return m.number(sums, static_cast<double>(count));
}

std::vector<Value> avg_pool_body(BodyContext& c) {
  Compose m(c.build);
  Value x = m.wide(c.operands[0]);
  Value sums = pooled(c, "avg_pool", "reduce_window_sum", x);
  Value y = m.div(sums, window_sizes(c, x, sums));
  return {c.build.convert(y, c.operands[0]->type().dtype)};
}

void infer_avg_pool(InferContext& c) {
  c.require_dtype(0, DTypeSet::Float);
  infer_pool(c);
}

// Pads, takes windows with the kernel's dilation, and steps: the oracle's windows, with their axes last.
// `beyond`: an expression that says whether they may end behind the padding, where `outside` stands.
std::string windows(const char* size, const char* dilation, const char* stride, const char* value,
                    const char* beyond = "False", const char* outside = "0") {
  return fmt::format(
      "(lambda n, full: (lambda w, d, s, p: np.lib.stride_tricks.sliding_window_view(np.pad(np.pad(x, [(0, "
      "0), (0, 0)] + [(a, a) for a in p], constant_values={3}), [(0, 0), (0, 0)] + [(0, a - 1 if {4} else 0) "
      "for a in s], constant_values={5}), [(a - 1) * b + 1 for a, b in zip(w, d)], axis=tuple(range(2, n + "
      "2)))[(slice(None), slice(None)) + tuple(slice(None, m + a if {4} else None, b) for m, a, b in "
      "zip(x.shape[2:], p, s)) + tuple(slice(None, None, a) for a in d)])(full({0}, 1), full({1}, 1), "
      "full({2}, "
      "None), full(padding, 0)))(x.ndim - 2, lambda v, e: (list(v) if len(v) == x.ndim - 2 else list(v) * "
      "(x.ndim - 2)) if len(v) else ([e] * (x.ndim - 2) if e is not None else (lambda k: list(k) if len(k) "
      "== "
      "x.ndim - 2 else list(k) * (x.ndim - 2))({0})))",
      size, dilation, stride, value, beyond, outside);
}

OpDecl decl(std::string name, std::string doc, std::vector<OperandSpec> operands, std::vector<AttrSpec> attrs,
            std::string numpy, std::vector<Sample> samples, double ulp, DTypeSet dtypes = DTypeSet::Float) {
  return {.name = name,
          .python = name,
          .doc = std::move(doc),
          .operands = std::move(operands),
          .attrs = std::move(attrs),
          .dtypes = dtypes,
          .numpy = std::move(numpy),
          .samples = std::move(samples),
          .ulp = ulp};
}

}  // namespace

std::vector<Op> nn_layers() {
  const OperandSpec x{"x", "The array."}, key{"key", "A random key."};
  auto optional = [](const char* name, const char* doc) {
    return OperandSpec{.name = name, .doc = doc, .optional = true};
  };
  const char* least = "-np.inf if x.dtype.kind == 'f' else np.iinfo(x.dtype).min";
  std::vector<Op> ops;
  ops.push_back(composite(decl("linear", "x times the weight's transpose, plus the bias.",
                               {{"x", "[..., in]."}, {"weight", "[out, in]."}, optional("bias", "[out].")},
                               {}, "np.matmul(x, weight.T) + (0 if bias is None else bias)",
                               {{"T[3, 4], T[5, 4]", "{}", -2, 2},
                                {"T[3, 4], T[5, 4], T[5]", "{}", -2, 2},
                                {"T[4], T[5, 4], T[5]", "{}", -2, 2},
                                {"T[2, 3, 4], T[2, 4], T[2]", "{}", -2, 2},
                                {"T[0, 4], T[5, 4]", "{}"},
                                {"T[2, 0], T[3, 0], T[3]", "{}"}},
                               2),
                          linear_body, infer_linear));
  ops.back().decl.traits |= static_cast<uint32_t>(Trait::Product);
  ops.back().decl.usual = {{{"f64[2, 3]", "f64[4, 3]"}},
                           {{"f64[2, 3]", "f64[4, 3]", "f64[4]"}},
                           {{"f32[1, 3]", "f32[4, 3]"}},
                           {{"f32[1, 3]", "f32[4, 3]", "f32[4]"}}};
  ops.push_back(composite(
      decl("embedding", "The rows of the table that the indices name. An index out of range is clamped.",
           {{"indices", "Integers."}, {"table", "[rows, features]."}}, {},
           "table[np.clip(indices.astype(np.int64), 0, table.shape[0] - 1)]",
           {{"i64[3] {2, 0, 2}, T[4, 5]", "{}"},
            {"i32[2, 2] {0, 3, -1, 9}, T[4, 3]", "{}"},
            {"i64[] {1}, T[2, 2]", "{}"},
            {"i64[0] {}, T[2, 3]", "{}"},
            {"u8[1] {0}, T[1, 1]", "{}"}},
           0),
      embedding_body, infer_embedding));
  ops.back().decl.usual = {
      {{"i64[2]", "f32[3, 4]"}}, {{"i64[2, 3]", "f32[4, 5]"}}, {{"i32[2, 3]", "f32[4, 5]"}}};
  ops.push_back(composite(
      decl("cross_entropy",
           "The negative logarithm of the softmax at each label, folded by `reduction`.\nA label of "
           "ignore_index does not count; a mean over no label at all is NaN.",
           {{"logits", "[..., classes]."}, {"labels", "Integers [...]."}}, {kFold, kIgnore},
           "(lambda s, l: (lambda w, k: w if reduction == 'none' else w.sum() if reduction == 'sum' else "
           "w.sum() / "
           "k.sum())(np.where(l == ignore_index, 0, -np.take_along_axis(s - np.log(np.exp(s).sum(-1, "
           "keepdims=True)), "
           "np.clip(l, 0, s.shape[-1] - 1)[..., None], -1)[..., 0]), l != ignore_index))(logits - "
           "logits.max(-1, "
           "keepdims=True), labels.astype(np.int64))",
           {{"T[3, 5], i64[3] {0, 4, 2}", "{}"},
            {"T[3, 5], i32[3] {1, 1, 3}", "{reduction = \"none\"}"},
            {"T[2, 2, 4], i64[2, 2] {0, 1, 2, 3}", "{reduction = \"sum\"}"},
            {"T[3, 4], i64[3] {0, -100, 2}", "{}"},
            {"T[4], i64[] {2}", "{}"},
            {"T[0, 3], i64[0] {}", "{reduction = \"none\"}"}},
           64),
      cross_entropy_body, infer_cross_entropy));
  ops.back().rules.jvp = jvp_cross_entropy;
  ops.push_back(composite(decl("mse", "The squared differences, folded by `reduction`.",
                               {{"x", "The array."}, {"target", "Its like."}}, {kFold},
                               "(lambda s: s if reduction == 'none' else s.sum() if reduction == 'sum' else "
                               "s.mean())((x - target) ** 2)",
                               {{"T[5], T[5]", "{}"},
                                {"T[2, 3], T[2, 3]", "{reduction = \"none\"}"},
                                {"T[2, 3], T[2, 3]", "{reduction = \"sum\"}"},
                                {"T[], T[]", "{}"}},
                               16),
                          mse_body, infer_mse));
  OpDecl dropout = decl("dropout",
                        "Each element 0 with probability p, else divided by 1 - p.\nThe same key drops the "
                        "same elements.",
                        {x, key}, {kRate}, "none: the bits are threefry's",
                        {{"T[5], key[]", "{}"},
                         {"T[3, 4], key[]", "{p = 0x1p-2}"},
                         {"T[3], key[]", "{p = 0x0p+0}"},
                         {"T[3], key[]", "{p = 0x1p+0}"},
                         {"T[0], key[]", "{}"}},
                        1);
  dropout.bad_samples = {
      {"T[3], key[]", "{p = 0x1p+1}", "ValueError: dropout: p is 2, but a probability lies in [0, 1]"}};
  dropout.traits = static_cast<uint32_t>(Trait::Random);
  ops.push_back(composite(std::move(dropout), dropout_body, infer_dropout));
  OpDecl lstm =
      decl("lstm_cell",
           "One step of a long short-term memory: the new (h, c). Gates lie as input, forget, "
           "cell, output.",
           {{"x", "[batch, in]."},
            {"h", "[batch, hidden]."},
            {"c", "[batch, hidden]."},
            {"w_ih", "[4 hidden, in]."},
            {"w_hh", "[4 hidden, hidden]."},
            optional("b_ih", "[4 hidden]."),
            optional("b_hh", "[4 hidden].")},
           {},
           "(lambda g, s: (lambda i, f, z, o: (lambda k: (s(o) * np.tanh(k), k))(s(f) * c + s(i) * "
           "np.tanh(z)))(*np.split(g, 4, -1)))(np.matmul(x, w_ih.T) + (0 if b_ih is None else b_ih) + "
           "np.matmul(h, w_hh.T) + (0 if b_hh is None else b_hh), lambda a: 1 / (1 + np.exp(-a)))",
           {{"T[2, 3], T[2, 2], T[2, 2], T[8, 3], T[8, 2]", "{}", -1, 1},
            {"T[1, 3], T[1, 4], T[1, 4], T[16, 3], T[16, 4], T[16], T[16]", "{}", -1, 1},
            {"T[0, 3], T[0, 2], T[0, 2], T[8, 3], T[8, 2]", "{}", -1, 1}},
           256);
  lstm.results = 2;
  ops.push_back(composite(std::move(lstm), lstm_body, infer_lstm));
  ops.push_back(composite(
      decl("gru_cell", "One step of a gated recurrent unit: the new h. Gates lie as reset, update, new.",
           {{"x", "[batch, in]."},
            {"h", "[batch, hidden]."},
            {"w_ih", "[3 hidden, in]."},
            {"w_hh", "[3 hidden, hidden]."},
            optional("b_ih", "[3 hidden]."),
            optional("b_hh", "[3 hidden].")},
           {},
           "(lambda a, b, s: (lambda r, z: (1 - z) * np.tanh(a[2] + r * b[2]) + z * h)(s(a[0] + b[0]), "
           "s(a[1] + "
           "b[1])))(np.split(np.matmul(x, w_ih.T) + (0 if b_ih is None else b_ih), 3, -1), "
           "np.split(np.matmul(h, "
           "w_hh.T) + (0 if b_hh is None else b_hh), 3, -1), lambda t: 1 / (1 + np.exp(-t)))",
           {{"T[2, 3], T[2, 2], T[6, 3], T[6, 2]", "{}", -1, 1},
            {"T[1, 3], T[1, 4], T[12, 3], T[12, 4], T[12], T[12]", "{}", -1, 1},
            {"T[0, 3], T[0, 2], T[6, 3], T[6, 2]", "{}", -1, 1}},
           256),
      gru_body, infer_gru));
  ops.push_back(
      composite(decl("conv",
                     "A convolution over the spatial axes of [batch, channels, space...].\nOne number in "
                     "stride, padding "
                     "or dilation stands for all spatial axes.",
                     {{"x", "[batch, in, space...]."},
                      {"weight", "[out, in / groups, taps...]."},
                      optional("bias", "[out].")},
                     {kStride, kPadding, kDilation, kConvGroups},
                     "(lambda v: np.concatenate([np.moveaxis(np.tensordot(a, b, ([1] + list(range(x.ndim, 2 "
                     "* x.ndim - 2)), "
                     "list(range(1, x.ndim)))), -1, 1) for a, b in zip(np.split(v, groups, 1), "
                     "np.split(weight, groups, 0))], 1))" +
                         std::string("(") + windows("weight.shape[2:]", "dilation", "stride or [1]", "0") +
                         ") + (0 if bias is None else bias.reshape([1, -1] + [1] * (x.ndim - 2)))",
                     {{"T[1, 2, 5], T[3, 2, 3]", "{}", -2, 2},
                      {"T[2, 3, 5, 6], T[4, 3, 3, 2], T[4]", "{stride = [2, 1], padding = [1, 0]}", -2, 2},
                      {"T[1, 4, 5, 5], T[4, 2, 3, 3]", "{groups = 2, padding = [1]}", -2, 2},
                      {"T[1, 1, 7, 7], T[1, 1, 3, 3], T[1]", "{dilation = [2]}", -2, 2},
                      {"T[1, 1, 3, 3, 3], T[2, 1, 2, 2, 2]", "{}", -2, 2},
                      {"T[0, 2, 4, 4], T[3, 2, 3, 3]", "{}", -2, 2}},
                     2),
                conv_body, infer_conv));
  ops.push_back(composite(
      decl(
          "conv_transpose",
          "The transpose of a convolution over the spatial axes of [batch, channels, space...].\nPyTorch's: "
          "an image of (n - 1) * stride - 2 * padding + dilation * (taps - 1) + output_padding + 1 places. "
          "One "
          "number stands for all spatial axes.",
          {{"x", "[batch, in, space...]."},
           {"weight", "[in, out / groups, taps...]."},
           optional("bias", "[out].")},
          {kStride, kPadding, kOutputPadding, kDilation, kConvGroups},
          "(lambda F, up: (lambda s, p, d, q, O, I: np.array([[(lambda f: f[tuple(slice(a, n - a) for a, n "
          "in "
          "zip(p, f.shape))])(np.pad(sum(scipy.signal.convolve(up(x[b, i], s), up(weight[i, o % O], d), "
          "method='direct') for i in range(o // O * I, (o // O + 1) * I)), [(0, a) for a in q])) for o in "
          "range(O * groups)] for b in range(x.shape[0])]))(F(stride, 1), F(padding, 0), F(dilation, 1), "
          "F(output_padding, 0), weight.shape[1], x.shape[1] // groups))(lambda v, e: list(v) * (1 if len(v) "
          "== x.ndim - 2 else x.ndim - 2) if len(v) else [e] * (x.ndim - 2), lambda a, s: np.kron(a, "
          "(np.arange(np.prod(s)) == 0).reshape(s).astype(a.dtype))[tuple(slice(0, (n - 1) * k + 1) for n, k "
          "in zip(a.shape, s))]) + (0 if bias is None else bias.reshape([1, -1] + [1] * (x.ndim - 2)))",
          {{"T[1, 2, 5], T[2, 3, 3]", "{}", -2, 2},
           {"T[2, 3, 4, 5], T[3, 2, 3, 2], T[2]",
            "{stride = [2, 1], padding = [1, 0], output_padding = [1, 0]}", -2, 2},
           {"T[1, 4, 5, 5], T[4, 1, 3, 3]", "{groups = 2, padding = [1], stride = [2]}", -2, 2},
           {"T[1, 1, 4, 4], T[1, 2, 2, 2], T[2]", "{dilation = [2], stride = [3]}", -2, 2},
           {"T[1, 1, 2, 3, 2], T[1, 2, 2, 2, 2]", "{}", -2, 2}},
          2),
      conv_transpose_body, infer_conv_transpose));
  ops.back().decl.bad_samples = {
      {"f32[1, 2, 5], f32[3, 2, 3]", "{}",
       "ShapeError: conv_transpose: the channels of x and of the weight: 2 and 3 differ"},
      {"f32[1, 2, 5], f32[2, 2, 3]", "{groups = 0}", "ValueError: conv_transpose: groups is 0, below 1"}};
  ops.push_back(composite(
      decl("max_pool",
           "The greatest element of each window over the spatial axes of [batch, channels, space...]; NaN "
           "wins.",
           {x}, {kKernelSize, kPoolStride, kPadding, kPoolDilation, kCeil},
           "(lambda v: v.max(tuple(range(x.ndim, 2 * x.ndim - 2))))(" +
               windows("kernel_size", "dilation", "stride", least, "ceil_mode", least) + ")",
           {{"T[1, 2, 6]", "{kernel_size = [2]}"},
            {"T[1, 2, 5, 6]", "{kernel_size = [3, 2], stride = [2, 1]}"},
            {"T[2, 1, 4, 4]", "{kernel_size = [2], padding = [1]}"},
            {"T[1, 1, 7, 6]", "{kernel_size = [3], stride = [2], dilation = [2, 1]}"},
            {"T[2, 1, 8, 5]", "{kernel_size = [3], stride = [2], padding = [1], ceil_mode = true}"},
            {"T[1, 2, 7]", "{kernel_size = [1], stride = [3], padding = [0], ceil_mode = true}"},
            {"T[0, 1, 4, 4]", "{kernel_size = [2]}"}},
           0, DTypeSet::Real),
      max_pool_body, infer_pool));
  ops.push_back(composite(
      decl("avg_pool", "The mean of each window over the spatial axes of [batch, channels, space...].", {x},
           {kKernelSize, kPoolStride, kPadding, kPoolDilation, kCeil, kCountPad, kDivisor},
           "(lambda t, o: t / (divisor_override or o))(*[(lambda x, edge: (lambda v: "
           "v.sum(tuple(range(x.ndim, 2 * x.ndim - 2))))(" +
               windows("kernel_size", "dilation", "stride", "edge", "ceil_mode") +
               "))(y, e) for y, e in ((x, 0), (np.ones_like(x), 1 if count_include_pad else 0))])",
           {{"T[1, 2, 6]", "{kernel_size = [2]}"},
            {"T[1, 2, 5, 6]", "{kernel_size = [3, 2], stride = [2, 1]}"},
            {"T[2, 1, 4, 4]", "{kernel_size = [2], padding = [1]}"},
            {"T[2, 1, 4, 4]", "{kernel_size = [2], padding = [1], count_include_pad = false}"},
            {"T[1, 1, 7]", "{kernel_size = [2], stride = [2], dilation = [3]}"},
            {"T[2, 1, 8, 5]", "{kernel_size = [3], stride = [2], padding = [1], ceil_mode = true}"},
            {"T[1, 2, 5]", "{kernel_size = [2], ceil_mode = true, divisor_override = -3}"},
            {"T[1, 1, 8, 4]",
             "{kernel_size = [3, 2], stride = [2, 3], padding = [1], ceil_mode = true, count_include_pad = "
             "false}"},
            {"T[0, 1, 4, 4]", "{kernel_size = [2]}"}},
           8),
      avg_pool_body, infer_avg_pool));
  give_examples(
      ops,
      {
          {"linear", "ig.linear(ig.asarray([[1.0, 2.0]]), ig.asarray([[1.0, 1.0], [0.0, 2.0]]))"},
          {"embedding", "ig.embedding(ig.asarray([2, 0]), ig.asarray([[1.0, 1.5], [2.0, 2.5], [3.0, 3.5]]))"},
          {"cross_entropy", "ig.cross_entropy(ig.asarray([[2.0, 0.0]]), ig.asarray([0]))"},
          {"mse", "ig.mse(ig.asarray([1.0, 2.0]), ig.asarray([1.0, 4.0]))"},
          {"dropout", "ig.dropout(ig.asarray([1.0, 1.0, 1.0, 1.0]), ig.random_key(7))"},
          {"lstm_cell",
           "ig.lstm_cell(ig.asarray([[1.0]]), ig.asarray([[0.0]]), ig.asarray([[0.5]]), ig.full((4, 1), "
           "1.0), ig.full((4, 1), 1.0))"},
          {"gru_cell",
           "ig.gru_cell(ig.asarray([[1.0]]), ig.asarray([[0.5]]), ig.full((3, 1), 1.0), ig.full((3, 1), "
           "1.0))"},
          {"conv", "ig.conv(ig.asarray([[[1.0, 2.0, 3.0]]]), ig.asarray([[[1.0, 1.0]]]))"},
          {"conv_transpose",
           "ig.conv_transpose(ig.asarray([[[1.0, 2.0]]]), ig.asarray([[[1.0, 0.5]]]), stride=2)"},
          {"max_pool", "ig.max_pool(ig.asarray([[[1.0, 3.0, 2.0, 4.0]]]), kernel_size=2)"},
          {"avg_pool", "ig.avg_pool(ig.asarray([[[1.0, 3.0, 2.0, 4.0]]]), kernel_size=2)"},
      });
  return ops;
}

}  // namespace ig::ops
