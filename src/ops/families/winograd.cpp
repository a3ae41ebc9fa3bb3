// Which convolutions Winograd's minimal filtering is for.
#include <algorithm>
#include <optional>

#include "ops/contraction.h"

namespace ig::ops {
namespace {

constexpr int64_t kLeastFeatures = 16;  // of either side: the transforms are a small part of the products
constexpr int64_t kLeastSquares = 25;   // of 2 x 2 places in an image: the transformed weights are shared

int64_t size_of_axis(const Type& type, int64_t axis) {
  const Dim& dim = type.dims[static_cast<size_t>(axis)];
  return dim.is_constant() ? dim.constant() : 0;
}

// Its dimension numbers, where it moves two axes of one group by steps of one without gaps.
std::optional<ConvDims> plain(const Attrs& convolution, const Type& image, const Type& kernel) {
  if (image.dtype != kernel.dtype || (image.dtype != DType::F32 && image.dtype != DType::F64) ||
      accumulating_type(image.dtype, convolution.get(kAccumulate)) != image.dtype)
    return std::nullopt;
  ConvDims d(convolution);
  auto ones = [](const Ints& list) { return std::ranges::all_of(list, [](int64_t n) { return n == 1; }); };
  if (d.spatial != 2 || d.feature_groups != 1 || d.batch_groups != 1 || !ones(d.strides) ||
      !ones(d.lhs_dilation) || !ones(d.rhs_dilation))
    return std::nullopt;
  return d;
}

// Whether the axes have 3 of this and enough squares of that; where the sizes are symbols, no.
bool suits(const Ints& threes, const Ints& places) {
  int64_t squares = 1;
  for (int64_t count : places) squares *= count < 2 ? 0 : (count + 1) / 2;
  return threes == Ints{3, 3} && squares >= kLeastSquares;
}

struct Sizes {
  Ints image, kernel, result;  // along the two axes of space
};
std::optional<Sizes> sizes_of(const ConvDims& d, const Type& image, const Type& kernel) {
  Sizes out;
  for (size_t s = 0; s < 2; ++s) {
    out.image.push_back(size_of_axis(image, d.lhs_space[s]));
    out.kernel.push_back(size_of_axis(kernel, d.rhs_space[s]));
    if (out.image.back() < 1 || out.kernel.back() < 1) return std::nullopt;
    out.result.push_back(out.image.back() + d.low[s] + d.high[s] - out.kernel.back() + 1);
  }
  return out;
}

}  // namespace

bool suits_winograd(const Attrs& convolution, const Type& image, const Type& kernel) {
  const auto d = plain(convolution, image, kernel);
  if (!d || size_of_axis(kernel, d->rhs_in) < kLeastFeatures ||
      size_of_axis(kernel, d->rhs_out) < kLeastFeatures)
    return false;
  const auto sizes = sizes_of(*d, image, kernel);
  return sizes && suits(sizes->kernel, sizes->result);
}

bool suits_winograd_gradient(const Attrs& convolution, const Type& image, const Type& kernel) {
  const auto d = plain(convolution, image, kernel);
  if (!d || size_of_axis(image, d->lhs_batch) < kLeastFeatures ||
      size_of_axis(kernel, d->rhs_out) < kLeastFeatures)
    return false;
  const auto sizes = sizes_of(*d, image, kernel);
  return sizes && suits(sizes->result, sizes->kernel);
}

}  // namespace ig::ops
