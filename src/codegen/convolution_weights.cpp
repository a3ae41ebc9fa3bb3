// Packs the strips: by squares that are turned over in registers where the features do not lie side by side.
#include "codegen/convolution_weights.h"

#include <optional>

namespace ig::codegen {
namespace {

using loop::Expr;
constexpr int64_t kAhead = 3;  // taps, of what is packed soon
const Dim kOne = Dim(int64_t{1});

}  // namespace

WeightStrips::WeightStrips(const ops::ConvDims& d, const ops::StridedView& view, const Type& kernel,
                           int64_t nr)
    : d_(d), view_(view), kernel_(kernel), nr_(nr) {
  for (int64_t axis : d.rhs_space) {
    space_.push_back(kernel.dims[static_cast<size_t>(axis)]);
    taps_ *= space_.back().constant();
  }
  inputs_ = kernel.dims[static_cast<size_t>(d.rhs_in)];
}

// The offset of a tap in the kernel, by its number.
Expr WeightStrips::tap_offset(const Place& place, Expr tap) const {
  std::vector<Expr> index = ops::split_index(tap, space_, place.size, place.build);
  Expr out = place.size(view_.offset);
  for (size_t s = 0; s < index.size(); ++s) out = out + index[s] * place.size(stride_of(d_.rhs_space[s]));
  return out;
}

void WeightStrips::pack(const Place& place, Expr target, Expr first, Expr width, DType packed) const {
  auto& [build, size, from, to] = place;
  const DType stored = kernel_.dtype;
  Expr none =
      is_float(packed) ? loop::convert(build.constant(DType::F32, 0), packed) : build.constant_int(packed, 0);
  const Dim& along_out = stride_of(d_.rhs_out);
  std::vector<int64_t> space(d_.rhs_space.begin(), d_.rhs_space.end());
  const std::optional<Dim> along_taps = view_.run_stride(space, kernel_.dims);
  const bool forward = along_taps == kOne, backward = along_taps == Dim(int64_t{-1});
  // Squares of taps and features, or of input and output features, turned over in registers.
  const bool by_taps = taps_ > 1 && (forward || backward);
  const bool by_inputs = !by_taps && inputs_ != kOne && stride_of(d_.rhs_in) == kOne;
  if (stored == packed && along_out != kOne && (by_taps || by_inputs)) {
    build.if_then(width < build.index(nr_), [&] {
      build.vector_for(build.index(0), size(Dim(taps_ * nr_) * inputs_), static_cast<int>(nr_),
                       [&](Expr i) { build.store(to, target + i, none); });
    });
    const Dim taps(taps_), nr(nr_);
    const Dim rows = by_taps ? inputs_ : taps, columns = by_taps ? taps : inputs_;
    build.serial_for(build.index(0), size(rows), [&](Expr row) {
      const Dim between = by_taps ? inputs_ * nr : nr;  // from column to column, packed
      Expr source = first * size(along_out);
      if (by_inputs)
        source = source + tap_offset(place, row);
      else
        source = source + row * size(stride_of(d_.rhs_in)) +
                 tap_offset(place, build.index(forward ? 0 : taps_ - 1));
      Expr goal = target + row * size(by_taps ? nr : inputs_ * nr);
      if (by_taps && backward) goal = goal + size((taps - kOne) * between);
      build.transpose({to, build.let(goal), size(by_taps && backward ? Dim(int64_t{-1}) * between : between)},
                      {from, build.let(source), size(along_out)}, width, size(columns));
    });
    return;
  }
  build.serial_for(build.index(0), build.index(taps_), [&](Expr tap) {
    Expr base = build.let(tap_offset(place, tap) + first * size(along_out));
    build.serial_for(build.index(0), size(inputs_), [&](Expr i) {
      Expr row = build.let(base + i * size(stride_of(d_.rhs_in)));
      if (along_out == kOne && taps_ > kAhead)
        build.prefetch(from, row + build.index(kAhead) * size(stride_of(d_.rhs_space.back())));
      Expr goal = build.let(target + (tap * size(inputs_) + i) * nr_);
      build.vector_for(build.index(0), width, static_cast<int>(nr_), [&](Expr j) {
        Expr value = build.load(from, row + j * size(along_out));
        build.store(to, goal + j, value.type() == packed ? value : loop::convert(value, packed));
      });
      build.serial_for(width, build.index(nr_), [&](Expr j) { build.store(to, goal + j, none); });
    });
  });
}

}  // namespace ig::codegen
