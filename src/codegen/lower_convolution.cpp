// Convolutions, without an image of windows. A kernel's vectors are output features: a tile of mr places x nr
// features has its running sums in registers, and for each tap and input feature takes one element of the
// image a place, times a vector of the kernel, which lies packed as [strip of features][tap][input
// feature][nr]. Where each feature is a group of its own (depthwise), the image's features are vectors too;
// so are its images where each of them is a group (the gradient of a depthwise convolution by its weights).
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

#include "codegen/convolution_weights.h"
#include "codegen/register_tile.h"
#include "codegen/tile_places.h"
#include "codegen/window_axis.h"
#include "ops/attrs.h"
#include "ops/contraction.h"

namespace ig::codegen {
namespace {

using loop::Expr;
constexpr int64_t kPlaces = 224;  // places of a chunk, at least, where there are as many
constexpr int64_t kSecondCache = 256 * 1024, kImagePart = 96 * 1024;  // bytes
constexpr int64_t kEnoughBlocks = 8;                                  // for threads to share
constexpr int64_t kLeastPlaces = 48;  // of a chunk, where there are few chunks
constexpr int64_t kApart = 16;        // elements
constexpr int64_t kAhead = 3;         // places, of what is packed soon
constexpr int64_t kUsualInputs = 64;  // where their number is a symbol
const Dim kOne = Dim(int64_t{1});

class ConvLowering {
 public:
  ConvLowering(GroupEmitter& emit, Kernel& kernel, const Node* node,
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
    supported_ = x_ && w_ && d_.spatial > 0 && (d_.batch_groups == 1 || d_.feature_groups == 1) &&
                 constant_dims(fixed);
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
    if (groups_ > 1 && group_features_ == 1 && (d_.batch_groups > 1 ? batch_ : inputs_) == kOne) {
      depthwise_ = true;
      if (d_.batch_groups > 1) across_axis_ = d_.lhs_batch;
      group_features_ = groups_;
      across_ = Dim(groups_);
      image_features_ = across_ * inputs_;
      groups_ = 1;
    }
    supported_ = group_features_ > 0 && usual_inputs_ > 0 && taps_ > 0;
    nr_ = group_features_ <= lanes ? lanes : 2 * lanes;
    mr_ = emit.target.registers == 32 ? 12 : (nr_ == lanes ? 8 : 6);
    group_strips_ = (group_features_ + nr_ - 1) / nr_;
    prepacked_ = supported_ && inputs_.is_constant() && constant_operands[w_->arg->index()] &&
                 w_->arg->uses().size() == 1;
    packs_image_ = stride_of(across_axis_) != kOne && (depthwise_ || image_features_ != kOne);
    turned_ = d_.out_feature + 1 != static_cast<int64_t>(node->result()->type().dims.size());
    const int64_t strip_bytes = taps_ * usual_inputs_ * nr_ * static_cast<int64_t>(size_of(type_));
    by_rows_ = axes_.size() > 1 && axes_[0].taps > 1 && strip_bytes > kSecondCache / 2;
    // What the kernel gives may be its finished values, turned over.
    const Node* last = emit.region.results()[0]->node();
    if (last && last->attrs().find(ops::kPermutation.name) && last->operand(0)->node())
      finished_ = last->operand(0);
  }
  bool supported() const { return supported_; }

  void run() {
    choose_chunks();
    choose_row_tiles();
    by_rows_ = row_tiles_.empty() && (by_rows_ || fills_by_steps(axes_, rows_, images_, usual_inputs_,
                                                                 {mr_, low_tile(mr_, vectors())}));
    waits_ = turned_ || by_rows_;
    choose_blocks();
    const int64_t part_bytes =
        part_strips_ * taps_ * usual_inputs_ * nr_ * static_cast<int64_t>(size_of(type_));
    strips_inside_ = !waits_ && !finished_ && part_bytes <= kSecondCache * 3 / 4 &&
                     !(!row_tiles_.empty() && first_cache_keeps_rows());
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
    if (finished_)
      finished_values_ = build_.add_scratch(finished_->type().dtype, kept * Dim(nr_), "finished");
    if (packs_image_)
      packed_image_ = build_.add_scratch(x_->arg->type().dtype, Dim(images_) * slab_elements(), "image");

    if (row_tiles_.empty()) places_ = TilePlaces(build_, mr_, axes_.size(), keeps_sums() ? nr_ : 0, !waits_);

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

 private:
  void each_strip(const std::function<void()>& body) {
    emit_.serial(first_strip_, last_strip_, [&](Expr number) {
      strip_ = number;
      Expr in_group = build_.let(number * nr_);
      first_feature_ = build_.let(group_ * build_.index(group_features_) + in_group);
      width_ = width_of(build_, in_group);
      body();
    });
  }
  // How many features the strip has that begins there.
  Expr width_of(loop::Builder& build, Expr in_group) const {
    if (group_features_ % nr_ == 0) return build.index(nr_);
    return build.let(loop::lesser(build.index(nr_), build.index(group_features_) - in_group));
  }
  static size_t at(int64_t axis) { return static_cast<size_t>(axis); }
  const Dim& stride_of(int64_t axis) const { return x_->strides[at(axis)]; }
  Expr stride(int64_t axis) { return emit_.size(stride_of(axis)); }
  // Of the packed weights.
  Dim strip_elements() const { return Dim(taps_ * nr_) * inputs_; }
  WeightStrips strips() const { return {d_, *w_, node_->operand(1)->type(), nr_}; }
  int64_t vectors() const { return nr_ * static_cast<int64_t>(size_of(type_)) / emit_.target.vector_bytes; }
  int64_t parts() const { return (group_strips_ + part_strips_ - 1) / part_strips_; }
  Dims inner_space() const { return Dims(space_.begin() + 1, space_.end()); }
  Expr widen(Expr value) const { return value.type() == type_ ? value : loop::convert(value, type_); }

  // The image's places for each step along the first axis.
  Dim image_row() const {
    Dim places = kOne;
    for (size_t s = 1; s < axes_.size(); ++s) places = places * axes_[s].image;
    return places;
  }
  // Rows of an image that `rows` rows of places reach, no more than there are.
  Dim slab_rows(const Dim& rows) const {
    const WindowAxis& axis = axes_[0];
    Dim reach = (rows - 1) * Dim(axis.stride) + Dim((axis.taps - 1) * axis.dilation);
    return min(floordiv(reach, Dim(axis.gaps)) + 2, axis.image);
  }
  // Of a depthwise convolution a block packs what its strips see.
  Dim packed_across() const { return depthwise_ ? min(Dim(part_strips_ * nr_), across_) : across_; }
  Dim packed_features() const { return depthwise_ ? packed_across() * inputs_ : image_features_; }
  // Images that are turned over together are written side by side: their slabs begin at different places of
  // the first cache.
  Dim slab_elements() const {
    Dim elements = slab_rows(rows_) * image_row() * packed_features();
    return images_ > 1 ? elements + Dim(kApart) : elements;
  }

  // A chunk: whole rows of places, or whole images where one has few.
  void choose_chunks() {
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

  // A depthwise kernel walks row by row: with the places of a row at known distances nothing asks where each
  // of them lies. No strip reads what another one does, so a strip walks all rows of the chunk before the
  // next one begins, and finds in the first cache what the row before has read, if that holds so many rows.
  void choose_row_tiles() {
    constexpr int64_t kMostProducts = 512;  // of vectors, in the code
    if (!depthwise_ || turned_ || finished_ || inputs_ != kOne || axes_.size() < 2) return;
    const WindowAxis& last = axes_.back();
    if (last.gaps > 1 || !constant_dims(Dims{last.image, last.places})) return;
    std::vector<RowTiles> tiles = last.row_tiles(mr_);
    int64_t products = 0;
    for (const RowTiles& tile : tiles) products += tile.places * last.taps * vectors();
    if (products <= kMostProducts) row_tiles_ = std::move(tiles);
  }
  // Whether the first cache keeps what a strip reads of the rows under one row's windows: a line of each
  // place, which meet in few sets where they lie far apart.
  bool first_cache_keeps_rows() const {
    constexpr int64_t kSets = 64, kWays = 8;
    const Dim apart =
        image_step(axes_.size() - 1) * Dim(static_cast<int64_t>(size_of(x_->arg->type().dtype)));
    int64_t places = axes_.back().image.constant();
    for (size_t s = 0; s + 1 < axes_.size(); ++s) places *= axes_[s].taps;
    return apart.is_constant() &&
           places <= kSets * kWays / std::gcd((apart.constant() + kLineBytes - 1) / kLineBytes, kSets);
  }

  // A block: some strips of some chunks. Weights that came packed are shared by all blocks; else a block
  // packs its own, and the image's rows for each part of the strips.
  void choose_blocks() {
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

  // What a depthwise block packs falls with the number of its strips.
  void keep_in_cache() {
    if (!depthwise_ || !packs_image_) return;
    constexpr int64_t kUnknown = 1024;  // places
    const Dim slab = slab_rows(rows_) * image_row();
    const int64_t places = images_ * (slab.is_constant() ? slab.constant() : kUnknown);
    const int64_t strip = (places + taps_) * usual_inputs_ * nr_ * static_cast<int64_t>(size_of(type_));
    while (part_strips_ > 1 && part_strips_ * strip > kSecondCache) part_strips_ = (part_strips_ + 1) / 2;
  }

  void emit_packing() {
    loop::Builder build("pack");
    DType stored = w_->arg->type().dtype;
    uint32_t from = build.add_buffer(stored, false, "in0"), to = build.add_buffer(stored, true, "out0");
    ops::SizeFn size = [&](const Dim& d) { return build.size(d); };
    Expr in_group = build.let((build.block() % build.index(group_strips_)) * nr_);
    Expr first = build.let((build.block() / build.index(group_strips_)) * group_features_ + in_group);
    Expr width = width_of(build, in_group);
    strips().pack({build, size, from, to}, build.let(build.block() * size(strip_elements())), first, width,
                  stored);
    Kernel::Packing packing;
    packing.operand = static_cast<int>(w_->arg->index());
    packing.blocks = group_strips_ * groups_;
    packing.elements = packing.blocks * strip_elements();
    packing.pack = build.finish();
    kernel_.packings.push_back(std::move(packing));
  }
  // The vector of the kernel for a step of the sum, counted over taps and input features.
  Expr load_w(Expr step, Expr j) {
    Expr strip = emit_.size(strip_elements());
    if (!prepacked_) return build_.load(packed_w_, (strip_ - first_strip_) * strip + step * nr_ + j);
    Expr number = group_ * build_.index(group_strips_) + strip_;
    return widen(build_.load(emit_.buffer_of_arg(w_->arg), number * strip + step * nr_ + j));
  }

  void begin_chunk(Expr chunk, Expr row_chunks) {
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

  // The rows (along the first axis) that the chunk's windows reach, features side by side.
  void pack_image() {
    const uint32_t from = emit_.buffer_of_arg(x_->arg);
    const WindowAxis& axis = axes_[0];
    // The first row reached, or one before it; dividing cuts off, which is down where it matters.
    Expr first = first_row_ * axis.stride - build_.index(axis.low);
    Expr last =
        (end_row_ - build_.index(1)) * axis.stride + build_.index((axis.taps - 1) * axis.dilation - axis.low);
    slab_row_ = build_.let(loop::greater(first, build_.index(0)) / build_.index(axis.gaps));
    Expr end = build_.let(
        loop::lesser(loop::greater(last + build_.index(axis.gaps), build_.index(0)) / build_.index(axis.gaps),
                     emit_.size(axis.image)));
    Dims inner;
    std::vector<int64_t> inner_axes;
    for (size_t s = 1; s < axes_.size(); ++s) {
      inner.push_back(axes_[s].image);
      inner_axes.push_back(d_.lhs_space[s]);
    }
    Expr row_places = emit_.size(image_row()), features = emit_.size(packed_features());
    Expr across = emit_.size(packed_across()), from_first = build_.index(0);
    if (depthwise_ && parts() > 1) {
      Expr begin = first_strip_ * build_.index(nr_);
      across = build_.let(loop::lesser(across, build_.index(group_features_) - begin));
      from_first = build_.let(begin * stride(across_axis_));
    }
    const std::optional<Dim> along = x_->run_stride(inner_axes, node_->operand(0)->type().dims);
    const bool one_run =
        along == kOne && (inner.empty() || stride_of(d_.lhs_space[0]) == image_row() || image_row() == kOne);
    const bool whole = (axes_.size() == 1 ? stride_of(d_.lhs_space[0]) == kOne : one_run);
    Expr slab = build_.let(emit_.size(slab_elements()));
    Expr rows = build_.let(loop::greater(end - slab_row_, build_.index(0)));
    auto place_offset = [&](Expr row, Expr place) {
      Expr offset = image_ + (slab_row_ + row) * stride(d_.lhs_space[0]);
      std::vector<Expr> index = emit_.split(place, inner);
      for (size_t s = 0; s < index.size(); ++s) offset = offset + index[s] * stride(inner_axes[s]);
      return build_.let(offset);
    };
    // Images side by side: each place's features and images are turned over.
    if (stride_of(d_.lhs_batch) == kOne && images_ > 1)
      return emit_.serial(build_.index(0), rows, [&](Expr r) {
        emit_.serial(build_.index(0), row_places, [&](Expr place) {
          Expr source = build_.let(place_offset(r, place) + from_first);
          // Runs this short and this far apart no cache asks for by itself.
          if (!inner.empty()) {
            Expr soon = build_.let(source + build_.index(kAhead) * stride(inner_axes.back()));
            emit_.serial(build_.index(0), across,
                         [&](Expr i) { build_.prefetch(from, soon + i * stride(d_.lhs_feature)); });
          }
          build_.transpose({packed_image_, build_.let((r * row_places + place) * features), slab},
                           {from, source, stride(d_.lhs_feature)}, across, image_count_);
        });
      });
    auto pack_one = [&](Expr number, Expr summed) {
      Expr to = build_.let(number * slab + summed * emit_.size(image_feature_step()));
      Expr of_one = build_.let(number * stride(d_.lhs_batch) + from_first +
                               (depthwise_ ? summed * stride(d_.lhs_feature) : build_.index(0)));
      Expr source = build_.let(image_ + of_one + slab_row_ * stride(d_.lhs_space[0]));
      auto turn = [&](Expr goal, Expr begin, Expr columns) {
        build_.transpose({packed_image_, goal, features}, {from, begin, stride(across_axis_)}, across,
                         columns);
      };
      if (whole) return turn(to, source, build_.let(rows * row_places));
      emit_.serial(build_.index(0), rows, [&](Expr r) {
        Expr goal = build_.let(to + r * row_places * features);
        Expr begin = build_.let(source + r * stride(d_.lhs_space[0]));
        if (axes_.size() > 1 && along == kOne) return turn(goal, begin, row_places);
        const int lanes = natural_lanes(emit_.target, static_cast<int>(size_of(type_)));
        emit_.serial(build_.index(0), row_places, [&](Expr place) {
          Expr place_at = build_.let(place_offset(r, place) + of_one);
          emit_.vector(build_.index(0), across, lanes, [&](Expr i) {
            build_.store(packed_image_, goal + place * features + i,
                         build_.load(from, place_at + i * stride(across_axis_)));
          });
        });
      });
    };
    emit_.serial(build_.index(0), image_count_, [&](Expr number) {
      if (!depthwise_) return pack_one(number, build_.index(0));
      emit_.serial(build_.index(0), emit_.size(inputs_), [&](Expr summed) { pack_one(number, summed); });
    });
  }

  // Where the image's elements lie: as it came, or in the packed rows.
  uint32_t image_buffer() const { return packs_image_ ? packed_image_ : emit_.buffer_of_arg(x_->arg); }
  Expr image_origin() {
    if (!packs_image_) return image_;
    Expr first = build_.index(0) - slab_row_ * emit_.size(image_row() * packed_features());
    return depthwise_ ? first - first_strip_ * build_.index(nr_) : first;
  }
  Expr image_between() { return packs_image_ ? emit_.size(slab_elements()) : stride(d_.lhs_batch); }
  Dim image_step(size_t axis) const {
    if (!packs_image_) return stride_of(d_.lhs_space[axis]);
    Dim step = packed_features();
    for (size_t s = axis + 1; s < axes_.size(); ++s) step = step * axes_[s].image;
    return step;
  }
  // From one that is summed over to the next.
  Dim image_feature_step() const {
    if (!packs_image_) return stride_of(d_.lhs_feature);
    return depthwise_ ? packed_across() : kOne;
  }

  // The sums of the chunk's places, over all taps or those of one number along the first axis.
  void sum_parts(Expr only) {
    std::vector<WindowPart> chosen;
    std::function<void(size_t)> axis = [&](size_t s) {
      if (s == axes_.size()) return sum_part(chosen, only);
      if (s == 0 && only && axes_[0].gaps == 1) {
        chosen.push_back(axes_[0].part_of_tap(build_, emit_.size, first_row_, end_row_, only));
        axis(1);
        return chosen.pop_back();
      }
      Expr from = s == 0 ? first_row_ : build_.index(0), to = s == 0 ? end_row_ : emit_.size(space_[s]);
      axes_[s].each_part(build_, emit_.size, from, to, [&](const WindowPart& part) {
        emit_.scoped([&] {
          chosen.push_back(part);
          if (s == 0 && only) {  // this number among the part's taps, or none
            WindowPart& first = chosen.back();
            Expr behind = build_.let(only - part.tap), step = build_.index(part.tap_step);
            Expr skipped = build_.let(behind / step);
            Expr here = (behind >= build_.index(0)) & (skipped < part.taps) & (skipped * step == behind);
            first.tap = only;
            first.origin = part.origin + skipped * part.dilation;
            first.taps = build_.let(loop::select(here, build_.index(1), build_.index(0)));
          }
          axis(s + 1);
          chosen.pop_back();
        });
      });
    };
    axis(0);
  }

  // A depthwise strip's sums of all places of the chunk, row by row (choose_row_tiles).
  void sum_rows() {
    std::vector<WindowPart> outer;
    std::vector<Expr> place;
    // The rows of these parts, each of an image and of a place along every axis but the last.
    std::function<void(size_t, Expr)> rows = [&](size_t s, Expr origin) {
      if (s == outer.size()) return sum_row(outer, place, build_.let(origin));
      const Expr step = emit_.size(image_step(s) * Dim(outer[s].stride));
      emit_.serial(build_.index(0), outer[s].count, [&](Expr k) {
        place.push_back(build_.let(outer[s].first + k * outer[s].step));
        rows(s + 1, origin + outer[s].origin * emit_.size(image_step(s)) + k * step);
        place.pop_back();
      });
    };
    std::function<void(size_t)> axis = [&](size_t s) {
      if (s + 1 == axes_.size())
        return emit_.serial(build_.index(0), image_count_, [&](Expr image) {
          place.assign(1, image);
          rows(0, image_origin() + image * image_between());
        });
      Expr from = s == 0 ? first_row_ : build_.index(0), to = s == 0 ? end_row_ : emit_.size(space_[s]);
      axes_[s].each_part(build_, emit_.size, from, to, [&](const WindowPart& part) {
        emit_.scoped([&] {
          outer.push_back(part);
          axis(s + 1);
          outer.pop_back();
        });
      });
    };
    axis(0);
  }

  // One row's, by tiles; `row`: where the row's windows begin in the image, `place`: which row it is.
  void sum_row(const std::vector<WindowPart>& outer, const std::vector<Expr>& place, Expr row) {
    for (const RowTiles& tiles : row_tiles_)
      emit_.serial(build_.index(0), build_.index(tiles.repeats), [&](Expr t) {
        const Expr first = build_.let(t * tiles.places + build_.index(tiles.first));
        const auto count = static_cast<size_t>(tiles.places);
        std::vector<std::vector<Expr>> places(count, place);
        for (size_t i = 0; i < count; ++i) places[i].push_back(first + static_cast<int64_t>(i));
        of_strips([&] {
          RegisterTile tile(build_, type_, tiles.places, nr_);
          for (const std::vector<Expr>& one : places)
            ask_for_stores(emit_, node_->result(), index_at(one, first_feature_), nr_);
          emit_.vector(build_.index(0), width_, static_cast<int>(nr_), [&](Expr j) {
            tile.clear();
            sum_row_taps(tile, tiles, outer, row, first, j);
          });
          emit_.vector(build_.index(0), width_, static_cast<int>(nr_), [&](Expr j) {
            for (size_t i = 0; i < count; ++i)
              emit_.scoped([&] { store_one(places[i], Expr(), j, build_.let(tile.value(i))); });
          });
        });
      });
  }

  // The products of the taps that the outer parts see, and of the last axis' ones that each place sees.
  void sum_row_taps(RegisterTile& tile, const RowTiles& tiles, const std::vector<WindowPart>& outer, Expr row,
                    Expr first, Expr j) {
    const WindowAxis& last = axes_.back();
    const Dim step = image_step(outer.size());
    const Expr corner = build_.let(row + (first * last.stride - build_.index(last.low)) * emit_.size(step) +
                                   first_feature_ + j);
    const auto seen = last.taps_seen();
    std::function<void(size_t, Expr, Expr)> taps = [&](size_t s, Expr number, Expr at_tap) {
      if (s < outer.size()) {
        const WindowPart& part = outer[s];
        const Expr from_tap = emit_.size(image_step(s) * Dim(part.dilation));
        number = number * axes_[s].taps + part.tap;
        return emit_.serial(build_.index(0), part.taps, [&](Expr u) {
          taps(s + 1, number + u * part.tap_step, build_.let(at_tap + u * from_tap));
        });
      }
      const Expr of_row = build_.let(number * last.taps);
      for (int64_t tap = 0; tap < last.taps; ++tap) {
        const Expr weights = build_.let(load_w(of_row + tap, j));
        for (int64_t i = 0; i < tiles.places; ++i) {
          const auto [begin, count] = seen[at(tiles.first + i)];
          if (!tiles.whole && (tap < begin || tap >= begin + count)) continue;
          const Dim apart = Dim(i * last.stride + tap * last.dilation) * step;
          tile.add(at(i), widen(build_.load(image_buffer(), at_tap + emit_.size(apart))), weights);
        }
      }
    };
    taps(0, build_.index(0), corner);
  }

  void sum_part(const std::vector<WindowPart>& parts, Expr only) {
    Expr origin = image_origin(), places = image_count_;
    for (size_t s = 0; s < parts.size(); ++s) {
      origin = origin + parts[s].origin * emit_.size(image_step(s));
      places = places * parts[s].count;
    }
    origin = build_.let(origin), places = build_.let(places);
    TilePlaces::Walk walk{parts, origin, image_between(), {}, first_row_, end_row_, {}};
    for (size_t s = 0; s < parts.size(); ++s) {
      walk.steps.push_back(emit_.size(image_step(s) * Dim(parts[s].stride)));
      walk.space.push_back(emit_.size(space_[s]));
    }
    places_.begin(walk);
    // As each_tile; what low tiles compute is noted together.
    const Expr tall = build_.index(mr_);
    emit_.serial(build_.index(0), (places + (tall - build_.index(1))) / tall, [&](Expr number) {
      Expr left = build_.let(places - number * tall);
      places_.note(walk, left);
      const int64_t low = low_tile(mr_, vectors()),
                    most = (mr_ - 1) / low;  // so many are less than a tall one
      auto all = [&] { emit_.scoped([&] { tile(mr_, walk, build_.index(0), left, only); }); };
      if (most == 0) return all();
      build_.if_then(left > build_.index(most * low), all, [&] {
        emit_.serial(build_.index(0), (left + build_.index(low - 1)) / build_.index(low), [&](Expr t) {
          Expr first = build_.let(t * low);
          tile(low, walk, first, build_.let(left - first), only);
        });
      });
    });
  }

  // The sums of as many noted places as the tile is high.
  void tile(int64_t height, const TilePlaces::Walk& walk, Expr first, Expr left, Expr only) {
    std::vector<Expr> at_corner, kept_at;
    std::vector<std::vector<Expr>> place;
    for (int64_t i = 0; i < height; ++i) {
      const Expr number = first + i;
      at_corner.push_back(places_.corner(number));
      kept_at.push_back(keeps_sums() ? places_.kept(number) : Expr());
      if (!waits_) place.push_back(places_.place(number));
    }
    of_strips([&] { sum_and_store(walk.parts, place, at_corner, kept_at, first, left, only); });
  }
  // What a tile does with a strip: with each of them, or with the one whose turn it is.
  void of_strips(const std::function<void()>& body) {
    if (strips_inside_)
      each_strip(body);
    else
      body();
  }
  bool keeps_sums() const { return waits_ || finished_; }

  // The sums of a strip's features at these places.
  void sum_and_store(const std::vector<WindowPart>& parts, const std::vector<std::vector<Expr>>& place,
                     const std::vector<Expr>& at_corner, const std::vector<Expr>& kept_at, Expr first_noted,
                     Expr left, Expr only) {
    const size_t mr = at_corner.size();
    const Expr none = build_.index(0);
    RegisterTile tile(build_, type_, static_cast<int64_t>(mr), nr_);
    if (!keeps_sums())
      emit_.serial(none, build_.index(static_cast<int64_t>(mr)), [&](Expr i) {
        ask_for_stores(emit_, node_->result(), index_at(places_.place(first_noted + i), first_feature_), nr_);
      });
    Expr lanes = depthwise_ ? width_ : build_.index(nr_);
    emit_.vector(none, lanes, static_cast<int>(nr_), [&](Expr j) {
      tile.clear();
      if (only) tile.load([&](size_t i, size_t) { return build_.load(sums_, kept_at[i] + j); });
      sum_taps(tile, parts, at_corner, j);
      if (waits_)
        for (size_t i = 0; i < mr; ++i) build_.store(sums_, kept_at[i] + j, tile.value(i));
    });
    if (waits_) return;
    emit_.vector(none, width_, static_cast<int>(nr_), [&](Expr j) {
      for (size_t i = 0; i < mr; ++i) {
        auto one_place = [&] {
          emit_.scoped([&] { store_one(place[i], kept_at[i], j, build_.let(tile.value(i))); });
        };
        if (i == 0)
          one_place();
        else
          build_.if_then(left > build_.index(static_cast<int64_t>(i)), one_place);
      }
    });
  }

  // Adds the products of all taps that the parts see.
  void sum_taps(RegisterTile& tile, const std::vector<WindowPart>& parts, const std::vector<Expr>& at_corner,
                Expr j) {
    const uint32_t image = image_buffer();
    const WindowPart& last = parts.back();
    const Dim tap_step = image_step(parts.size() - 1) * Dim(last.dilation);
    // `count` steps of the sum from number `step` on, for all places: element number n of the place's run.
    auto together = [&](Expr step, Expr count, Expr from, const Dim& between, int64_t usual) {
      tile.sum(
          emit_, build_.index(0), count,
          [&](size_t i, Expr n) {
            Expr offset = at_corner[i] + from + n * emit_.size(between);
            return widen(build_.load(image, depthwise_ ? offset + first_feature_ + j : offset));
          },
          [&](Expr n, size_t) { return load_w(step + n, j); }, usual);
    };
    // Taps along the last axis and input features are one run, in the image as in the kernel.
    const bool adjoin = axes_.back().taps_adjoin();
    const bool one_input = inputs_ == kOne && adjoin;
    const bool joined = adjoin && tap_step == inputs_ * image_feature_step();
    const int64_t inputs = inputs_.is_constant() ? usual_inputs_ : 0;  // where it is known
    std::function<void(size_t, Expr, Expr)> outer = [&](size_t s, Expr number, Expr offset) {
      const WindowPart& part = parts[s];
      number = number * axes_[s].taps + part.tap;
      if (s + 1 < parts.size()) {
        Expr step = emit_.size(image_step(s) * Dim(part.dilation));
        return emit_.serial(build_.index(0), part.taps,
                            [&](Expr u) { outer(s + 1, number + u * part.tap_step, offset + u * step); });
      }
      Expr first = build_.let(number * emit_.size(inputs_));
      offset = build_.let(offset);
      if (one_input) return together(first, part.taps, offset, tap_step, axes_[s].taps);
      if (joined)
        return together(first, part.taps * emit_.size(inputs_), offset, image_feature_step(),
                        axes_[s].taps * inputs);
      emit_.serial(build_.index(0), part.taps, [&](Expr u) {
        together(build_.let(first + u * emit_.size(Dim(part.tap_step) * inputs_)), emit_.size(inputs_),
                 build_.let(offset + u * emit_.size(tap_step)), image_feature_step(), inputs);
      });
    };
    outer(0, build_.index(0), build_.index(0));
  }

  void store_chunk() {
    Expr row_places = emit_.size(product(inner_space()));
    Expr image_places = build_.let((end_row_ - first_row_) * row_places);
    Expr first_place = build_.let(first_row_ * row_places);
    auto index_of = [&](Expr image, Expr p) {
      std::vector<Expr> index{image};
      for (Expr e : emit_.split(first_place + p, space_)) index.push_back(e);
      return index;
    };
    if (!turned_)
      return emit_.serial(build_.index(0), image_count_, [&](Expr image) {
        emit_.serial(build_.index(0), image_places, [&](Expr p) {
          Expr kept = build_.let((image * image_places + p) * nr_);
          std::vector<Expr> index = index_of(image, p);
          for (Expr& e : index) e = build_.let(e);
          emit_.vector(build_.index(0), width_, static_cast<int>(nr_),
                       [&](Expr j) { store_one(index, kept, j, build_.let(build_.load(sums_, kept + j))); });
        });
      });
    build_.transpose({turned_sums_, build_.index(0), kept_}, {sums_, build_.index(0), build_.index(nr_)},
                     image_count_ * image_places, build_.index(nr_));
    int lanes = natural_lanes(emit_.target, widest_element(emit_.region));
    emit_.serial(build_.index(0), image_count_, [&](Expr image) {
      emit_.serial(build_.index(0), width_, [&](Expr f) {
        Expr feature = build_.let(first_feature_ + f), row = build_.let(f * kept_ + image * image_places);
        emit_.vector(build_.index(0), image_places, lanes, [&](Expr p) {
          store_sum(emit_, node_->result(), index_at(index_of(image, p), feature),
                    build_.let(build_.load(turned_sums_, row + p)));
        });
      });
    });
  }

  // `place`: the image among the chunk's, then the place along each axis.
  GroupEmitter::Index index_at(const std::vector<Expr>& place, Expr feature) const {
    GroupEmitter::Index index(node_->result()->type().dims.size());
    index[at(d_.out_batch)] = first_image_ + place[0];
    index[at(d_.out_feature)] = feature;
    for (size_t s = 0; s + 1 < place.size(); ++s) index[at(d_.out_space[s])] = place[s + 1];
    return index;
  }
  // `kept`: where the place's features stand in scratch.
  void store_one(const std::vector<Expr>& place, Expr kept, Expr j, Expr sum) {
    GroupEmitter::Index index = index_at(place, first_feature_ + j);
    if (!finished_) return store_sum(emit_, node_->result(), index, sum);
    know_sum(emit_, node_->result(), sum);
    const DType stored = finished_->type().dtype;
    Expr value = emit_.element(finished_, index);
    build_.store(finished_values_, kept + j, value.type() == stored ? value : loop::convert(value, stored));
  }
  // The strip's finished values, place by place, into the result, feature by feature.
  void turn_finished() {
    const Dims& dims = emit_.region.results()[0]->type().dims;
    const Ints& order = emit_.region.results()[0]->node()->attrs().get(ops::kPermutation);
    Expr row_places = emit_.size(product(inner_space()));
    Expr image_places = build_.let((end_row_ - first_row_) * row_places);
    emit_.serial(build_.index(0), image_count_, [&](Expr image) {
      std::vector<Expr> place(axes_.size() + 1, build_.index(0));
      place[0] = image, place[1] = first_row_;
      GroupEmitter::Index own = index_at(place, first_feature_), index;
      Dim feature_step = kOne;
      for (size_t i = 0; i < order.size(); ++i) {
        index.push_back(own[at(order[i])]);
        if (order[i] == d_.out_feature)
          feature_step = product(Dims(dims.begin() + static_cast<long>(i) + 1, dims.end()));
      }
      build_.transpose(
          {emit_.result_buffer(0), build_.let(emit_.flat(index, dims)), emit_.size(feature_step)},
          {finished_values_, image * image_places * nr_, build_.index(nr_)}, image_places, width_);
    });
  }

  GroupEmitter& emit_;
  Kernel& kernel_;
  loop::Builder& build_;
  const Node* node_;
  ops::ConvDims d_;
  std::optional<ops::StridedView> x_, w_;
  DType type_;
  std::vector<WindowAxis> axes_;
  Dims space_;  // the result's places along each axis
  Dim batch_ = int64_t{1};
  Dim inputs_ = int64_t{0};
  // The image's numbers at a place; of these the ones along the axis that is packed side by side: input
  // features or, where each is a group of its own, the groups.
  Dim image_features_ = int64_t{0}, across_ = int64_t{0};
  int64_t across_axis_ = 0;
  int64_t usual_inputs_ = 0, groups_ = 1, group_features_ = 0, taps_ = 1, nr_ = 0, mr_ = 0;
  int64_t group_strips_ = 0, part_strips_ = 1;
  int64_t images_ = 1;     // of a chunk
  Dim rows_ = int64_t{1};  // of a chunk's images
  Dim chunk_count_ = int64_t{1}, chunks_a_block_ = int64_t{1}, chunk_blocks_ = int64_t{1};
  bool supported_ = false, prepacked_ = false, depthwise_ = false, turned_ = false, packs_image_ = false;
  bool by_rows_ = false;             // the tiles run for one step of the first axis' taps at a time
  bool strips_inside_ = false;       // all strips of a tile, then the next tile
  bool waits_ = false;               // all sums of a chunk are kept until they are stored
  std::vector<RowTiles> row_tiles_;  // of a depthwise kernel that walks row by row; else none
  Value finished_ = nullptr;         // what the kernel gives, before it is turned over
  TilePlaces places_;
  uint32_t packed_w_ = 0, sums_ = 0, turned_sums_ = 0, packed_image_ = 0, finished_values_ = 0;
  Expr kept_, first_strip_, last_strip_, strip_, group_, first_feature_, width_;
  Expr first_image_, image_count_, first_row_, end_row_, image_, slab_row_;
};

}  // namespace

bool lower_convolution(GroupEmitter& emit, Kernel& kernel, const Node* node,
                       const std::vector<bool>& constant_operands) {
  ConvLowering lowering(emit, kernel, node, constant_operands);
  if (lowering.supported()) lowering.run();
  return lowering.supported();
}

}  // namespace ig::codegen
