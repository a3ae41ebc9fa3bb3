// Convolutions, without an image of windows. A kernel's vectors are output features: a tile of mr places x nr
// features has its running sums in registers, and for each tap and input feature takes one element of the
// image a place, times a vector of the kernel, which lies packed as [strip of features][tap][input
// feature][nr].
//
//   block (batch, group, chunk of places, some strips of features)
//     pack the rows of the image that the chunk reads, input features side by side: [place][input feature]
//     for each strip: for each mr places: for each tap and input feature: mr x nr fma
//     the sums, turned over where features are not the fastest axis, with the work fused behind, are stored
//
// With the input features side by side, a row of taps is one run through memory, in the image as in the
// kernel. Tiles whose windows lie inside the image run through whole rows without a question; in the others a
// tap that falls on padding is left out, place by place.
//
// Order of summation: as the op states it: one fma chain over the taps, the first spatial axis slowest, then
// the input features of the group, from +0. Where the weights of a strip are more than the first cache holds,
// the tiles run for one step of the first axis' taps at a time: the running sums are stored and loaded again.
#include <algorithm>

#include "codegen/register_tile.h"
#include "ops/contraction.h"

namespace ig::codegen {
namespace {

using loop::Expr;
constexpr int64_t kPlaces = 224;  // places of a chunk, about: their sums are kept until they are stored
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
    for (size_t s = 0; s < space_.size(); ++s) padded_ = padded_ || d_.low[s] > 0 || d_.high[s] > 0;
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
    // Chunks of whole rows where rows of the image are packed, so that none is packed for nothing.
    const bool lies = stride_of(d_.lhs_feature) == kOne;
    packs_image_ = !lies && d_.spatial <= 2;
    const Dim row = d_.spatial == 2 ? max(space_[1], kOne) : kOne;
    chunk_ = d_.spatial == 2 ? row * max(floordiv(Dim(kPlaces), row), kOne) : Dim(kPlaces);
    const Dim chunks = ceildiv(places, chunk_);
    // Weights that are not known beforehand are packed by the block that uses them: then a block has all
    // places of one strip. Else it has all strips of its places, unless that leaves too few blocks to share.
    part_strips_ = prepacked_ ? group_strips_ : 1;
    const Dim outer = batch * chunks * Dim(d_.feature_groups);
    if (prepacked_ && outer.is_constant())
      while (part_strips_ > 1 && outer.constant() * parts() < 8) part_strips_ = (part_strips_ + 1) / 2;
    const Dim shared_chunks = prepacked_ ? chunks : kOne;
    const int64_t images = prepacked_ ? 1 : images_of_a_block(batch, places);
    kernel_.blocks = ceildiv(batch, Dim(images)) * shared_chunks * Dim(d_.feature_groups * parts());
    int64_t work = kPlaces * nr_ * taps_ * inputs_ * part_strips_;
    kernel_.grain = prepacked_ ? std::max<int64_t>(1, 150'000 / work) : 1;
    if (prepacked_)
      emit_packing();
    else
      scratch_w_ = build_.add_scratch(type_, Dim(taps_ * inputs_ * nr_), "w");
    const Dim rows = ceildiv(chunk_, Dim(mr_)) * Dim(mr_);
    rows_ = emit_.size(rows);
    sums_ = build_.add_scratch(type_, rows * Dim(nr_), "sums");
    turned_ = d_.out_feature + 1 != static_cast<int64_t>(node_->result()->type().dims.size());
    if (turned_) turned_sums_ = build_.add_scratch(type_, rows * Dim(nr_), "turned");
    if (packs_image_) {
      const Dim steps = d_.spatial == 2 ? floordiv(chunk_, row) : chunk_;
      const Dim slab = (steps - 1) * Dim(d_.strides[0]) + Dim((tap_counts_[0] - 1) * d_.rhs_dilation[0] + 1);
      packed_image_ = build_.add_scratch(x_->arg->type().dtype,
                                         min(slab, image_space_[0]) * image_row() * Dim(inputs_), "image");
    }

    Expr rest = build_.block(), part_count = build_.index(parts()), chunk_count = emit_.size(shared_chunks);
    Expr part = build_.let(rest % part_count);
    rest = rest / part_count;
    Expr chunk_number = rest % chunk_count;
    rest = rest / chunk_count;
    group_ = build_.let(rest % build_.index(d_.feature_groups));
    Expr batch_number = build_.let(rest / build_.index(d_.feature_groups));
    auto begin_image = [&](Expr number) {
      batch_ = number;
      image_ = build_.let(emit_.size(x_->offset) + batch_ * stride(d_.lhs_batch) +
                          group_ * build_.index(inputs_) * stride(d_.lhs_feature));
    };
    Expr first_strip = build_.let(part * part_strips_);
    Expr last_strip = loop::lesser(first_strip + build_.index(part_strips_), build_.index(group_strips_));
    auto begin_chunk = [&](Expr c) {
      from_ = build_.let(c * emit_.size(chunk_));
      count_ = build_.let(loop::lesser(emit_.size(chunk_), emit_.size(places) - from_));
      if (packs_image_) pack_image();
    };
    auto strip = [&](Expr number) {
      Expr in_group = build_.let(number * nr_);
      strip_ = build_.let(group_ * build_.index(group_strips_) + number);
      first_feature_ = build_.let(group_ * build_.index(group_features_) + in_group);
      width_ = build_.let(loop::lesser(build_.index(nr_), build_.index(group_features_) - in_group));
    };
    if (prepacked_) {
      begin_image(batch_number);
      begin_chunk(chunk_number);
      return emit_.serial(first_strip, last_strip, [&](Expr s) {
        strip(s);
        tiles();
        store();
      });
    }
    strip(first_strip);
    pack_here();
    Expr first_image = build_.let(batch_number * images);
    Expr last_image = build_.let(loop::lesser(first_image + build_.index(images), emit_.size(batch)));
    emit_.serial(first_image, last_image, [&](Expr number) {
      begin_image(number);
      emit_.serial(build_.index(0), emit_.size(chunks), [&](Expr c) {
        begin_chunk(c);
        tiles();
        store();
      });
    });
  }

 private:
  // A block that packs weights for itself does so for several images, until the sums outweigh the packing;
  // but some blocks are left to share.
  int64_t images_of_a_block(const Dim& batch, const Dim& places) const {
    if (!places.is_constant()) return 1;
    int64_t images = ceildiv(Dim(kPlaces), max(places, kOne)).constant();
    if (batch.is_constant())
      while (images > 1 && ceildiv(batch, Dim(images)).constant() * d_.feature_groups * parts() < 8)
        images = (images + 1) / 2;
    return images;
  }
  const Dim& stride_of(int64_t axis) const { return x_->strides[static_cast<size_t>(axis)]; }
  Expr stride(int64_t axis) { return emit_.size(stride_of(axis)); }
  int64_t parts() const { return (group_strips_ + part_strips_ - 1) / part_strips_; }
  // Places of the image for each step along the first axis.
  Dim image_row() const { return d_.spatial == 2 ? image_space_[1] : kOne; }
  Expr widen(Expr value) const { return value.type() == type_ ? value : loop::convert(value, type_); }

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
  // The vector of the kernel for a step of the sum, counted over taps and input features.
  Expr load_w(Expr step, Expr j) {
    if (!prepacked_) return build_.load(scratch_w_, step * nr_ + j);
    Expr at = strip_ * (taps_ * inputs_ * nr_) + step * nr_ + j;
    return widen(build_.load(emit_.buffer_of_arg(w_->arg), at));
  }

  // The rows (along the first axis) that the chunk's windows reach, input features side by side.
  void pack_image() {
    const uint32_t from = emit_.buffer_of_arg(x_->arg);
    Expr row_places = emit_.size(d_.spatial == 2 ? space_[1] : kOne);
    Expr first = (from_ / row_places) * d_.strides[0] - build_.index(d_.low[0]);
    Expr last = ((from_ + count_ - build_.index(1)) / row_places) * d_.strides[0] +
                build_.index((tap_counts_[0] - 1) * d_.rhs_dilation[0] + 1 - d_.low[0]);
    first_row_ = build_.let(loop::greater(first, build_.index(0)));
    Expr end_row = build_.let(loop::lesser(last, emit_.size(image_space_[0])));
    const int64_t along_axis = d_.lhs_space.back();
    // Of one axis the whole chunk is one run; of two, each row.
    Expr columns = d_.spatial == 2 ? emit_.size(image_space_[1]) : end_row - first_row_;
    auto run = [&](Expr to, Expr at) {
      if (stride_of(along_axis) == kOne)
        return build_.transpose({packed_image_, to, build_.index(inputs_)},
                                {from, at, stride(d_.lhs_feature)}, build_.index(inputs_), columns);
      const int lanes = natural_lanes(emit_.target, static_cast<int>(size_of(type_)));
      emit_.serial(build_.index(0), columns, [&](Expr c) {
        emit_.vector(build_.index(0), build_.index(inputs_), lanes, [&](Expr i) {
          build_.store(packed_image_, to + c * inputs_ + i,
                       build_.load(from, at + c * stride(along_axis) + i * stride(d_.lhs_feature)));
        });
      });
    };
    if (d_.spatial == 1)
      return build_.if_then(first_row_ < end_row, [&] {
        run(build_.index(0), build_.let(image_ + first_row_ * stride(along_axis)));
      });
    emit_.serial(first_row_, end_row, [&](Expr r) {
      run(build_.let((r - first_row_) * emit_.size(image_row() * Dim(inputs_))),
          build_.let(image_ + r * stride(d_.lhs_space[0])));
    });
  }

  // Where an element of the image lies: as it came, or in the packed rows.
  uint32_t image_buffer() const { return packs_image_ ? packed_image_ : emit_.buffer_of_arg(x_->arg); }
  Expr image_origin() {
    return packs_image_ ? build_.index(0) - first_row_ * emit_.size(image_row() * Dim(inputs_)) : image_;
  }
  Expr image_step(size_t axis) {
    if (!packs_image_) return stride(d_.lhs_space[axis]);
    return axis + 1 == space_.size() ? build_.index(inputs_) : emit_.size(image_row() * Dim(inputs_));
  }
  Expr image_feature_step() { return packs_image_ ? build_.index(1) : stride(d_.lhs_feature); }
  // Taps along the last axis and input features are one run, in the image as in the kernel.
  bool runs_join() const {
    if (d_.rhs_dilation.back() != 1) return tap_counts_.back() == 1;
    if (packs_image_) return true;
    return stride_of(d_.lhs_feature) == kOne && stride_of(d_.lhs_space.back()) == Dim(inputs_);
  }

  void tiles() {
    Expr tile_count = (count_ + build_.index(mr_ - 1)) / build_.index(mr_);
    constexpr int64_t kFirstCache = 24 * 1024;
    bool by_rows = space_.size() > 1 && tap_counts_[0] > 1 &&
                   taps_ * inputs_ * nr_ * static_cast<int64_t>(size_of(type_)) > kFirstCache;
    auto all_tiles = [&](Expr first_tap, Expr last_tap) {
      emit_.serial(build_.index(0), tile_count,
                   [&](Expr t) { tile(build_.let(t * mr_), first_tap, last_tap); });
    };
    if (!by_rows) return all_tiles({}, {});
    emit_.serial(build_.index(0), build_.index(tap_counts_[0]),
                 [&](Expr tap) { all_tiles(tap, build_.let(tap + build_.index(1))); });
  }

  // The sums of the places from_ + first …, mr of them, over a range of the first axis' taps (or all); those
  // behind the last repeat it.
  void tile(Expr first, Expr first_tap, Expr last_tap) {
    const auto mr = static_cast<size_t>(mr_);
    const size_t axes = space_.size();
    std::vector<std::vector<Expr>> corner(mr);  // of each place's window, in the image
    std::vector<Expr> at_corner;                // its offset
    Expr inside;                                // all windows lie inside, along all axes
    for (size_t i = 0; i < mr; ++i) {
      Expr place =
          from_ + loop::lesser(first + build_.index(static_cast<int64_t>(i)), count_ - build_.index(1));
      std::vector<Expr> at = emit_.split(build_.let(place), space_);
      Expr offset = image_origin();
      for (size_t s = 0; s < axes; ++s) {
        corner[i].push_back(build_.let(at[s] * d_.strides[s] - build_.index(d_.low[s])));
        offset = offset + corner[i][s] * image_step(s);
        if (!padded_) continue;
        Expr here = (corner[i][s] >= build_.index(0)) &
                    (corner[i][s] + build_.index((tap_counts_[s] - 1) * d_.rhs_dilation[s]) <
                     emit_.size(image_space_[s]));
        inside = inside ? inside & here : here;
      }
      at_corner.push_back(build_.let(offset));
    }
    RegisterTile tile(build_, type_, mr_, nr_);
    const uint32_t image = image_buffer();
    auto sum_offset = [&](size_t i, Expr j) {
      return (first + build_.index(static_cast<int64_t>(i))) * nr_ + j;
    };
    emit_.vector(build_.index(0), build_.index(nr_), static_cast<int>(nr_), [&](Expr j) {
      tile.clear();
      if (first_tap)
        build_.if_then(first_tap > build_.index(0),
                       [&] { tile.load([&](size_t i) { return build_.load(sums_, sum_offset(i, j)); }); });
      // `count` steps of the sum from `step` on, for all places: element number n of the place's run.
      auto together = [&](Expr step, int64_t count, Expr from) {
        tile.sum(
            emit_, build_.index(0), build_.index(count),
            [&](size_t i, Expr n) {
              return widen(build_.load(image, at_corner[i] + from + n * image_feature_step()));
            },
            [&](Expr n) { return load_w(step + n, j); });
      };
      const int64_t last_count = tap_counts_.back(), row_steps = last_count * inputs_;
      auto tap_step = [&](Expr tap) { return tap * d_.rhs_dilation.back() * image_step(axes - 1); };
      // Outer axes' taps by nested loops; body(taps along them, the first step of their row, its offset).
      std::vector<Expr> taps;
      std::function<void(size_t, Expr, Expr, const std::function<void(Expr, Expr)>&)> outer =
          [&](size_t s, Expr number, Expr offset, const std::function<void(Expr, Expr)>& body) {
            if (s + 1 >= axes) return body(build_.let(number * row_steps), build_.let(offset));
            const bool part = s == 0 && first_tap;
            emit_.serial(part ? first_tap : build_.index(0), part ? last_tap : build_.index(tap_counts_[s]),
                         [&](Expr tap) {
                           taps.push_back(tap);
                           outer(s + 1, number * tap_counts_[s] + tap,
                                 offset + tap * d_.rhs_dilation[s] * image_step(s), body);
                           taps.pop_back();
                         });
          };
      auto each_row = [&](const std::function<void(Expr, Expr)>& body) {
        outer(0, build_.index(0), build_.index(0), body);
      };
      auto unasked = [&] {
        each_row([&](Expr step, Expr offset) {
          if (runs_join()) return together(step, row_steps, offset);
          emit_.serial(build_.index(0), build_.index(last_count), [&](Expr tap) {
            together(build_.let(step + tap * inputs_), inputs_, build_.let(offset + tap_step(tap)));
          });
        });
      };
      auto asked = [&] {
        each_row([&](Expr step, Expr offset) {
          std::vector<Expr> row_valid(mr);
          for (size_t i = 0; i < mr; ++i)
            for (size_t s = 0; s + 1 < axes; ++s) {
              Expr at = build_.let(corner[i][s] + taps[s] * d_.rhs_dilation[s]);
              Expr here = (at >= build_.index(0)) & (at < emit_.size(image_space_[s]));
              row_valid[i] = build_.let(row_valid[i] ? row_valid[i] & here : here);
            }
          emit_.serial(build_.index(0), build_.index(last_count), [&](Expr tap) {
            std::vector<Expr> valid(mr);
            Expr all;
            for (size_t i = 0; i < mr; ++i) {
              Expr at = build_.let(corner[i].back() + tap * d_.rhs_dilation.back());
              Expr here = (at >= build_.index(0)) & (at < emit_.size(image_space_.back()));
              valid[i] = build_.let(row_valid[i] ? row_valid[i] & here : here);
              all = all ? all & valid[i] : valid[i];
            }
            Expr from = build_.let(offset + tap_step(tap)), tap_first = build_.let(step + tap * inputs_);
            build_.if_then(
                all, [&] { emit_.scoped([&] { together(tap_first, inputs_, from); }); },
                [&] {
                  emit_.serial(build_.index(0), build_.index(inputs_), [&](Expr n) {
                    Expr w = build_.let(load_w(tap_first + n, j));
                    for (size_t i = 0; i < mr; ++i)
                      build_.if_then(valid[i], [&] {
                        Expr a = build_.load(image, at_corner[i] + from + n * image_feature_step());
                        tile.add(i, widen(a), w);
                      });
                  });
                });
          });
        });
      };
      if (padded_)
        build_.if_then(inside, [&] { emit_.scoped(unasked); }, [&] { emit_.scoped(asked); });
      else
        unasked();
      for (size_t i = 0; i < mr; ++i) build_.store(sums_, sum_offset(i, j), tile.value(i));
    });
  }

  void store() {
    if (!turned_)
      return emit_.serial(build_.index(0), count_, [&](Expr p) {
        emit_.vector(build_.index(0), width_, static_cast<int>(nr_), [&](Expr j) {
          store_one(from_ + p, first_feature_ + j, build_.let(build_.load(sums_, p * nr_ + j)));
        });
      });
    build_.transpose({turned_sums_, build_.index(0), rows_}, {sums_, build_.index(0), build_.index(nr_)},
                     count_, build_.index(nr_));
    int lanes = natural_lanes(emit_.target, widest_element(emit_.region));
    emit_.serial(build_.index(0), width_, [&](Expr f) {
      Expr feature = build_.let(first_feature_ + f), row = build_.let(f * rows_);
      emit_.vector(build_.index(0), count_, lanes, [&](Expr p) {
        store_one(from_ + p, feature, build_.let(build_.load(turned_sums_, row + p)));
      });
    });
  }

  void store_one(Expr place, Expr feature, Expr sum) {
    GroupEmitter::Index index(node_->result()->type().dims.size());
    index[static_cast<size_t>(d_.out_batch)] = batch_;
    index[static_cast<size_t>(d_.out_feature)] = feature;
    GroupEmitter::Index at = emit_.split(place, space_);
    for (size_t s = 0; s < at.size(); ++s) index[static_cast<size_t>(d_.out_space[s])] = at[s];
    store_sum(emit_, node_->result(), index, sum);
  }

  GroupEmitter& emit_;
  Kernel& kernel_;
  loop::Builder& build_;
  const Node* node_;
  ops::ConvDims d_;
  std::optional<StridedView> x_, w_;
  DType type_;
  Dims space_, image_space_;
  Dim chunk_ = int64_t{1};  // places whose sums a block keeps
  Ints tap_counts_;
  int64_t inputs_ = 0, group_features_ = 0, taps_ = 1, nr_ = 0, mr_ = 0;
  int64_t group_strips_ = 0, strips_ = 0, part_strips_ = 1;
  bool supported_ = false, prepacked_ = false, turned_ = false, padded_ = false, packs_image_ = false;
  uint32_t scratch_w_ = 0, sums_ = 0, turned_sums_ = 0, packed_image_ = 0;
  Expr rows_, strip_, group_, batch_, first_feature_, width_, image_, from_, count_, first_row_;
};

}  // namespace

bool lower_convolution(GroupEmitter& emit, Kernel& kernel, const Node* node,
                       const std::vector<bool>& constant_operands) {
  ConvLowering lowering(emit, kernel, node, constant_operands);
  if (lowering.supported()) lowering.run();
  return lowering.supported();
}

}  // namespace ig::codegen
