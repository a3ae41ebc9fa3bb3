// Gradients by the weights of depthwise convolutions whose images have their features last: for each feature
// and tap, the sum over all places of the image's element under the tap times the cotangent of the place.
//
//   block (some strips of nr features)
//     for each row of places, for each strip, for each row of taps that sees the image from there
//       for each stretch of the row whose places see the same taps
//         as many sums in registers as taps: for each place, for each example, one fma each
//
// Strips go side by side along a row, which comes from memory once, and its lines next to each other; sums
// wait in scratch from row to row. As the op is a convolution, its "image" has the examples as features and
// the features as groups of one image, its "kernel" is the cotangent, and its result's places are the taps.
//
// Order of summation: as the op states it: one fma chain over the places, the first axis slowest, then over
// the examples, from +0.
#include <algorithm>
#include <functional>

#include "codegen/dot_operands.h"
#include "codegen/register_tile.h"
#include "ops/contraction.h"

namespace ig::codegen {
namespace {

using loop::Expr;
const Dim kOne = Dim(int64_t{1});

class DepthwiseGradient {
 public:
  DepthwiseGradient(GroupEmitter& emit, Kernel& kernel, const Node* node)
      : emit_(emit),
        kernel_(kernel),
        build_(emit.build),
        node_(node),
        d_(node->attrs()),
        x_(ops::strided_view(node->operand(0))),
        y_(ops::strided_view(node->operand(1))) {
    const Dims &image = node->operand(0)->type().dims, &cotangent = node->operand(1)->type().dims;
    const DType result = node->result()->type().dtype;
    type_ = is_float(result) ? ops::accumulating_type(result, node->attrs().get(ops::kAccumulate)) : result;
    features_ = d_.batch_groups;
    supported_ = x_ && y_ && d_.spatial > 0 && features_ > 1 && d_.feature_groups == 1 &&
                 image[at(d_.lhs_batch)] == Dim(features_) && cotangent[at(d_.rhs_out)] == Dim(features_) &&
                 x_->strides[at(d_.lhs_batch)] == kOne && y_->strides[at(d_.rhs_out)] == kOne;
    for (size_t s = 0; supported_ && s < at(d_.spatial); ++s) {
      const Dim &size = image[at(d_.lhs_space[s])], &places = cotangent[at(d_.rhs_space[s])],
                &taps = node->result()->type().dims[at(d_.out_space[s])];
      supported_ = d_.lhs_dilation[s] == 1 && constant_dims({size, places, taps});
      if (supported_) axes_.push_back({size.constant(), places.constant(), taps.constant()});
    }
    if (!supported_) return;
    const int64_t lanes = emit.target.vector_bytes / static_cast<int64_t>(size_of(type_));
    nr_ = features_ <= lanes ? lanes : 2 * lanes;
    strips_ = ceil_over(features_, nr_);
    part_ = ceil_over(strips_, std::min<int64_t>(strips_, emit.traffic.threads));
    examples_ = cotangent[at(d_.rhs_in)];
    for (const Axis& axis : axes_) taps_ *= axis.taps, space_.emplace_back(axis.taps);
    supported_ = axes_.back().taps * (nr_ / lanes) <= emit.target.registers - 2;
  }
  bool supported() const { return supported_; }

  void run() {
    kernel_.kind = "depthwise_gradient";
    kernel_.blocks = Dim(ceil_over(strips_, part_));
    constexpr int64_t kUsualExamples = 8;  // where their number is a symbol
    int64_t work = part_ * nr_ * taps_ * constant_of(examples_).value_or(kUsualExamples);
    for (const Axis& axis : axes_) work *= axis.places;
    set_grain(kernel_, emit_.target, type_, work);
    sums_ = build_.add_scratch(type_, Dim(part_ * taps_ * nr_), "sums");
    first_strip_ = build_.let(build_.block() * part_);
    last_strip_ = build_.let(loop::lesser(first_strip_ + build_.index(part_), build_.index(strips_)));
    emit_.vector(build_.index(0), build_.index(part_ * taps_ * nr_), static_cast<int>(nr_),
                 [&](Expr i) { build_.store(sums_, i, zero_of(build_, type_)); });
    rows(0, emit_.size(y_->offset), {});
    each_strip([&] { store(); });
  }

 private:
  struct Axis {
    int64_t image, places, taps;  // how many there are
  };
  static size_t at(int64_t axis) { return static_cast<size_t>(axis); }
  Expr widen(Expr value) const { return value.type() == type_ ? value : loop::convert(value, type_); }
  Expr image_step(size_t s) { return emit_.size(x_->strides[at(d_.lhs_space[s])]); }
  Expr cotangent_step(size_t s) { return emit_.size(y_->strides[at(d_.rhs_space[s])]); }
  size_t last() const { return axes_.size() - 1; }

  void each_strip(const std::function<void()>& body) {
    emit_.serial(first_strip_, last_strip_, [&](Expr strip) {
      first_ = build_.let(strip * nr_);
      of_strip_ = build_.let((strip - first_strip_) * (taps_ * nr_));
      width_ = features_ % nr_ == 0
                   ? build_.index(nr_)
                   : build_.let(loop::lesser(build_.index(nr_), build_.index(features_) - first_));
      body();
    });
  }
  // `cotangent`: where the row's places begin; `place`: its number along every axis but the last.
  void rows(size_t s, Expr cotangent, std::vector<Expr> place) {
    if (s < last())
      return emit_.serial(build_.index(0), build_.index(axes_[s].places), [&](Expr y) {
        std::vector<Expr> here = place;
        here.push_back(y);
        rows(s + 1, cotangent + y * cotangent_step(s), std::move(here));
      });
    cotangent = build_.let(cotangent);
    if (asks_ahead()) note_next_row(cotangent, place);
    each_strip([&] {
      taps_rows(0, place, build_.let(cotangent + first_), emit_.size(x_->offset) + first_, build_.index(0));
    });
  }
  // The rows of taps that see the image; `image`: the row that they see, `tap`: their number.
  void taps_rows(size_t s, const std::vector<Expr>& place, Expr cotangent, Expr image, Expr tap) {
    if (s == last())
      return row(cotangent, build_.let(image), build_.let(of_strip_ + tap * (axes_[s].taps * nr_)));
    emit_.serial(build_.index(0), build_.index(axes_[s].taps), [&](Expr t) {
      Expr under = build_.let(under_tap(s, place[s], t));
      build_.if_then((under >= build_.index(0)) & (under < build_.index(axes_[s].image)), [&] {
        taps_rows(s + 1, place, cotangent, image + under * image_step(s), tap * axes_[s].taps + t);
      });
    });
  }
  Expr under_tap(size_t s, Expr place, Expr tap) {
    return place * d_.rhs_dilation[s] + tap * d_.strides[s] - build_.index(d_.low[s]);
  }

  // A strip's few features of a place are a line here and there, which the processor does not foresee. So
  // while a row is worked at, the next one is asked for, line after line.
  bool asks_ahead() const { return emit_.traffic.far && axes_.size() > 1; }
  void note_next_row(Expr cotangent, const std::vector<Expr>& place) {
    Expr image = emit_.size(x_->offset);
    for (size_t s = 0; s < last(); ++s) {
      Expr under = under_tap(s, place[s], build_.index(axes_[s].taps));
      under = loop::greater(loop::lesser(under, build_.index(axes_[s].image - 1)), build_.index(0));
      image = image + under * image_step(s);
    }
    next_image_ = build_.let(image + first_strip_ * nr_);
    next_cotangent_ = build_.let(cotangent + cotangent_step(last() - 1) + first_strip_ * nr_);
  }
  void ask_for_next_row(Expr x, Expr of_image, Expr of_cotangent) {
    Expr line = build_.let((first_ - first_strip_ * nr_) * axes_.back().places + x * nr_);
    build_.prefetch(emit_.buffer_of_arg(y_->arg), next_cotangent_ + of_cotangent + line);
    build_.prefetch(emit_.buffer_of_arg(x_->arg), next_image_ + of_image + line);
  }

  // The first tap of the last axis that sees the image from this place, and the one behind the last.
  std::pair<int64_t, int64_t> taps_at(int64_t place) const {
    const size_t s = last();
    auto sees = [&](int64_t tap) {
      const int64_t under = place * d_.rhs_dilation[s] + tap * d_.strides[s] - d_.low[s];
      return under >= 0 && under < axes_[s].image;
    };
    int64_t first = 0;
    while (first < axes_[s].taps && !sees(first)) ++first;
    int64_t end = first;
    while (end < axes_[s].taps && sees(end)) ++end;
    return {first, end};
  }
  // A row of places and one of the image; `sums`: where those of the row's taps are kept.
  void row(Expr cotangent, Expr image, Expr sums) {
    const int64_t places = axes_.back().places;
    for (int64_t begin = 0, end = 0; begin < places; begin = end) {
      const auto [from, to] = taps_at(begin);
      for (end = begin; end < places && taps_at(end) == std::pair(from, to);) ++end;
      if (from < to) stretch(begin, end, from, to, cotangent, image, sums);
    }
  }
  void stretch(int64_t begin, int64_t end, int64_t from, int64_t to, Expr cotangent, Expr image, Expr sums) {
    const size_t s = last();
    const auto count = static_cast<size_t>(to - from);
    emit_.vector(build_.index(0), width_, static_cast<int>(nr_), [&](Expr j) {
      RegisterTile tile(build_, type_, to - from, nr_);
      auto kept = [&](size_t i) { return sums + build_.index((from + static_cast<int64_t>(i)) * nr_) + j; };
      tile.load([&](size_t i, size_t) { return build_.load(sums_, kept(i)); });
      emit_.serial(build_.index(begin), build_.index(end), [&](Expr x) {
        Expr place = build_.let(cotangent + x * cotangent_step(s));
        Expr under = build_.let(image + under_tap(s, x, build_.index(from)) * image_step(s));
        emit_.serial(build_.index(0), emit_.size(examples_), [&](Expr n) {
          Expr of_cotangent = n * emit_.size(y_->strides[at(d_.rhs_in)]),
               of_image = n * emit_.size(x_->strides[at(d_.lhs_feature)]);
          if (asks_ahead()) ask_for_next_row(x, of_image, of_cotangent);
          Expr factor =
              build_.let(widen(build_.load(emit_.buffer_of_arg(y_->arg), place + of_cotangent + j)));
          for (size_t t = 0; t < count; ++t) {
            const Dim apart = x_->strides[at(d_.lhs_space[s])] * Dim(static_cast<int64_t>(t) * d_.strides[s]);
            Expr element =
                build_.load(emit_.buffer_of_arg(x_->arg), under + of_image + emit_.size(apart) + j);
            tile.add(t, widen(element), factor);
          }
        });
      });
      for (size_t i = 0; i < count; ++i) build_.store(sums_, kept(i), tile.value(i));
    });
  }

  void store() {
    emit_.serial(build_.index(0), build_.index(taps_), [&](Expr tap) {
      GroupEmitter::Index index(node_->result()->type().dims.size(), build_.index(0));
      const GroupEmitter::Index place = emit_.split(tap, space_);
      for (size_t s = 0; s < place.size(); ++s) index[at(d_.out_space[s])] = place[s];
      emit_.vector(build_.index(0), width_, static_cast<int>(nr_), [&](Expr j) {
        index[at(d_.out_feature)] = first_ + j;
        store_sum(emit_, node_->result(), index, build_.let(build_.load(sums_, of_strip_ + tap * nr_ + j)));
      });
    });
  }

  GroupEmitter& emit_;
  Kernel& kernel_;
  loop::Builder& build_;
  const Node* node_;
  ops::ConvDims d_;
  std::optional<ops::StridedView> x_, y_;
  DType type_ = DType::F32;
  bool supported_ = false;
  std::vector<Axis> axes_;
  Dims space_;  // taps along each axis
  Dim examples_ = int64_t{0};
  int64_t features_ = 0, taps_ = 1;
  int64_t nr_ = 0, strips_ = 0, part_ = 0;  // features of a strip; strips, and those of a block
  uint32_t sums_ = 0;                       // [strip][tap][nr]
  Expr first_strip_, last_strip_, first_, of_strip_, width_, next_image_, next_cotangent_;
};

}  // namespace

bool lower_depthwise_gradient(GroupEmitter& emit, Kernel& kernel, const Node* node) {
  DepthwiseGradient lowering(emit, kernel, node);
  if (lowering.supported()) lowering.run();
  return lowering.supported();
}

}  // namespace ig::codegen
