// Weights and images of a convolution in the order in which its tiles read them: strips of output features,
// and the image's rows with its features side by side.
#include "codegen/conv_lowering.h"

namespace ig::codegen {
namespace {

constexpr int64_t kAhead = 3;  // places, of what is packed soon

}  // namespace

void ConvLowering::emit_packing() {
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

void ConvLowering::pack_image() {
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
  const bool whole = along == kOne && (stride_of(d_.lhs_space[0]) == image_row() || axis.image == kOne);
  Expr slab = build_.let(emit_.size(slab_elements()));
  Expr rows = build_.let(loop::greater(end - slab_row_, build_.index(0)));
  auto place_offset = [&](Expr row, Expr place) {
    Expr offset = image_ + (slab_row_ + row) * stride(d_.lhs_space[0]);
    std::vector<Expr> index = emit_.split(place, inner);
    for (size_t s = 0; s < index.size(); ++s) offset = offset + index[s] * stride(inner_axes[s]);
    return build_.let(offset);
  };
  if (repeats_ > 1) return pack_repeated(rows, row_places, place_offset);
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
      build_.transpose({packed_image_, goal, features}, {from, begin, stride(across_axis_)}, across, columns);
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

void ConvLowering::pack_repeated(Expr rows, Expr row_places,
                                 const std::function<Expr(Expr row, Expr place)>& offset_of) {
  const Expr none = build_.index(0), first = build_.let(first_strip_ * build_.index(nr_ / repeats_));
  const Expr groups = build_.let(loop::lesser(build_.index(part_strips_ * nr_ / repeats_),
                                              build_.index(group_features_ / repeats_) - first));
  auto place_of = [&](Expr number, Expr r, Expr place) {
    const Expr source = build_.let(offset_of(r, place) + number * stride(d_.lhs_batch));
    const Expr goal = build_.let(number * emit_.size(slab_elements()) +
                                 (r * row_places + place) * emit_.size(packed_features()));
    emit_.serial(none, emit_.size(inputs_), [&](Expr summed) {
      const Expr row = build_.let(goal + summed * emit_.size(packed_across()));
      emit_.serial(none, groups, [&](Expr g) {
        const Expr feature = (first + g) * emit_.size(inputs_) + summed;
        const Expr value =
            build_.let(build_.load(emit_.buffer_of_arg(x_->arg), source + feature * stride(d_.lhs_feature)));
        emit_.vector(none, build_.index(repeats_), static_cast<int>(repeats_),
                     [&](Expr j) { build_.store(packed_image_, row + g * repeats_ + j, value); });
      });
    });
  };
  emit_.serial(none, image_count_, [&](Expr number) {
    emit_.serial(none, rows, [&](Expr r) {
      emit_.serial(none, row_places, [&](Expr place) { place_of(number, r, place); });
    });
  });
}

}  // namespace ig::codegen
