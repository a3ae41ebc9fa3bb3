// The kernel of a convolution as its tiles read it: strips of nr output features, in each of them
// [tap][input feature][nr]. Features that a last strip lacks are zeros.
#pragma once

#include "loop/loop.h"
#include "ops/contraction.h"
#include "ops/indexing.h"
#include "ops/strided_view.h"

namespace ig::codegen {

class WeightStrips {
 public:
  // `view`: how the kernel, of this type, lies in what the strips are packed from.
  WeightStrips(const ops::ConvDims& d, const ops::StridedView& view, const Type& kernel, int64_t nr);

  struct Place {
    loop::Builder& build;
    const ops::SizeFn& size;
    uint32_t from, to;  // buffers
  };
  // Packs the strip of `width` features from number `first` on, beginning at `target`, as elements of type
  // `packed`.
  void pack(const Place& place, loop::Expr target, loop::Expr first, loop::Expr width, DType packed) const;

 private:
  const Dim& stride_of(int64_t axis) const { return view_.strides[static_cast<size_t>(axis)]; }
  loop::Expr tap_offset(const Place& place, loop::Expr tap) const;

  const ops::ConvDims& d_;
  const ops::StridedView& view_;
  const Type& kernel_;
  Dims space_;  // taps along each axis
  Dim inputs_ = int64_t{0};
  int64_t taps_ = 1, nr_;
};

}  // namespace ig::codegen
