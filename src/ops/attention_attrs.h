// The attributes of scaled dot-product attention, for the op and for the kernel generator that takes it
// whole.
#pragma once

#include "ops/attrs.h"

namespace ig::ops {

inline constexpr Attr<bool> kCausal{"causal", "A query attends to no key behind its own position.", "false"};
inline constexpr Attr<double> kScale{
    "scale", "The factor of the scores; 0 stands for one over the root of the features.", "0x0p+0"};

}  // namespace ig::ops
