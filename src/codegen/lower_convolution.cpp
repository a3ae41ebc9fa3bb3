// Convolutions, without an image of windows. A kernel's vectors are output features: a tile of mr places x nr
// features has its running sums in registers, and for each tap and input feature takes one element of the
// image a place, times a vector of the kernel, which lies packed as [strip of features][tap][input
// feature][nr]. Where each feature is a group of its own (depthwise), the image's features are vectors too;
// so are its images where each of them is a group (the gradient of a depthwise convolution by its weights),
// and so are groups of a few features, taken together (in_narrow_groups). Such kernels go along rows
// (choose_row_tiles).
//
//   block (group, some strips of features, some chunks of places)
//     pack the strips' weights                  (unless they came packed)
//     for each chunk: some rows of an image, or some whole images
//       pack the image's rows that it reads, input features side by side   (unless they lie so)
//       for each strip, for each part of the chunk (window_axis.h), for each mr of its places:
//         for each tap that the part sees, for each input feature: mr x nr fma
//         the sums, with the work fused behind, are stored
//
// All places of a part see the same taps, so a tap on padding costs neither a question nor a product, and
// none is multiplied with a gap of the image. With the input features side by side a row of taps is one run
// through memory, in the image as in the kernel.
//
// Sums wait in scratch where the features are not the result's fastest axis (they are turned over there), and
// where the tiles run for one step of the first axis' taps at a time: where the weights of a strip are more
// than the first cache holds, and where tiles are filled better so. For of one such step all rows that see it
// are one part, while else each row at an end of the image is a part of its own, and has few places.
//
// Most of 3 x 3 taps have kernels of their own: lower_winograd.cpp, lower_winograd_gradient.cpp.
//
// Order of summation: as the op states it: one fma chain over the taps, the first spatial axis slowest, then
// the input features of the group, from +0.
#include <algorithm>
#include <numeric>

#include "codegen/conv_lowering.h"
#include "ops/attrs.h"

namespace ig::codegen {
namespace {

constexpr int64_t kPlaces = 224;  // places of a chunk, at least, where there are as many
constexpr int64_t kSecondCache = 256 * 1024, kImagePart = 96 * 1024;  // bytes
constexpr int64_t kEnoughBlocks = 8;                                  // for threads to share
constexpr int64_t kLeastPlaces = 48;  // of a chunk, where there are few chunks
constexpr int64_t kUsualInputs = 64;  // where their number is a symbol

}  // namespace

ConvLowering::ConvLowering(GroupEmitter& emit, Kernel& kernel, const Node* node,
                           const std::vector<bool>& constant_operands)
    : emit_(emit),
      kernel_(kernel),
      build_(emit.build),
      node_(node),
      d_(node->attrs()),
      x_(ops::strided_view(node->operand(0))),
      w_(ops::strided_view(node->operand(1))) {
  const Dims &image = node->operand(0)->type().dims, &weights = node->operand(1)->type().dims;
  DType result = node->result()->type().dtype;
  type_ = is_float(result) ? ops::accumulating_type(result, node->attrs().get(ops::kAccumulate)) : result;
  // How many input features there are may be a symbol: in gradients by weights they are the examples.
  Dims fixed = weights;
  fixed[at(d_.rhs_in)] = kOne;
  supported_ =
      x_ && w_ && d_.spatial > 0 && (d_.batch_groups == 1 || d_.feature_groups == 1) && constant_dims(fixed);
  if (!supported_) return;
  batch_ = node->result()->type().dims[at(d_.out_batch)];
  for (size_t s = 0; s < at(d_.spatial); ++s) {
    WindowAxis axis;
    axis.taps = weights[at(d_.rhs_space[s])].constant();
    axis.stride = d_.strides[s], axis.dilation = d_.rhs_dilation[s], axis.gaps = d_.lhs_dilation[s];
    axis.low = d_.low[s];
    axis.padded = d_.low[s] > 0 || d_.high[s] > 0;
    axis.image = image[at(d_.lhs_space[s])];
    axis.places = node->result()->type().dims[at(d_.out_space[s])];
    space_.push_back(axis.places);
    taps_ *= axis.taps;
    axes_.push_back(axis);
  }
  inputs_ = weights[at(d_.rhs_in)];
  usual_inputs_ = inputs_.is_constant() ? inputs_.constant() : kUsualInputs;
  groups_ = d_.feature_groups * d_.batch_groups;
  group_features_ = weights[at(d_.rhs_out)].constant() / groups_;
  image_features_ = across_ = inputs_;
  across_axis_ = d_.lhs_feature;
  const int64_t lanes = emit.target.vector_bytes / static_cast<int64_t>(size_of(type_));
  const bool alone = groups_ > 1 && group_features_ == 1 && (d_.batch_groups > 1 ? batch_ : inputs_) == kOne;
  if (alone || in_narrow_groups(lanes)) {
    depthwise_ = true;
    if (d_.batch_groups > 1) across_axis_ = d_.lhs_batch;
    repeats_ = group_features_;
    group_features_ *= groups_;
    across_ = Dim(group_features_);
    image_features_ = across_ * inputs_;
    groups_ = 1;
  }
  supported_ = group_features_ > 0 && usual_inputs_ > 0 && taps_ > 0;
  nr_ = group_features_ <= lanes ? lanes : 2 * lanes;
  mr_ = emit.target.registers == 32 ? 12 : (nr_ == lanes ? 8 : 6);
  group_strips_ = (group_features_ + nr_ - 1) / nr_;
  prepacked_ = supported_ && inputs_.is_constant() && constant_operands[w_->arg->index()] &&
               w_->arg->uses().size() == 1;
  packs_image_ = repeats_ > 1 || (stride_of(across_axis_) != kOne && (depthwise_ || image_features_ != kOne));
  turned_ = d_.out_feature + 1 != static_cast<int64_t>(node->result()->type().dims.size());
  images_lie_ = turned_ && !depthwise_ && inputs_ == kOne && stride_of(d_.lhs_batch) == kOne &&
                batch_.is_constant() && batch_.constant() >= mr_;
  packs_image_ = packs_image_ && !images_lie_;
  const int64_t strip_bytes = taps_ * usual_inputs_ * nr_ * static_cast<int64_t>(size_of(type_));
  by_rows_ = axes_.size() > 1 && axes_[0].taps > 1 && strip_bytes > kSecondCache / 2;
  // What the kernel gives may be its finished values, turned over.
  const Node* last = emit.region.results()[0]->node();
  if (last && last->attrs().find(ops::kPermutation.name) && last->operand(0)->node())
    finished_ = last->operand(0);
}

// Groups of so few features fill no vector. Their features are taken together, as if each were a group of its
// own with some input features: those of its group, which are packed once for each feature of that.
bool ConvLowering::in_narrow_groups(int64_t lanes) const {
  return d_.feature_groups > 1 && inputs_.is_constant() && group_features_ > 1 && group_features_ < lanes &&
         lanes % group_features_ == 0 && taps_ > 1;
}

void ConvLowering::run() {
  choose_chunks();
  choose_row_tiles();
  by_rows_ =
      row_tiles_.empty() && (by_rows_ || (!images_lie_ && fills_by_steps(axes_, rows_, images_, usual_inputs_,
                                                                         {mr_, low_tile(mr_, vectors())})));
  waits_ = turned_ || by_rows_;
  choose_blocks();
  const int64_t part_bytes =
      part_strips_ * taps_ * usual_inputs_ * nr_ * static_cast<int64_t>(size_of(type_));
  strips_inside_ = !waits_ && !finished_ && part_bytes <= kSecondCache * 3 / 4 &&
                   (row_tiles_.empty() || !depthwise_ || !first_cache_keeps_rows());
  // The processor foresees what all strips read of a tile, side by side, but not one strip's lines.
  const Dim image_bytes =
      product(node_->operand(0)->type().dims) * Dim(static_cast<int64_t>(size_of(x_->arg->type().dtype)));
  const bool gaps = std::ranges::any_of(axes_, [](const WindowAxis& axis) { return axis.gaps > 1; });
  asks_ahead_ = depthwise_ && !row_tiles_.empty() && !gaps && !packs_image_ && !strips_inside_ &&
                !(image_bytes.is_constant() && image_bytes.constant() <= kSecondCache);
  if (prepacked_)
    emit_packing();
  else
    packed_w_ = build_.add_scratch(type_, Dim(part_strips_) * strip_elements(), "w");
  const Dim chunk_places = Dim(images_) * rows_ * product(inner_space());
  const Dim kept = ceildiv(chunk_places, Dim(mr_)) * Dim(mr_);
  if (waits_) sums_ = build_.add_scratch(type_, kept * Dim(nr_), "sums");
  if (turned_) {
    kept_ = emit_.size(kept);
    turned_sums_ = build_.add_scratch(type_, kept * Dim(nr_), "turned");
  }
  if (finished_) finished_values_ = build_.add_scratch(finished_->type().dtype, kept * Dim(nr_), "finished");
  if (packs_image_)
    packed_image_ = build_.add_scratch(x_->arg->type().dtype, Dim(images_) * slab_elements(), "image");

  if (row_tiles_.empty() && !images_lie_)
    places_ = TilePlaces(build_, mr_, axes_.size(), keeps_sums() ? nr_ : 0, !waits_);

  Expr rest = build_.block(), chunk_blocks = emit_.size(chunk_blocks_);
  Expr chunk_block = build_.let(rest % chunk_blocks);
  rest = rest / chunk_blocks;
  Expr part = build_.let(rest % build_.index(parts()));
  group_ = build_.let(rest / build_.index(parts()));
  first_strip_ = build_.let(part * part_strips_);
  last_strip_ =
      build_.let(loop::lesser(first_strip_ + build_.index(part_strips_), build_.index(group_strips_)));
  if (!prepacked_)
    each_strip([&] {
      strips().pack({build_, emit_.size, emit_.buffer_of_arg(w_->arg), packed_w_},
                    build_.let((strip_ - first_strip_) * emit_.size(strip_elements())), first_feature_,
                    width_, type_);
    });
  Expr row_chunks = emit_.size(ceildiv(space_[0], rows_)), per_block = emit_.size(chunks_a_block_);
  Expr chunk_count = emit_.size(chunk_count_);
  Expr first_chunk = build_.let(chunk_block * per_block);
  emit_.serial(first_chunk, loop::lesser(first_chunk + per_block, chunk_count), [&](Expr chunk) {
    begin_chunk(chunk, row_chunks);
    if (strips_inside_) return row_tiles_.empty() ? sum_parts({}) : sum_rows();
    each_strip([&] {
      if (!row_tiles_.empty()) return sum_rows();
      if (by_rows_) {
        emit_.vector(build_.index(0), emit_.size(kept * Dim(nr_)), static_cast<int>(nr_),
                     [&](Expr i) { build_.store(sums_, i, zero_of(build_, type_)); });
        emit_.serial(build_.index(0), build_.index(axes_[0].taps), [&](Expr tap) { sum_parts(tap); });
      } else
        sum_parts({});
      if (waits_) store_chunk();
      if (finished_) turn_finished();
    });
  });
}

void ConvLowering::each_strip(const std::function<void()>& body) {
  emit_.serial(first_strip_, last_strip_, [&](Expr number) {
    strip_ = number;
    Expr in_group = build_.let(number * nr_);
    first_feature_ = build_.let(group_ * build_.index(group_features_) + in_group);
    width_ = width_of(build_, in_group);
    body();
  });
}

void ConvLowering::choose_chunks() {
  const Dim inner = product(inner_space());
  rows_ = max(min(floordiv(Dim(kPlaces), max(inner, kOne)), space_[0]), kOne);
  images_ = 1;
  const Dim places = product(space_);
  if (!places.is_constant() || !image_row().is_constant() || !axes_[0].image.is_constant()) return;
  // Rows that two chunks reach are packed twice: more rows a chunk, while they stay in the second cache.
  if (packs_image_ && batch_.is_constant() && image_features_.is_constant()) {
    const auto bytes = static_cast<int64_t>(size_of(x_->arg->type().dtype));
    auto chunks = [&](const Dim& rows) { return (batch_ * ceildiv(space_[0], rows)).constant(); };
    for (Dim more = rows_ * 2;
         more.constant() <= space_[0].constant() && chunks(more) >= kEnoughBlocks &&
         (slab_rows(more) * image_row() * image_features_ * Dim(bytes)).constant() <= kImagePart;
         more = more * 2)
      rows_ = more;
  }
  // Few chunks: fewer rows each, for threads to share, where packing them stays a small part of the work.
  if (batch_.is_constant())
    while (rows_.constant() * inner.constant() > kLeastPlaces && rows_.constant() > 1 &&
           (batch_ * ceildiv(space_[0], rows_)).constant() < kEnoughBlocks) {
      Dim fewer = ceildiv(rows_, Dim(int64_t{2}));
      if (packs_image_ && slab_rows(fewer).constant() * 3 > 4 * fewer.constant() * axes_[0].stride) break;
      rows_ = fewer;
    }
  if (rows_ == space_[0]) images_ = std::max<int64_t>(1, kPlaces / std::max<int64_t>(1, places.constant()));
  if (batch_.is_constant() && batch_.constant() > 0)  // as many in each chunk
    images_ = ceildiv(batch_, ceildiv(batch_, Dim(images_))).constant();
}

void ConvLowering::choose_row_tiles() {
  constexpr int64_t kMostProducts = 640;  // of vectors, in the code
  constexpr int64_t kLongest = 1 << 16;   // places times taps: the plan asks each of them
  if (turned_ || finished_ || !inputs_.is_constant() || axes_.size() < 2) return;
  const WindowAxis& last = axes_.back();
  if (!constant_dims(Dims{last.image, last.places})) return;
  if (last.places.constant() > kLongest / last.taps) return;
  std::vector<RowTiles> tiles = last.row_tiles(mr_);
  int64_t products = 0;
  for (const RowTiles& tile : tiles)
    for (const std::vector<int64_t>& seen : tile.taps)
      products += static_cast<int64_t>(seen.size()) * usual_inputs_ * vectors();
  if (products <= kMostProducts) row_tiles_ = std::move(tiles);
}

bool ConvLowering::first_cache_keeps_rows() const {
  constexpr int64_t kSets = 64, kWays = 8;
  const Dim apart = image_step(axes_.size() - 1) * Dim(static_cast<int64_t>(size_of(x_->arg->type().dtype)));
  int64_t places = axes_.back().image.constant() * usual_inputs_;
  for (size_t s = 0; s + 1 < axes_.size(); ++s) places *= axes_[s].taps;
  return apart.is_constant() &&
         places <= kSets * kWays / std::gcd((apart.constant() + kLineBytes - 1) / kLineBytes, kSets);
}

void ConvLowering::choose_blocks() {
  chunk_count_ = ceildiv(batch_, Dim(images_)) * ceildiv(space_[0], rows_);
  chunks_a_block_ = kOne;
  part_strips_ = group_strips_;
  if (prepacked_) {
    // Each part of the strips packs the image anew, which should be a small part of its products.
    constexpr int64_t kProducts = 128;  // for each element that is packed
    auto worth = [&](int64_t strips) {
      return !packs_image_ || depthwise_ || strips * nr_ * taps_ >= kProducts;
    };
    if (chunk_count_.is_constant())
      while (part_strips_ > 1 && chunk_count_.constant() * groups_ * parts() < kEnoughBlocks &&
             worth((part_strips_ + 1) / 2))
        part_strips_ = (part_strips_ + 1) / 2;
    keep_in_cache();
  } else {
    constexpr int64_t kUnknown = int64_t{1} << 20, kMost = int64_t{1} << 18;
    const Dim image = product(node_->operand(0)->type().dims);
    const int64_t image_elements = packs_image_ ? (image.is_constant() ? image.constant() : kUnknown) : 0;
    const int64_t weights = taps_ * usual_inputs_ * group_features_ * groups_;
    auto splits = [&](int64_t count) { return std::max<int64_t>(1, kEnoughBlocks / (count * groups_)); };
    int64_t best = 0;
    for (int64_t size = group_strips_; size >= 1; size = size == 1 ? 0 : (size + 1) / 2) {
      const int64_t count = (group_strips_ + size - 1) / size;
      if (size > 1 && size * taps_ * usual_inputs_ * nr_ > kMost) continue;
      const int64_t cost = weights * splits(count) + image_elements * (depthwise_ ? 1 : count);
      if (best != 0 && cost >= best) continue;
      best = cost, part_strips_ = size;
    }
    keep_in_cache();
    chunks_a_block_ = max(ceildiv(chunk_count_, Dim(splits(parts()))), kOne);
  }
  chunk_blocks_ = ceildiv(chunk_count_, chunks_a_block_);
  kernel_.blocks = Dim(groups_ * parts()) * chunk_blocks_;
  int64_t work = kPlaces * nr_ * taps_ * usual_inputs_ * part_strips_;
  set_grain(kernel_, emit_.target, type_, work);
  if (!prepacked_) kernel_.grain = 1;
}

void ConvLowering::keep_in_cache() {
  if (!depthwise_ || !packs_image_) return;
  constexpr int64_t kUnknown = 1024;  // places
  const Dim slab = slab_rows(rows_) * image_row();
  const int64_t places = images_ * (slab.is_constant() ? slab.constant() : kUnknown);
  const int64_t strip = (places + taps_) * usual_inputs_ * nr_ * static_cast<int64_t>(size_of(type_));
  while (part_strips_ > 1 && part_strips_ * strip > kSecondCache) part_strips_ = (part_strips_ + 1) / 2;
}

void ConvLowering::begin_chunk(Expr chunk, Expr row_chunks) {
  Expr images = build_.index(images_);
  first_image_ = build_.let((chunk / row_chunks) * images);
  image_count_ = build_.let(loop::lesser(images, emit_.size(batch_) - first_image_));
  first_row_ = build_.let((chunk % row_chunks) * emit_.size(rows_));
  end_row_ = build_.let(loop::lesser(first_row_ + emit_.size(rows_), emit_.size(space_[0])));
  Expr of_group = d_.batch_groups > 1 ? emit_.size(batch_) * stride(d_.lhs_batch)
                                      : emit_.size(image_features_) * stride(d_.lhs_feature);
  image_ = build_.let(emit_.size(x_->offset) + first_image_ * stride(d_.lhs_batch) + group_ * of_group);
  if (packs_image_) pack_image();
}

bool lower_convolution(GroupEmitter& emit, Kernel& kernel, const Node* node,
                       const std::vector<bool>& constant_operands) {
  ConvLowering lowering(emit, kernel, node, constant_operands);
  if (lowering.supported()) lowering.run();
  return lowering.supported();
}

}  // namespace ig::codegen
