// The generator of convolutions, whose parts lie in three files: how the work is cut, and the way through it
// (lower_convolution.cpp, which says how a convolution goes), the packing of weights and images
// (convolution_image.cpp), and the sums of a chunk and what becomes of them (convolution_sums.cpp).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "codegen/convolution_weights.h"
#include "codegen/register_tile.h"
#include "codegen/tile_places.h"
#include "codegen/window_axis.h"
#include "ops/contraction.h"

namespace ig::codegen {

class ConvLowering {
 public:
  ConvLowering(GroupEmitter& emit, Kernel& kernel, const Node* node,
               const std::vector<bool>& constant_operands);
  bool supported() const { return supported_; }
  void run();

 private:
  using Expr = loop::Expr;
  static inline const Dim kOne = Dim(int64_t{1});
  static constexpr int64_t kApart = 16;  // elements

  bool in_narrow_groups(int64_t lanes) const;
  void each_strip(const std::function<void()>& body);
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

  // How the work is cut. (lower_convolution.cpp)
  // A chunk: whole rows of places, or whole images where one has few.
  void choose_chunks();
  // A kernel of short sums (depthwise, or of a few input features) walks row by row: with the places of a row
  // at known distances nothing asks where each of them lies. No strip of a depthwise one reads what another
  // does, so a strip walks all rows of the chunk before the next one begins, and finds in the first cache
  // what the row before has read, if that holds so many rows.
  void choose_row_tiles();
  // Whether the first cache keeps what a strip reads of the rows under one row's windows: a line of each
  // place, which meet in few sets where they lie far apart.
  bool first_cache_keeps_rows() const;
  // A block: some strips of some chunks. Weights that came packed are shared by all blocks; else a block
  // packs its own, and the image's rows for each part of the strips.
  void choose_blocks();
  // What a depthwise block packs falls with the number of its strips.
  void keep_in_cache();

  // Weights and images as the tiles read them. (convolution_image.cpp)
  void emit_packing();
  // The vector of the kernel for a step of the sum, counted over taps and input features.
  Expr load_w(Expr step, Expr j) {
    Expr strip = emit_.size(strip_elements());
    if (!prepacked_) return build_.load(packed_w_, (strip_ - first_strip_) * strip + step * nr_ + j);
    Expr number = group_ * build_.index(group_strips_) + strip_;
    return widen(build_.load(emit_.buffer_of_arg(w_->arg), number * strip + step * nr_ + j));
  }

  void begin_chunk(Expr chunk, Expr row_chunks);

  // The rows (along the first axis) that the chunk's windows reach, features side by side.
  void pack_image();

  // Likewise of narrow groups: for each input feature of a group a row of all output features.
  void pack_repeated(Expr rows, Expr row_places, const std::function<Expr(Expr row, Expr place)>& offset_of);
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

  // Sums and what becomes of them. (convolution_sums.cpp)
  // The parts (window_axis.h) of so many of the axes, for the chunk's places; of the first axis with all taps
  // or with those of one number.
  void each_parts(size_t axes, Expr only, const std::function<void(const std::vector<WindowPart>&)>& body);
  // The sums of the chunk's places, over all taps or those of one number along the first axis.
  void sum_parts(Expr only) {
    each_parts(axes_.size(), only, [&](const std::vector<WindowPart>& parts) {
      if (images_lie_)
        sum_images(parts, only);
      else
        sum_part(parts, only);
    });
  }
  // Of a part, place by place: a tile's rows are images that lie side by side.
  void sum_images(const std::vector<WindowPart>& parts, Expr only);
  // The sums of all places of the chunk, row by row (choose_row_tiles).
  void sum_rows();
  // One row's, by tiles; `row`: where the row's windows begin in the image, `place`: which row it is.
  void sum_row(const std::vector<WindowPart>& outer, const std::vector<Expr>& place, Expr row);
  // Asks for what the windows of the row behind this one reach in addition, as far as these places see it.
  void ask_for_next_row(const WindowPart& part, Expr row, Expr first, int64_t places);
  // The products of the taps that the outer parts see, and of the last axis' ones that each place sees.
  void sum_row_taps(RegisterTile& tile, const RowTiles& tiles, const std::vector<WindowPart>& outer, Expr row,
                    Expr first, Expr j);
  void sum_part(const std::vector<WindowPart>& parts, Expr only);
  // The sums of as many noted places as the tile is high.
  void tile(int64_t height, const TilePlaces::Walk& walk, Expr first, Expr left, Expr only);
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
                     Expr left, Expr only);
  // Adds the products of all taps that the parts see.
  void sum_taps(RegisterTile& tile, const std::vector<WindowPart>& parts, const std::vector<Expr>& at_corner,
                Expr j);
  void store_chunk();
  // `place`: the image among the chunk's, then the place along each axis.
  GroupEmitter::Index index_at(const std::vector<Expr>& place, Expr feature) const;
  // `kept`: where the place's features stand in scratch.
  void store_one(const std::vector<Expr>& place, Expr kept, Expr j, Expr sum);
  // The strip's finished values, place by place, into the result, feature by feature.
  void turn_finished();

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
  int64_t repeats_ = 1;  // of narrow groups: how often an input feature stands in the packed image
  int64_t usual_inputs_ = 0, groups_ = 1, group_features_ = 0, taps_ = 1, nr_ = 0, mr_ = 0;
  int64_t group_strips_ = 0, part_strips_ = 1;
  int64_t images_ = 1;     // of a chunk
  Dim rows_ = int64_t{1};  // of a chunk's images
  Dim chunk_count_ = int64_t{1}, chunks_a_block_ = int64_t{1}, chunk_blocks_ = int64_t{1};
  bool supported_ = false, prepacked_ = false, depthwise_ = false, turned_ = false, packs_image_ = false;
  bool images_lie_ = false;          // side by side, as those of a gradient by weights do: tiles are of these
  bool by_rows_ = false;             // the tiles run for one step of the first axis' taps at a time
  bool strips_inside_ = false;       // all strips of a tile, then the next tile
  bool waits_ = false;               // all sums of a chunk are kept until they are stored
  std::vector<RowTiles> row_tiles_;  // of a kernel that walks row by row; else none
  bool asks_ahead_ = false;          // a depthwise one of these asks for the next row's part of the image
  Value finished_ = nullptr;         // what the kernel gives, before it is turned over
  TilePlaces places_;
  uint32_t packed_w_ = 0, sums_ = 0, turned_sums_ = 0, packed_image_ = 0, finished_values_ = 0;
  Expr kept_, first_strip_, last_strip_, strip_, group_, first_feature_, width_;
  Expr first_image_, image_count_, first_row_, end_row_, image_, slab_row_;
};

}  // namespace ig::codegen
