// The attributes of scaled dot-product attention and its gradient, for the ops and for the kernel generators
// and passes that take them whole; and one of them as a mask.
#pragma once

#include "ops/attrs.h"
#include "ops/builder.h"

namespace ig::ops {

inline constexpr Attr<bool> kCausal{"causal", "A query attends to no key behind its own position.", "false"};
inline constexpr Attr<double> kScale{
    "scale", "The factor of the scores; 0 stands for one over the root of the features.", "0x0p+0"};
inline constexpr Attr<bool> kMaskGradient{"mask_gradient", "Gives the mask's gradient too.", "false"};

// The mask that says what `causal` does, and what the node's own mask of truth values does, if it has one.
Value causal_mask(Builder& build, const Node* node);

}  // namespace ig::ops
