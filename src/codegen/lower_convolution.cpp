// Convolutions, without an image of windows. A kernel's vectors are output features: a tile of mr places x nr
// features has its running sums in registers, and for each tap and input feature takes one element of the
// image a place, times a vector of the kernel, which lies packed as [strip of features][tap][input
// feature][nr].
//
//   block (batch, strip of features, places)
//     for each chunk of places
//       for each mr places: for each tap: for each input feature: mr x nr fma
//       the sums, turned over where features are not the fastest axis, with the work fused behind, are stored
//
// A tap that falls on padding is left out, place by place; where all mr places lie inside, one branch says
// so.
//
// Order of summation: as the op states it: one fma chain over the taps, the first spatial axis slowest, then
// the input features of the group, from +0.
#include <algorithm>

#include "codegen/dot_operands.h"
#include "ops/contraction.h"

namespace ig::codegen {
namespace {

using loop::Expr;
constexpr int64_t kChunk = 96;  // places whose sums are kept until they are stored

class ConvLowering {
 public:
  ConvLowering(GroupEmitter& emit, Kernel& kernel, const Node* node,
               const std::vector<bool>& constant_operands)
      : emit_(emit),
        kernel_(kernel),
        build_(emit.build),
        node_(node),
        d_(node->attrs()),
        x_(strided_view(node->operand(0))),
        w_(strided_view(node->operand(1))) {
    const Dims &image = node->operand(0)->type().dims, &weights = node->operand(1)->type().dims;
    DType result = node->result()->type().dtype;
    type_ = is_float(result) ? ops::accumulating_type(result, node->attrs().get(ops::kAccumulate)) : result;
    supported_ = x_ && w_ && d_.spatial > 0 && d_.batch_groups == 1 && constant_dims(weights);
    for (int64_t step : d_.lhs_dilation) supported_ = supported_ && step == 1;
    if (!supported_) return;
    for (int64_t axis : d_.lhs_space) image_space_.push_back(image[static_cast<size_t>(axis)]);
    for (int64_t axis : d_.out_space)
      space_.push_back(node->result()->type().dims[static_cast<size_t>(axis)]);
    for (int64_t axis : d_.rhs_space) tap_counts_.push_back(weights[static_cast<size_t>(axis)].constant());
    inputs_ = weights[static_cast<size_t>(d_.rhs_in)].constant();
    group_features_ = weights[static_cast<size_t>(d_.rhs_out)].constant() / d_.feature_groups;
    for (int64_t n : tap_counts_) taps_ *= n;
    constexpr int64_t kFewFeatures = 4;  // fewer would leave most lanes empty
    supported_ = group_features_ >= kFewFeatures && inputs_ > 0 && taps_ > 0;
    int64_t lanes = emit.target.vector_bytes / static_cast<int64_t>(size_of(type_));
    nr_ = group_features_ <= lanes ? lanes : 2 * lanes;
    mr_ = emit.target.registers == 32 ? 12 : (nr_ == lanes ? 8 : 6);
    group_strips_ = (group_features_ + nr_ - 1) / nr_;
    strips_ = group_strips_ * d_.feature_groups;
    prepacked_ = supported_ && constant_operands[w_->arg->index()] && w_->arg->uses().size() == 1;
  }
  bool supported() const { return supported_; }

  void run() {
    const Dim places = product(space_);
    const Dim batch = node_->result()->type().dims[static_cast<size_t>(d_.out_batch)];
    // Weights that are not known beforehand are packed by the block that uses them: then a block has all
    // places.
    const Dim chunks = ceildiv(places, Dim(kChunk)), parts = prepacked_ ? chunks : Dim(int64_t{1});
    kernel_.blocks = batch * parts * Dim(strips_);
    kernel_.grain = prepacked_ ? std::max<int64_t>(1, 150'000 / (kChunk * nr_ * taps_ * inputs_)) : 1;
    if (prepacked_)
      emit_packing();
    else
      scratch_w_ = build_.add_scratch(type_, Dim(taps_ * inputs_ * nr_), "w");
    rows_ = (kChunk + mr_ - 1) / mr_ * mr_;
    sums_ = build_.add_scratch(type_, Dim(rows_ * nr_), "sums");
    turned_ = d_.out_feature + 1 != static_cast<int64_t>(node_->result()->type().dims.size());
    if (turned_) turned_sums_ = build_.add_scratch(type_, Dim(nr_ * rows_), "turned");

    Expr block = build_.block(), strips = build_.index(strips_), part_count = emit_.size(parts);
    strip_ = build_.let(block % strips);
    Expr rest = block / strips;
    batch_ = build_.let(rest / part_count);
    Expr group = build_.let(strip_ / build_.index(group_strips_));
    Expr in_group = build_.let((strip_ % build_.index(group_strips_)) * nr_);
    first_feature_ = build_.let(group * group_features_ + in_group);
    width_ = build_.let(loop::lesser(build_.index(nr_), build_.index(group_features_) - in_group));
    image_ = build_.let(
        emit_.size(x_->offset) + batch_ * emit_.size(x_->strides[static_cast<size_t>(d_.lhs_batch)]) +
        group * build_.index(inputs_) * emit_.size(x_->strides[static_cast<size_t>(d_.lhs_feature)]));
    if (!prepacked_) pack_here();
    auto chunk = [&](Expr c) {
      Expr from = build_.let(c * kChunk);
      Expr count = build_.let(loop::lesser(build_.index(kChunk), emit_.size(places) - from));
      Expr tiles = (count + build_.index(mr_ - 1)) / build_.index(mr_);
      emit_.serial(build_.index(0), tiles,
                   [&](Expr t) { tile(from, build_.let(t * mr_), emit_.size(places)); });
      store(from, count);
    };
    if (prepacked_) return chunk(rest % part_count);
    emit_.serial(build_.index(0), emit_.size(chunks), chunk);
  }

 private:
  Expr widen(Expr value) const { return value.type() == type_ ? value : loop::convert(value, type_); }
  Expr zero() { return is_float(type_) ? build_.constant(type_, 0) : build_.constant_int(type_, 0); }

  // The offset of a tap in the kernel, by its number.
  Expr tap_offset(Expr tap, loop::Builder& build, const ops::SizeFn& size) const {
    Dims counts;
    for (int64_t n : tap_counts_) counts.push_back(n);
    std::vector<Expr> index = ops::split_index(tap, counts, size, build);
    Expr out = size(w_->offset);
    for (size_t s = 0; s < index.size(); ++s)
      out = out + index[s] * size(w_->strides[static_cast<size_t>(d_.rhs_space[s])]);
    return out;
  }
  void pack(loop::Builder& build, const ops::SizeFn& size, uint32_t from, uint32_t to, Expr target,
            Expr first, Expr width, bool widened) {
    DType stored = w_->arg->type().dtype, packed = widened ? type_ : stored;
    Expr none = is_float(packed) ? loop::convert(build.constant(DType::F32, 0), packed)
                                 : build.constant_int(packed, 0);
    build.serial_for(build.index(0), build.index(taps_), [&](Expr tap) {
      Expr base = build.let(tap_offset(tap, build, size) +
                            first * size(w_->strides[static_cast<size_t>(d_.rhs_out)]));
      build.serial_for(build.index(0), build.index(inputs_), [&](Expr i) {
        Expr row = build.let(base + i * size(w_->strides[static_cast<size_t>(d_.rhs_in)]));
        Expr at = build.let(target + (tap * inputs_ + i) * nr_);
        build.vector_for(build.index(0), build.index(nr_), static_cast<int>(nr_), [&](Expr j) {
          Expr lane = loop::lesser(j, width - build.index(1));
          Expr value = build.load(from, row + lane * size(w_->strides[static_cast<size_t>(d_.rhs_out)]));
          if (widened) value = widen(value);
          build.store(to, at + j, loop::select(j < width, value, none));
        });
      });
    });
  }
  void emit_packing() {
    loop::Builder build("pack");
    DType stored = w_->arg->type().dtype;
    uint32_t from = build.add_buffer(stored, false, "in0"), to = build.add_buffer(stored, true, "out0");
    ops::SizeFn size = [&](const Dim& d) { return build.size(d); };
    Expr in_group = build.let((build.block() % build.index(group_strips_)) * nr_);
    Expr first = build.let((build.block() / build.index(group_strips_)) * group_features_ + in_group);
    Expr width = build.let(loop::lesser(build.index(nr_), build.index(group_features_) - in_group));
    pack(build, size, from, to, build.let(build.block() * (taps_ * inputs_ * nr_)), first, width, false);
    Kernel::Packing packing;
    packing.operand = static_cast<int>(w_->arg->index());
    packing.blocks = strips_;
    packing.elements = strips_ * taps_ * inputs_ * nr_;
    packing.pack = build.finish();
    kernel_.packings.push_back(std::move(packing));
  }
  void pack_here() {
    pack(build_, emit_.size, emit_.buffer_of_arg(w_->arg), scratch_w_, build_.index(0), first_feature_,
         width_, true);
  }
  Expr load_w(Expr tap, Expr input, Expr j) {
    if (!prepacked_) return build_.load(scratch_w_, (tap * inputs_ + input) * nr_ + j);
    Expr at = strip_ * (taps_ * inputs_ * nr_) + (tap * inputs_ + input) * nr_ + j;
    return widen(build_.load(emit_.buffer_of_arg(w_->arg), at));
  }

  // The sums of the places from + first …, mr of them; those behind the last repeat it.
  void tile(Expr from, Expr first, Expr places) {
    const auto mr = static_cast<size_t>(mr_);
    const size_t axes = space_.size();
    std::vector<uint32_t> sums;
    std::vector<std::vector<Expr>> corner(mr);  // of each place's window, in the image
    for (size_t i = 0; i < mr; ++i) {
      sums.push_back(build_.local(type_, static_cast<int>(nr_), 1, "sum"));
      Expr place =
          loop::lesser(from + first + build_.index(static_cast<int64_t>(i)), places - build_.index(1));
      std::vector<Expr> at = emit_.split(build_.let(place), space_);
      for (size_t s = 0; s < axes; ++s)
        corner[i].push_back(build_.let(at[s] * d_.strides[s] - build_.index(d_.low[s])));
    }
    bool padded = false;
    for (size_t s = 0; s < axes; ++s) padded = padded || d_.low[s] > 0 || d_.high[s] > 0;
    Expr feature_stride = emit_.size(x_->strides[static_cast<size_t>(d_.lhs_feature)]);

    emit_.vector(build_.index(0), build_.index(nr_), static_cast<int>(nr_), [&](Expr j) {
      for (uint32_t sum : sums) build_.assign(sum, zero());
      auto add = [&](size_t i, Expr offset, Expr input, Expr w) {
        Expr a = widen(build_.load(emit_.buffer_of_arg(x_->arg), offset + input * feature_stride));
        Expr sum = build_.read(sums[i]);
        build_.assign(sums[i], is_float(type_) ? loop::fma(a, w, sum) : sum + a * w);
      };
      emit_.serial(build_.index(0), build_.index(taps_), [&](Expr tap) {
        Dims counts;
        for (int64_t n : tap_counts_) counts.push_back(n);
        std::vector<Expr> tap_at = emit_.split(tap, counts);
        std::vector<Expr> offsets, inside;
        for (size_t i = 0; i < mr; ++i) {
          Expr offset = image_, valid;
          for (size_t s = 0; s < axes; ++s) {
            Expr at = build_.let(corner[i][s] + tap_at[s] * d_.rhs_dilation[s]);
            offset = offset + at * emit_.size(x_->strides[static_cast<size_t>(d_.lhs_space[s])]);
            if (!padded) continue;
            Expr here = (at >= build_.index(0)) & (at < emit_.size(image_space_[s]));
            valid = valid ? valid & here : here;
          }
          offsets.push_back(build_.let(offset));
          if (padded) inside.push_back(build_.let(valid));
        }
        auto together = [&] {
          emit_.serial(build_.index(0), build_.index(inputs_), [&](Expr input) {
            Expr w = build_.let(load_w(tap, input, j));
            for (size_t i = 0; i < mr; ++i) add(i, offsets[i], input, w);
          });
        };
        if (!padded) return together();
        Expr all = inside[0];
        for (size_t i = 1; i < mr; ++i) all = all & inside[i];
        build_.if_then(all, together, [&] {
          emit_.serial(build_.index(0), build_.index(inputs_), [&](Expr input) {
            Expr w = build_.let(load_w(tap, input, j));
            for (size_t i = 0; i < mr; ++i)
              build_.if_then(inside[i], [&] { emit_.scoped([&] { add(i, offsets[i], input, w); }); });
          });
        });
      });
      for (size_t i = 0; i < mr; ++i)
        build_.store(sums_, (first + build_.index(static_cast<int64_t>(i))) * nr_ + j, build_.read(sums[i]));
    });
  }

  void store(Expr from, Expr count) {
    if (!turned_)
      return emit_.serial(build_.index(0), count, [&](Expr p) {
        emit_.vector(build_.index(0), width_, static_cast<int>(nr_), [&](Expr j) {
          store_one(from + p, first_feature_ + j, build_.let(build_.load(sums_, p * nr_ + j)));
        });
      });
    build_.transpose({turned_sums_, build_.index(0), build_.index(rows_)},
                     {sums_, build_.index(0), build_.index(nr_)}, count, build_.index(nr_));
    int lanes = natural_lanes(emit_.target, widest_element(emit_.region));
    emit_.serial(build_.index(0), width_, [&](Expr f) {
      emit_.vector(build_.index(0), count, lanes, [&](Expr p) {
        store_one(from + p, first_feature_ + f, build_.let(build_.load(turned_sums_, f * rows_ + p)));
      });
    });
  }

  void store_one(Expr place, Expr feature, Expr sum) {
    Value result = node_->result();
    DType dtype = result->type().dtype;
    sum = emit_.round_to(sum, dtype);
    if (sum.type() != compute_type(dtype)) sum = loop::convert(sum, compute_type(dtype));
    emit_.pin(result, [sum](std::span<const Expr>) { return sum; });
    GroupEmitter::Index index(result->type().dims.size());
    index[static_cast<size_t>(d_.out_batch)] = batch_;
    index[static_cast<size_t>(d_.out_feature)] = feature;
    GroupEmitter::Index at = emit_.split(place, space_);
    for (size_t s = 0; s < at.size(); ++s) index[static_cast<size_t>(d_.out_space[s])] = at[s];
    Expr flat = emit_.flat(index, result->type().dims);
    std::vector<Expr> values;
    for (Value v : emit_.region.results()) values.push_back(build_.let(emit_.element(v, index)));
    for (size_t r = 0; r < values.size(); ++r) emit_.store_result(r, flat, values[r]);
  }

  GroupEmitter& emit_;
  Kernel& kernel_;
  loop::Builder& build_;
  const Node* node_;
  ops::ConvDims d_;
  std::optional<StridedView> x_, w_;
  DType type_;
  Dims space_, image_space_;
  Ints tap_counts_;
  int64_t inputs_ = 0, group_features_ = 0, taps_ = 1, nr_ = 0, mr_ = 0, group_strips_ = 0, strips_ = 0,
          rows_ = 0;
  bool supported_ = false, prepacked_ = false, turned_ = false;
  uint32_t scratch_w_ = 0, sums_ = 0, turned_sums_ = 0;
  Expr strip_, batch_, first_feature_, width_, image_;
};

}  // namespace

bool lower_convolution(GroupEmitter& emit, Kernel& kernel, const Node* node,
                       const std::vector<bool>& constant_operands) {
  ConvLowering lowering(emit, kernel, node, constant_operands);
  if (lowering.supported()) lowering.run();
  return lowering.supported();
}

}  // namespace ig::codegen
