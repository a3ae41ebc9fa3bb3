// The attributes of scaled dot-product attention and its gradient, for the ops and for the kernel generators
// that take them whole.
#pragma once

#include "ops/attrs.h"

namespace ig::ops {

inline constexpr Attr<bool> kCausal{"causal", "A query attends to no key behind its own position.", "false"};
inline constexpr Attr<double> kScale{
    "scale", "The factor of the scores; 0 stands for one over the root of the features.", "0x0p+0"};
inline constexpr Attr<bool> kMaskGradient{"mask_gradient", "Gives the mask's gradient too.", "false"};

}  // namespace ig::ops
