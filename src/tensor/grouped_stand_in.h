// Convolutions of many groups (depthwise ones, and their gradients) without a kernel of their own: products
// of a group would have few columns, so the groups are what lies side by side in vectors.
#pragma once

#include "ops/contraction.h"
#include "tensor/tensor.h"

namespace ig::eager {

// Of operands of float32 or float64, summed in their own type, none of them empty. The sums run over the
// taps, then the input features, as in a kernel of the convolution's own: the bits are the same.
Tensor convolve_groups(const Tensor& image, const Tensor& weights, const ops::ConvDims& dims,
                       const Type& result);

}  // namespace ig::eager
