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

// Windows lie in the axes behind the first ones that have none: an element of those is a block of its own.
class Selection {
 public:
  explicit Selection(NestContext& c)
      : c_(c),
        build_(*c.build),
        x_(c.node->operand(0)->type()),
        source_(c.node->operand(1)->type()),
        d_(c.node->attrs(), x_.rank(), "select_and_scatter_add") {
    while (first_ < x_.dims.size() && d_.window[first_] == 1 && d_.strides[first_] == 1 &&
           d_.low[first_] == 0 && d_.high[first_] == 0)
      ++first_;
  }

  void run() {
    Dim blocks(int64_t{1}), inner(int64_t{1}), inner_source(int64_t{1});
    for (size_t i = 0; i < x_.dims.size(); ++i) {
      if (i < first_) {
        blocks = blocks * x_.dims[i];
        continue;
      }
      inner = inner * x_.dims[i], inner_source = inner_source * source_.dims[i];
      sizes_.push_back(c_.size(x_.dims[i])), source_sizes_.push_back(c_.size(source_.dims[i]));
    }
    c_.set_blocks(blocks);
    base_ = build_.let(build_.block() * c_.size(inner));
    source_base_ = build_.let(build_.block() * c_.size(inner_source));
    build_.vector_for(build_.index(0), c_.size(inner), 8, [&](Expr i) {
      build_.store(c_.results[0], base_ + i, build_.constant_bits(x_.dtype, 0));
    });
    int64_t taps = 1;
    for (int64_t size : d_.window) taps = std::min(taps * size, kUnrolled + 1);
    unrolls_ = taps <= kUnrolled;
    if (!unrolls_) {
      best_ = build_.local(wide_type(x_.dtype), 1, 1, "best");
      chosen_ = build_.local(DType::I64, 1, 1, "chosen");
    }
    // Windows of nothing but padding may stand over an empty array.
    if (surely_nonempty(c_.node, x_)) return windows();
    build_.if_then(c_.size(inner) > build_.index(0), [&] { windows(); });
  }

 private:
  static constexpr int64_t kUnrolled = 16;  // taps of a window that are written out

  void windows() {
    size_t i = place_.size();
    if (i == sizes_.size()) return unrolls_ ? unrolled() : looped();
    build_.serial_for(build_.index(0), source_sizes_[i], [&](Expr p) {
      place_.push_back(p);
      windows();
      place_.pop_back();
    });
  }

  // Where tap w of the window's axis i lies; what must hold for it to lie in the array goes to `inside`.
  Expr position(size_t i, Expr w, std::vector<Expr>& inside) {
    size_t axis = first_ + i;
    Expr p = place_[i] * build_.index(d_.strides[axis]) + w * build_.index(d_.dilations[axis]) -
             build_.index(d_.low[axis]);
    if (d_.low[axis] > 0) inside.push_back(p >= build_.index(0));
    if (d_.high[axis] > 0) inside.push_back(p < sizes_[i]);
    return p;
  }
  static Expr beats(Expr value, Expr held) { return (is_nan(value) | (held < value)) & ~is_nan(held); }

  void unrolled() {
    Expr best, chosen, any;  // any: null where a tap always lies inside
    each_index(Ints(d_.window.begin() + static_cast<int64_t>(first_), d_.window.end()),
               [&](const Index& tap, int64_t) {
                 std::vector<Expr> from, inside;
                 for (size_t i = 0; i < tap.size(); ++i) {
                   size_t had = inside.size();
                   Expr p = position(i, build_.index(tap[i]), inside);
                   from.push_back(inside.size() == had ? p : clamp_index(p, sizes_[i]));
                 }
                 Expr flat = build_.let(row_major(from, sizes_, build_));
                 Expr value = build_.let(widen(build_.load(c_.operands[0], base_ + flat)));
                 Expr here = inside.empty() ? Expr{} : build_.let(all_of(inside, build_));
                 if (!best) {
                   best = value, chosen = flat, any = here;
                   return;
                 }
                 Expr better = beats(value, best);
                 if (any) better = better | ~any;
                 if (here) better = better & here;
                 better = build_.let(better);
                 best = build_.let(select(better, value, best));
                 chosen = build_.let(select(better, flat, chosen));
                 if (any) any = here ? build_.let(any | here) : Expr{};
               });
    if (!any) return add_at(chosen);
    build_.if_then(any, [&] { add_at(chosen); });
  }

  void looped() {
    build_.assign(chosen_, build_.index(-1));
    build_.assign(best_, lowest(build_, wide_type(x_.dtype)));
    std::vector<Expr> from, inside;
    std::function<void(size_t)> taps = [&](size_t i) {
      if (i < sizes_.size()) {
        build_.serial_for(build_.index(0), build_.index(d_.window[first_ + i]), [&](Expr w) {
          size_t had = inside.size();
          from.push_back(position(i, w, inside));
          taps(i + 1);
          inside.resize(had);
          from.pop_back();
        });
        return;
      }
      auto look = [&] {
        Expr flat = build_.let(row_major(from, sizes_, build_));
        Expr value = build_.let(widen(build_.load(c_.operands[0], base_ + flat)));
        Expr better = build_.let((build_.read(chosen_) < build_.index(0)) | beats(value, build_.read(best_)));
        build_.assign(best_, select(better, value, build_.read(best_)));
        build_.assign(chosen_, select(better, flat, build_.read(chosen_)));
      };
      if (inside.empty())
        look();
      else
        build_.if_then(all_of(inside, build_), look);
    };
    taps(0);
    build_.if_then(build_.read(chosen_) >= build_.index(0),
                   [&] { add_at(build_.let(build_.read(chosen_))); });
  }

  void add_at(Expr flat) {
    Expr sum = widen(build_.load(c_.results[0], base_ + flat)) +
               widen(build_.load(c_.operands[1], source_base_ + row_major(place_, source_sizes_, build_)));
    build_.store(c_.results[0], base_ + flat, narrow(sum, x_.dtype));
  }

  NestContext& c_;
  loop::Builder& build_;
  const Type &x_, &source_;
  WindowDims d_;
  size_t first_ = 0;  // the first axis that is windowed
  std::vector<Expr> sizes_, source_sizes_, place_;
  Expr base_, source_base_;
  bool unrolls_ = false;
  uint32_t best_ = 0, chosen_ = 0;
};

void nest_select(NestContext& c) { Selection(c).run(); }

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
