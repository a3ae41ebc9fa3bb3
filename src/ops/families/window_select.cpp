// The kernel of select_and_scatter_add, the derivative of a maximum over windows.
//
//   block (an element of the axes in front that have no windows)
//     for each window: which of its taps is chosen, and what goes there     (vectors of windows)
//     for each element: the sum of what the windows around it send to it    (vectors of elements)
//
// An element takes what it is sent in the windows' row-major order, from +0, as the op states it. Windows
// with gaps, with many taps, and those that cut the array off go one by one, and add where they choose.
#include <algorithm>

#include "ops/families/array_tools.h"
#include "ops/families/derivative_rules.h"
#include "ops/window_attrs.h"

namespace ig::ops {

namespace {

using namespace tools;
using loop::Expr;

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
    int64_t taps = 1;
    for (int64_t size : d_.window) taps = std::min(taps * size, kUnrolled + 1);
    unrolls_ = taps <= kUnrolled;
    if (unrolls_ && takes_vectors()) return by_vectors();
    build_.vector_for(build_.index(0), c_.size(inner), 8, [&](Expr i) {
      build_.store(c_.results[0], base_ + i, build_.constant_bits(x_.dtype, 0));
    });
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

  // Of a window: the tap that is chosen as `name` calls it, and whether any lies inside (null: surely).
  struct Choice {
    Expr tap, any;
  };
  using Name = std::function<Expr(const Index& tap, Expr flat)>;
  // With `inner` all taps along the last axis lie inside.
  Choice choose(const Name& name, bool inner = false) {
    Expr best;
    Choice out;
    each_index(Ints(d_.window.begin() + static_cast<int64_t>(first_), d_.window.end()),
               [&](const Index& tap, int64_t) {
                 std::vector<Expr> from, inside;
                 for (size_t i = 0; i < tap.size(); ++i) {
                   size_t had = inside.size();
                   Expr p = position(i, build_.index(tap[i]), inside);
                   if (inner && i + 1 == tap.size()) inside.resize(had);
                   from.push_back(inside.size() == had ? p : clamp_index(p, sizes_[i]));
                 }
                 Expr flat = build_.let(row_major(from, sizes_, build_));
                 Expr value = build_.let(widen(build_.load(c_.operands[0], base_ + flat)));
                 Expr here = inside.empty() ? Expr{} : build_.let(all_of(inside, build_));
                 if (!best) {
                   best = value, out = {name(tap, flat), here};
                   return;
                 }
                 Expr better = beats(value, best);
                 if (out.any) better = better | ~out.any;
                 if (here) better = better & here;
                 better = build_.let(better);
                 best = build_.let(select(better, value, best));
                 out.tap = build_.let(select(better, name(tap, flat), out.tap));
                 if (out.any) out.any = here ? build_.let(out.any | here) : Expr{};
               });
    return out;
  }

  void unrolled() {
    const Choice choice = choose([](const Index&, Expr flat) { return flat; });
    if (!choice.any) return add_at(choice.tap);
    build_.if_then(choice.any, [&] { add_at(choice.tap); });
  }

  // --- by vectors ---
  size_t last() const { return sizes_.size() - 1; }
  int64_t stride(size_t i) const { return d_.strides[first_ + i]; }
  int64_t low(size_t i) const { return d_.low[first_ + i]; }
  // In how many windows an element may lie, along an axis.
  int64_t around(size_t i) const { return (d_.window[first_ + i] + stride(i) - 1) / stride(i); }
  bool takes_vectors() const {
    constexpr int64_t kMostWindows = 1 << 20;  // of a block, which wait in memory
    if (first_ == x_.dims.size()) return false;
    const Dim windows =
        product(Dims(source_.dims.begin() + static_cast<std::ptrdiff_t>(first_), source_.dims.end()));
    if (windows.is_constant() && windows.constant() > kMostWindows) return false;
    for (size_t i = first_; i < x_.dims.size(); ++i)
      if ((d_.window[i] > 1 && d_.dilations[i] != 1) || d_.low[i] < 0 || d_.high[i] < 0) return false;
    const int64_t step = d_.strides.back();
    return step == 1 || step == 2 || step == 4;  // then distances within a vector are known
  }

  void by_vectors() {
    wide_ = wide_type(x_.dtype);
    lanes_ = 2 * c_.registers().bytes / static_cast<int>(std::max<size_t>(4, size_of(wide_)));
    if (const Dim& size = x_.dims.back(); size.is_constant())
      while (lanes_ > 4 && size.constant() < lanes_) lanes_ /= 2;
    // Windows before the first and behind the last one of a row, which choose nothing, spare questions.
    const Dim reached = floordiv(x_.dims.back() + (low(last()) - 1), stride(last())) + 1;
    const Dim row = max(source_.dims.back(), reached) + (around(last()) - 1);
    Dim all = row;
    for (size_t i = first_; i + 1 < x_.dims.size(); ++i) all = all * source_.dims[i];
    row_ = c_.size(row);
    chosen_ = build_.add_scratch(DType::I32, all, "chosen");
    sent_ = build_.add_scratch(wide_, all, "sent");
    build_.vector_for(build_.index(0), c_.size(all), lanes_,
                      [&](Expr i) { build_.store(chosen_, i, build_.constant_int(DType::I32, -1)); });
    auto choices = [&] { each_row(source_sizes_, [&] { choose_row(); }); };
    if (surely_nonempty(c_.node, x_))
      choices();
    else
      build_.if_then(build_.index(0) < c_.size(product(x_.dims)), choices);
    each_row(sizes_, [&] { sum_row(); });
  }

  // Loops over all axes but the last one.
  void each_row(const std::vector<Expr>& sizes, const std::function<void()>& body) {
    const size_t i = place_.size();
    if (i == last()) return body();
    build_.serial_for(build_.index(0), sizes[i], [&](Expr p) {
      place_.push_back(p);
      each_row(sizes, body);
      place_.pop_back();
    });
  }

  // Taps are counted as though windows had whole strides, so that no place beyond one has a tap's number.
  int64_t radix(size_t i) const { return around(i) * stride(i); }
  int64_t number_of(const Index& tap) const {
    int64_t out = 0;
    for (size_t i = 0; i < tap.size(); ++i) out = out * radix(i) + tap[i];
    return out;
  }
  // Where the row of windows stands in scratch; the number of the first one is around - 1.
  Expr scratch_row(const std::vector<Expr>& rows) {
    std::vector<Expr> outer(source_sizes_.begin(), source_sizes_.end() - 1);
    Expr number = outer.empty() ? build_.index(0) : row_major(rows, outer, build_);
    return number * row_ + build_.index(around(last()) - 1);
  }

  void choose_row() {
    const Expr none = build_.index(0), count = source_sizes_.back(), step = build_.index(stride(last()));
    Expr row = build_.let(scratch_row(place_));
    // The windows all of whose taps lie inside.
    Expr begin = build_.let(lesser(build_.index((low(last()) + stride(last()) - 1) / stride(last())), count));
    Expr room = sizes_.back() + build_.index(low(last()) - d_.window.back()) + step;
    Expr end = build_.let(greater(begin, lesser(greater(room, none) / step, count)));
    auto one = [&](Expr p, bool inner) {
      place_.push_back(p);
      Choice choice = choose(
          [&](const Index& tap, Expr) { return build_.constant_int(DType::I32, number_of(tap)); }, inner);
      if (choice.any) choice.tap = select(choice.any, choice.tap, build_.constant_int(DType::I32, -1));
      build_.store(chosen_, row + p, choice.tap);
      build_.store(
          sent_, row + p,
          widen(build_.load(c_.operands[1], source_base_ + row_major(place_, source_sizes_, build_))));
      place_.pop_back();
    };
    build_.serial_for(none, begin, [&](Expr p) { one(p, false); });
    build_.vector_for(begin, end, lanes_, [&](Expr p) { one(p, true); });
    build_.serial_for(end, count, [&](Expr p) { one(p, false); });
  }

  void sum_row() {
    std::vector<Expr> window, tap;  // of each axis but the last: the last window that the row lies in
    for (size_t i = 0; i < last(); ++i) {
      Expr p = place_[i] + build_.index(low(i));
      window.push_back(build_.let(p / build_.index(stride(i))));
      tap.push_back(build_.let(p % build_.index(stride(i))));
    }
    std::vector<Expr> row = place_;
    row.push_back(build_.index(0));
    Expr to = build_.let(base_ + row_major(row, sizes_, build_));
    build_.vector_for(build_.index(0), sizes_.back(), lanes_, [&](Expr e) {
      Expr sum = build_.constant(wide_, 0), p = e + build_.index(low(last()));
      Expr step = build_.index(stride(last()));
      Ints counts;
      for (size_t i = 0; i <= last(); ++i) counts.push_back(around(i));
      each_index(counts, [&](const Index& number, int64_t) {
        std::vector<Expr> rows, inside;
        Expr outer = build_.index(0);
        for (size_t i = 0; i < last(); ++i) {
          const int64_t back = counts[i] - 1 - number[i];
          Expr w = window[i] - build_.index(back);
          inside.push_back((w >= build_.index(0)) & (w < source_sizes_[i]));
          rows.push_back(clamp_index(w, source_sizes_[i]));
          outer = outer * build_.index(radix(i)) + tap[i] + build_.index(back * stride(i));
        }
        const int64_t back = counts.back() - 1 - number.back();
        Expr at = build_.let(scratch_row(rows) - build_.index(back)) + p / step;
        Expr wanted =
            convert(outer * build_.index(radix(last())) + build_.index(back * stride(last())), DType::I32) +
            convert(p % step, DType::I32);
        Expr hit = build_.load(chosen_, at) == wanted;
        if (!inside.empty()) hit = hit & all_of(inside, build_);
        Expr more = sum + build_.load(sent_, at);
        if (wide_ != x_.dtype) more = widen(narrow(more, x_.dtype));
        sum = build_.let(select(hit, more, sum));
      });
      build_.store(c_.results[0], to + e, narrow(sum, x_.dtype));
    });
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
  uint32_t best_ = 0, chosen_ = 0;  // locals or scratch
  DType wide_ = DType::F32;
  int lanes_ = 1;
  uint32_t sent_ = 0;
  Expr row_;  // numbers of a row of windows in scratch
};

}  // namespace

void nest_select(NestContext& c) { Selection(c).run(); }

}  // namespace ig::ops
