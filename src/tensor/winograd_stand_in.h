// Convolutions of 3 x 3 taps, and their gradients by the taps, by Winograd's minimal filtering, of which only
// the products of matrices are a kernel's: the same steps in the same order as codegen/lower_winograd.cpp and
// lower_winograd_gradient.cpp, where they are explained, so the bits are the same.
#pragma once

#include <array>
#include <functional>
#include <optional>

#include "tensor/tensor.h"

namespace ig::eager {

// [terms, m, k] times [terms, k, n]; in a gradient [terms, k, m] turned over times [terms, k, n].
using Products = std::function<std::optional<Tensor>(const Tensor&, const Tensor&)>;

// `image`: [images, rows, columns, inputs]; `taps`: [3, 3, inputs, features], both of float32 or float64;
// `low`: what is added in front of the rows and of the columns; `places`: how many the result has of each.
// Gives [images, places, places, features], or nothing where there are no products.
std::optional<Tensor> filter_squares(const Tensor& image, const Tensor& taps, std::array<int64_t, 2> low,
                                     std::array<int64_t, 2> places, const Products& products);

// `cotangent`: [images, places, places, features]. Gives [3, 3, inputs, features], or nothing where there are
// no products, or where the images are many, which all lie transformed at once.
std::optional<Tensor> filter_taps(const Tensor& image, const Tensor& cotangent, std::array<int64_t, 2> low,
                                  const Products& products);

}  // namespace ig::eager
