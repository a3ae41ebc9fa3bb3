// Windows slid over an array: sums, maxima and minima (pooling), and the scatter that is the derivative of a
// maximum. Padding does not contribute: it is the fold's neutral element.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/families/array_tools.h"
#include "ops/families/batch_rules.h"
#include "ops/families/compose.h"
#include "ops/families/derivative_rules.h"
#include "ops/families/families.h"
#include "ops/table.h"
#include "ops/window_attrs.h"

namespace ig::ops {
namespace {

Ints filled(const Ints& given, size_t count, int64_t value, std::string_view op, std::string_view what) {
  if (given.empty()) return Ints(count, value);
  if (given.size() != count)
    throw make_error(ErrorKind::Value, "{}: {} has {} entr{}, but {} {} needed", op, what, given.size(),
                     given.size() == 1 ? "y" : "ies", count, count == 1 ? "is" : "are")
        .why("there is one for each axis, and two of padding: before and behind")
        .hint(fmt::format("give {}, or none for the default", count));
  return given;
}

}  // namespace

WindowDims::WindowDims(const Attrs& attrs, int rank, std::string_view op) {
  auto n = static_cast<size_t>(rank);
  window = attrs.get(kWindow);
  if (window.size() != n)
    throw make_error(ErrorKind::Value, "{}: window_dimensions has {} entr{}, but {} {} needed", op,
                     window.size(), window.size() == 1 ? "y" : "ies", n, n == 1 ? "is" : "are")
        .why("a window has a size along each axis of the array")
        .hint(fmt::format("give {}, with 1 for axes that are not windowed", n));
  strides = filled(attrs.get(kWindowStrides), n, 1, op, "window_strides");
  dilations.assign(n, 1);
  if (attrs.find(kWindowDilations.name))
    dilations = filled(attrs.get(kWindowDilations), n, 1, op, "window_dilations");
  Ints padding = filled(attrs.get(kWindowPadding), 2 * n, 0, op, "padding");
  for (size_t i = 0; i < n; ++i) {
    low.push_back(padding[2 * i]);
    high.push_back(padding[2 * i + 1]);
    if (window[i] < 1 || strides[i] < 1 || dilations[i] < 1)
      throw make_error(ErrorKind::Value, "{}: windows, strides and dilations are at least 1, not {}", op,
                       std::min({window[i], strides[i], dilations[i]}))
          .why("a window holds an element, and the next one lies further on")
          .hint("use 1 where an axis is not windowed");
  }
}

Dim WindowDims::result(const Dim& size, size_t axis) const {
  Dim room = size + (low[axis] + high[axis] - ((window[axis] - 1) * dilations[axis] + 1));
  if (room.is_constant() && room.constant() < 0) return 0;
  return (strides[axis] == 1 ? room : floordiv(room, strides[axis])) + 1;
}

std::optional<WindowFold> window_fold(const Op& op, DType dtype) {
  const bool most = op.decl.name == "reduce_window_max", least = op.decl.name == "reduce_window_min";
  if ((!most && !least && op.decl.name != "reduce_window_sum") || tools::is_half(dtype)) return std::nullopt;
  WindowFold out{most ? "maximum" : least ? "minimum" : "add", Literal::allocate(dtype, {})};
  if (is_float(dtype)) {
    const double all = std::numeric_limits<double>::infinity();
    tools::set_real(out.neutral, 0, most ? -all : least ? all : 0);
  } else {
    const uint64_t top = ~uint64_t{0} >> (64 - info(dtype).bits + (is_unsigned_int(dtype) ? 0 : 1));
    const auto greatest = static_cast<int64_t>(top), lowest = is_unsigned_int(dtype) ? 0 : -greatest - 1;
    tools::set_whole(out.neutral, 0, most ? lowest : least ? greatest : 0);
  }
  return out;
}

namespace {

using namespace tools;
using loop::Expr;

enum class Fold : uint8_t { Sum, Max, Min };

void infer_window(InferContext& c) {
  const Type& x = c.operand(0);
  c.require_dtype(0, DTypeSet::Real);
  WindowDims d(c.attrs, x.rank(), c.op.public_name());
  Dims dims;
  for (size_t i = 0; i < x.dims.size(); ++i) {
    // A window of one element fits an empty axis too: there it stands nowhere.
    bool fits = d.window[i] == 1 && d.low[i] + d.high[i] >= 0;
    if (!x.dims[i].is_constant() && !fits)
      c.require_less_equal((d.window[i] - 1) * d.dilations[i] + 1, x.dims[i] + (d.low[i] + d.high[i]),
                           "the window and the padded axis");
    dims.push_back(d.result(x.dims[i], i));
  }
  c.result(x.dtype, dims);
}

// Calls visit(flat index of the operand) for each element of the window of a result element, in row-major
// order.
void each_in_window(const WindowDims& d, const std::vector<int64_t>& dims, const Index& place,
                    const std::function<void(int64_t)>& visit) {
  each_index(d.window, [&](const Index& w, int64_t) {
    Index from(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) {
      from[i] = place[i] * d.strides[i] + w[i] * d.dilations[i] - d.low[i];
      if (from[i] < 0 || from[i] >= dims[i]) return;
    }
    visit(flat_of(dims, from));
  });
}

double extreme(double a, double b, bool least) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  if (a == b) return std::signbit(a) == least ? a : b;
  return (a < b) == least ? a : b;
}

template <Fold fold>
void reference_window(ReferenceContext& c) {
  const Literal& x = c.operands[0];
  WindowDims d(c.attrs, static_cast<int>(x.dims().size()), "reduce_window");
  bool is_unsigned = is_unsigned_int(x.dtype());
  each_index(c.results[0].dims(), [&](const Index& index, int64_t flat) {
    if (is_float(x.dtype())) {
      float sum32 = 0;
      double sum64 = 0;
      double best = fold == Fold::Min ? std::numeric_limits<double>::infinity()
                                      : -std::numeric_limits<double>::infinity();
      each_in_window(d, x.dims(), index, [&](int64_t i) {
        sum32 += static_cast<float>(x.as_double(i));
        sum64 += x.as_double(i);
        best = extreme(best, x.as_double(i), fold == Fold::Min);
      });
      double sum = x.dtype() == DType::F64 ? sum64 : static_cast<double>(sum32);
      set_real(c.results[0], flat, fold == Fold::Sum ? sum : best);
    } else {
      uint64_t sum = 0;
      int bits = info(x.dtype()).bits;
      uint64_t top = ~uint64_t{0} >> (64 - bits);
      int64_t low = is_unsigned ? 0 : std::numeric_limits<int64_t>::min() >> (64 - bits);
      auto best = fold == Fold::Max ? low : static_cast<int64_t>(is_unsigned ? top : top >> 1);
      each_in_window(d, x.dims(), index, [&](int64_t i) {
        int64_t v = x.as_int(i);
        sum += static_cast<uint64_t>(v);
        bool below = is_unsigned ? static_cast<uint64_t>(v) < static_cast<uint64_t>(best) : v < best;
        if (fold == Fold::Min ? below : (!below && v != best)) best = v;
      });
      set_whole(c.results[0], flat, fold == Fold::Sum ? static_cast<int64_t>(sum) : best);
    }
  });
}

template <Fold fold>
Expr point_window(PointContext& c) {
  const Type& x = c.operand_type(0);
  loop::Builder& build = *c.build;
  WindowDims d(c.node->attrs(), x.rank(), "reduce_window");
  DType type = wide_type(x.dtype);
  Expr neutral = fold == Fold::Sum ? build.constant(type, 0)
                                   : (fold == Fold::Max ? lowest(build, type) : highest(build, type));
  if (surely_empty(x)) return narrow(neutral, x.dtype);
  std::vector<Expr> from(x.dims.size()), inside;
  std::function<Expr(size_t, Expr)> level = [&](size_t i, Expr sum) -> Expr {
    if (i == x.dims.size()) {
      Expr v = widen(c.at(0, from));
      Expr next = fold == Fold::Sum ? sum + v : (fold == Fold::Max ? total_max(sum, v) : total_min(sum, v));
      return inside.empty() ? next : select(all_of(inside, build), next, sum);
    }
    auto step = [&](Expr w, Expr inner) {
      Expr p = c.index[i];
      if (d.strides[i] != 1) p = p * build.index(d.strides[i]);
      if (d.window[i] != 1) p = p + w * build.index(d.dilations[i]);
      if (d.low[i] != 0) p = p - build.index(d.low[i]);
      size_t had = inside.size();
      if (d.low[i] > 0) inside.push_back(p >= build.index(0));
      if (d.high[i] > 0) inside.push_back(p < c.size(x.dims[i]));
      from[i] = inside.size() == had ? p : clamp_index(p, c.size(x.dims[i]));
      Expr result = level(i + 1, inner);
      inside.resize(had);
      return result;
    };
    if (d.window[i] == 1) return step(build.index(0), sum);
    return c.fold(build.index(d.window[i]), sum, step);
  };
  Expr out = surely_nonempty(c.node, x)
                 ? level(0, neutral)
                 : c.fold(has_elements(c, 0), neutral, [&](Expr, Expr inner) { return level(0, inner); });
  return narrow(out, x.dtype);
}

Value simplify_window(SimplifyContext& c) {
  const Attrs& a = c.node->attrs();
  WindowDims d(a, c.node->operand(0)->type().rank(), "reduce_window");
  Ints ones(d.window.size(), 1), zeros(d.window.size(), 0);
  bool same = d.window == ones && d.strides == ones && d.low == zeros && d.high == zeros;
  return same ? c.node->operand(0) : nullptr;
}

Batched batch_window(BatchContext& c) {
  Attrs attrs = c.node->attrs();
  WindowDims d(attrs, c.node->operand(0)->type().rank(), op_of(c.node).public_name());
  Ints padding{0, 0};
  for (size_t i = 0; i < d.low.size(); ++i) {
    padding.push_back(d.low[i]);
    padding.push_back(d.high[i]);
  }
  attrs.set(kWindow, with_front(d.window, 1));
  attrs.set(kWindowStrides, with_front(d.strides, 1));
  if (attrs.find(kWindowDilations.name)) attrs.set(kWindowDilations, with_front(d.dilations, 1));
  attrs.set(kWindowPadding, padding);
  return again(c, all_in_front(c), std::move(attrs));
}

std::vector<Sample> window_samples() {
  return {{"T[5]", "{window_dimensions = [3]}"},
          {"T[7]", "{window_dimensions = [2], window_strides = [3], padding = [1, 2]}"},
          {"T[9]", "{window_dimensions = [3], window_dilations = [2]}"},
          {"T[4, 6]", "{window_dimensions = [2, 3], window_strides = [2, 1]}"},
          {"T[2, 3, 5, 6]",
           "{window_dimensions = [1, 1, 3, 2], window_strides = [1, 1, 2, 2], padding = [0, 0, 0, 0, 1, "
           "1, 0, 1]}"},
          {"T[1, 2, 3]", "{window_dimensions = [1, 1, 1]}"},
          {"T[2]", "{window_dimensions = [3]}"},
          {"T[0]", "{window_dimensions = [2], padding = [2, 1]}"},
          {"T[3]", "{window_dimensions = [2], padding = [2, 2]}"},
          {"T[5]", "{window_dimensions = [2], padding = [-1, -1]}"},
          {"T[40]", "{window_dimensions = [3], padding = [1, 1]}"},
          {"T[]", "{window_dimensions = []}"}};
}

std::string window_oracle(const char* fold, const char* neutral) {
  return fmt::format(
      "(lambda r, w, s, d, p: (lambda y: {}(np.lib.stride_tricks.sliding_window_view(y, [(w[i] - 1) * d[i] + "
      "1 for i in "
      "range(r)])[tuple(slice(None, None, s[i]) for i in range(r)) + tuple(slice(None, None, d[i]) for i in "
      "range(r))], axis=tuple(range(r, 2 * r))) if r and all(y.shape[i] >= (w[i] - 1) * d[i] + 1 for i in "
      "range(r)) "
      "else y if r == 0 else np.zeros([max(0, (y.shape[i] - (w[i] - 1) * d[i] - 1) // s[i] + 1) for i in "
      "range(r)], "
      "x.dtype))(np.pad(x, [(max(a, 0), max(b, 0)) for a, b in p], constant_values={})[tuple(slice(max(-a, "
      "0), "
      "n + max(a, 0) + max(b, 0) - max(-b, 0)) for (a, b), n in zip(p, x.shape))] if r else x))(x.ndim, "
      "list(window_dimensions), list(window_strides) or [1] * x.ndim, list(window_dilations) or [1] * "
      "x.ndim, "
      "[(padding[2 * i], padding[2 * i + 1]) if padding else (0, 0) for i in range(x.ndim)]).astype(x.dtype)",
      fold, neutral);
}

Op window_op(std::string name, std::string what, std::string oracle, ReferenceFn reference, PointFn point,
             JvpFn jvp, bool sum) {
  std::string prefix = "ValueError: " + name + ": ";
  return {
      .decl = {.name = name,
               .python = name,
               .doc =
                   fmt::format("The {} of each window slid over the array.\nPadding does not contribute; a "
                               "window that lies on padding alone gives the fold's neutral element. Elements "
                               "are folded in row-major order. StableHLO's reduce_window.",
                               what),
               .operands = {{"x", "The array."}},
               .attrs = {kWindow, kWindowStrides, kWindowDilations, kWindowPadding},
               .dtypes = DTypeSet::Real,
               .traits = sum ? static_cast<uint32_t>(Trait::Linear) : 0u,
               .numpy = std::move(oracle),
               .example = "",
               .samples = window_samples(),
               .bad_samples = {{"T[5]", "{window_dimensions = [3, 1]}",
                                prefix + "window_dimensions has 2 entries, but 1 is needed"},
                               {"T[5]", "{window_dimensions = [0]}",
                                prefix + "windows, strides and dilations are at least 1, not 0"},
                               {"T[5]", "{window_dimensions = [2], padding = [1]}",
                                prefix + "padding has 1 entry, but 2 are needed"}}},
      .rules = {.infer = infer_window,
                .reference = reference,
                .lower = LowerRule::of_point(point),
                .simplify = simplify_window,
                .jvp = jvp,
                .transpose = sum ? Rule<TransposeFn>(transpose_window_sum) : Rule<TransposeFn>(not_linear()),
                .batch = batch_window,
                .body = no_body()},
      .id = {}};
}

// --- select_and_scatter_add
// ------------------------------------------------------------------------------------------
void infer_select(InferContext& c) {
  const Type &x = c.operand(0), &source = c.operand(1);
  c.require_dtype(0, DTypeSet::Real);
  c.require_same_dtype(0, 1);
  c.require_rank(1, x.rank());
  WindowDims d(c.attrs, x.rank(), c.op.public_name());
  for (size_t i = 0; i < x.dims.size(); ++i)
    c.require_equal(source.dims[i], d.result(x.dims[i], i), "the source and the number of windows");
  c.result(x.dtype, x.dims);
}

void reference_select(ReferenceContext& c) {
  const Literal &x = c.operands[0], &source = c.operands[1];
  Literal& out = c.results[0];
  WindowDims d(c.attrs, static_cast<int>(x.dims().size()), "select_and_scatter_add");
  bool is_unsigned = is_unsigned_int(x.dtype());
  each_index(source.dims(), [&](const Index& index, int64_t flat) {
    int64_t chosen = -1;
    each_in_window(d, x.dims(), index, [&](int64_t i) {
      bool better = chosen < 0;
      if (!better && is_float(x.dtype()))
        better = !is_nan_at(x, chosen) && (is_nan_at(x, i) || x.as_double(i) > x.as_double(chosen));
      else if (!better)
        better = is_unsigned ? static_cast<uint64_t>(x.as_int(i)) > static_cast<uint64_t>(x.as_int(chosen))
                             : x.as_int(i) > x.as_int(chosen);
      if (better) chosen = i;
    });
    if (chosen < 0) return;
    if (out.dtype() == DType::F64)
      set_real(out, chosen, out.as_double(chosen) + source.as_double(flat));
    else if (is_float(out.dtype()))
      set_real(out, chosen,
               static_cast<float>(out.as_double(chosen)) + static_cast<float>(source.as_double(flat)));
    else
      set_whole(out, chosen,
                static_cast<int64_t>(static_cast<uint64_t>(out.as_int(chosen)) +
                                     static_cast<uint64_t>(source.as_int(flat))));
  });
}

std::vector<Value> at_greatest_body(BodyContext& c) {
  WindowDims d(c.attrs, c.operands[0]->type().rank(), "window_at_greatest");
  Dims out;
  for (size_t i = 0; i < d.window.size(); ++i) out.push_back(d.result(c.operands[0]->type().dims[i], i));
  Type result = Type::tensor(c.operands[1]->type().dtype, out);
  if (surely_empty(result)) return {c.build.full(result, 0)};
  return {at_the_greatest(c.build, c.operands[0], c.operands[1], d, out)};
}

void infer_at_greatest(InferContext& c) {
  c.require_dtype(0, DTypeSet::Real);
  c.require_same_shape(0, 1);
  c.require_same_dtype(0, 1);
  infer_window(c);
}

Op at_greatest_op() {
  Op op = composite({.name = "window_at_greatest",
                     .doc = "The elements of `t` where each window of `x` has its greatest element, as "
                            "select_and_scatter_add chooses it: the tangent of a maximum over windows.",
                     .operands = {{"x", "The array that the windows slide over."}, {"t", "Its like."}},
                     .attrs = {kWindow, kWindowStrides, kWindowDilations, kWindowPadding},
                     .dtypes = DTypeSet::Real,
                     .front = Front::None,
                     .numpy = "none: it is checked as the derivative that it is",
                     .samples = {{"T[6], T[6]", "{window_dimensions = [2], window_strides = [2]}"},
                                 {"T[9], T[9]", "{window_dimensions = [3], window_dilations = [2]}"},
                                 {"T[2, 4, 5], T[2, 4, 5]",
                                  "{window_dimensions = [1, 3, 2], window_strides = [1, 2, 1], padding = [0, "
                                  "0, 1, 1, 0, 1]}"}}},
                    at_greatest_body, infer_at_greatest);
  op.rules.jvp = jvp_window_at_greatest;
  op.rules.transpose = transpose_window_at_greatest;
  op.rules.batch = batch_window;
  return op;
}

Op select_op() {
  return {
      .decl =
          {.name = "select_and_scatter_add",
           .python = "select_and_scatter_add",
           .doc = "Zeros, with each element of `source` added where the window of `x` it stands for has its "
                  "greatest element: the derivative of a maximum over windows.\nOf equal elements the first "
                  "in row-major order is taken; a NaN counts as the greatest. StableHLO's "
                  "select_and_scatter.",
           .operands = {{"x", "The array that the windows slide over."},
                        {"source", "A value for each window."}},
           .attrs = {kWindow, kWindowStrides, kWindowDilations, kWindowPadding},
           .dtypes = DTypeSet::Real,
           .numpy = "none: NumPy has no such op; its reference is checked by hand",
           .example = "ig.select_and_scatter_add(ig.asarray([1.0, 3.0, 2.0, 4.0]), ig.asarray([10.0, 20.0]), "
                      "window_dimensions=(2,), window_strides=(2,))",
           .samples =
               {{"T[5], T[3]", "{window_dimensions = [3]}"},
                {"T[6], T[3]", "{window_dimensions = [2], window_strides = [2]}"},
                {"T[4, 4], T[2, 2]", "{window_dimensions = [2, 2], window_strides = [2, 2]}"},
                {"T[1, 2, 4, 5], T[1, 2, 2, 3]",
                 "{window_dimensions = [1, 1, 3, 3], window_strides = [1, 1, 2, 2], padding = [0, 0, 0, "
                 "0, 1, 0, 1, 1]}"},
                {"T[9], T[5]", "{window_dimensions = [3], window_dilations = [2]}"},
                {"T[2, 9, 9], T[2, 5, 5]", "{window_dimensions = [1, 5, 5]}"},
                {"T[2], T[0]", "{window_dimensions = [3]}"},
                {"T[0], T[2]", "{window_dimensions = [2], padding = [2, 1]}"},
                {"T[1], T[1]", "{window_dimensions = [1]}"}},
           .bad_samples = {{"T[5], T[3]", "{window_dimensions = [3, 1]}",
                            "ValueError: select_and_scatter_add: window_dimensions has 2 entries, but 1 is "
                            "needed"}}},
      .rules = {.infer = infer_select,
                .reference = reference_select,
                .lower = LowerRule::of_nest(nest_select),
                .simplify = no_rule("nothing is simpler"),
                .jvp = jvp_select_and_scatter,
                .transpose = transpose_select_and_scatter,
                .batch = batch_window,
                .body = no_body()},
      .id = {}};
}

}  // namespace

std::vector<Op> window_ops() {
  std::vector<Op> ops;
  ops.push_back(window_op("reduce_window_sum", "sum", window_oracle("np.sum", "0"),
                          reference_window<Fold::Sum>, point_window<Fold::Sum>, linear_jvp, true));
  ops.push_back(
      window_op("reduce_window_max", "maximum",
                window_oracle("np.max", "-np.inf if x.dtype.kind == 'f' else np.iinfo(x.dtype).min"),
                reference_window<Fold::Max>, point_window<Fold::Max>, jvp_window_max, false));
  ops.push_back(window_op("reduce_window_min", "minimum",
                          window_oracle("np.min", "np.inf if x.dtype.kind == 'f' else np.iinfo(x.dtype).max"),
                          reference_window<Fold::Min>, point_window<Fold::Min>, jvp_window_min, false));
  ops.push_back(select_op());
  ops.push_back(at_greatest_op());
  give_examples(
      ops,
      {
          {"reduce_window_sum", "ig.reduce_window_sum(ig.asarray([1, 2, 3, 4]), window_dimensions=(2,))"},
          {"reduce_window_max", "ig.reduce_window_max(ig.asarray([1, 3, 2, 4]), window_dimensions=(2,))"},
          {"reduce_window_min", "ig.reduce_window_min(ig.asarray([1, 3, 2, 4]), window_dimensions=(2,))"},
      });
  return ops;
}

}  // namespace ig::ops
