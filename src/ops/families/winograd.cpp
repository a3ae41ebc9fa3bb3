// Which convolutions Winograd's minimal filtering is for.
#include <algorithm>

#include "ops/contraction.h"

namespace ig::ops {

bool suits_winograd(const Attrs& convolution, const Type& image, const Type& kernel) {
  constexpr int64_t kLeastFeatures = 16;  // of either side: the transforms are a small part of the products
  constexpr int64_t kLeastSquares = 25;   // of 2 x 2 places, to share the transformed weights
  const ConvDims d(convolution);
  if (d.spatial != 2 || d.feature_groups != 1 || d.batch_groups != 1 || image.dtype != kernel.dtype ||
      (image.dtype != DType::F32 && image.dtype != DType::F64) ||
      accumulating_type(image.dtype, convolution.get(kAccumulate)) != image.dtype)
    return false;
  auto ones = [](const Ints& list) { return std::ranges::all_of(list, [](int64_t n) { return n == 1; }); };
  if (!ones(d.strides) || !ones(d.lhs_dilation) || !ones(d.rhs_dilation)) return false;
  auto size = [](const Type& type, int64_t axis) {
    const Dim& dim = type.dims[static_cast<size_t>(axis)];
    return dim.is_constant() ? dim.constant() : 0;
  };
  if (size(kernel, d.rhs_in) < kLeastFeatures || size(kernel, d.rhs_out) < kLeastFeatures) return false;
  int64_t squares = 1;
  for (size_t s = 0; s < 2; ++s) {
    const int64_t image_size = size(image, d.lhs_space[s]);
    const int64_t places = image_size + d.low[s] + d.high[s] - 2;
    if (size(kernel, d.rhs_space[s]) != 3 || image_size < 1 || places < 2) return false;
    squares *= (places + 1) / 2;
  }
  return squares >= kLeastSquares;
}

}  // namespace ig::ops
