// A convolution of one tap is a product of matrices: each place's features times the kernel's. Its sums run
// over the input features in their order, as the product's do, so the bits are the same. So is one of as many
// taps as places, which has one place itself: the gradient by the weights of a convolution of one tap.
#include <algorithm>
#include <utility>

#include "ops/contraction.h"
#include "ops/shape_attrs.h"

namespace ig::ops {
namespace {

bool all_are(const Ints& list, int64_t number) {
  return std::ranges::all_of(list, [&](int64_t x) { return x == number; });
}

std::string without(std::string letters, std::string_view gone) {
  std::erase_if(letters, [&](char c) { return gone.find(c) != std::string_view::npos; });
  return letters;
}

bool reads_as_it_is(const ConvDims& d) {
  return d.feature_groups == 1 && d.batch_groups == 1 && all_are(d.low, 0) && all_are(d.high, 0) &&
         all_are(d.lhs_dilation, 1);
}

// Both operands summed over the space, the first axis slowest, and then over the input features.
Value sum_over_places(Builder& build, const Node* convolution, const ConvDims& d, const ConvLayout& layout) {
  Value x = convolution->operand(0), w = convolution->operand(1);
  Ints of_image(d.lhs_space.begin(), d.lhs_space.end()), of_kernel(d.rhs_space.begin(), d.rhs_space.end());
  of_image.push_back(d.lhs_feature), of_kernel.push_back(d.rhs_in);
  const bool batch_first = layout.result.find('b') < layout.result.find('f');
  if (!batch_first) std::swap(x, w), std::swap(of_image, of_kernel);
  Value product = build("dot_general", {x, w},
                        {kLhsBatch % Ints{}, kRhsBatch % Ints{}, kLhsContract % of_image,
                         kRhsContract % of_kernel, kAccumulate % convolution->attrs().get(kAccumulate)});
  Dims dims;
  for (char axis : layout.result)
    dims.push_back(axis == 'b'   ? product->type().dims[batch_first ? 0 : 1]
                   : axis == 'f' ? product->type().dims[batch_first ? 1 : 0]
                                 : Dim(int64_t{1}));
  return build.reshape(product, dims);
}

}  // namespace

bool has_one_tap(const Node* convolution) {
  const ConvDims d(convolution->attrs());
  const Dims& kernel = convolution->operand(1)->type().dims;
  return reads_as_it_is(d) && all_are(d.strides, 1) && std::ranges::all_of(d.rhs_space, [&](int64_t axis) {
           return kernel[static_cast<size_t>(axis)] == Dim(int64_t{1});
         });
}

bool has_one_place(const Node* convolution) {
  const ConvDims d(convolution->attrs());
  const Dims &image = convolution->operand(0)->type().dims, &kernel = convolution->operand(1)->type().dims;
  bool many = false;
  for (size_t s = 0; s < d.rhs_space.size(); ++s) {
    const Dim& taps = kernel[static_cast<size_t>(d.rhs_space[s])];
    if (taps != image[static_cast<size_t>(d.lhs_space[s])]) return false;
    many = many || taps != Dim(int64_t{1});
  }
  return many;
}

Value as_product(Builder& build, const Node* convolution, const Node* turned) {
  const Attrs& attrs = convolution->attrs();
  const ConvDims d(attrs);
  ConvLayout layout(attrs.get(kConvLayout));
  if (turned) {
    const std::string own = std::exchange(layout.result, "");
    for (int64_t axis : turned->attrs().get(kPermutation)) layout.result += own[static_cast<size_t>(axis)];
  }
  Value x = convolution->operand(0), w = convolution->operand(1);
  const Dims &image = x->type().dims, &kernel = w->type().dims;
  if (reads_as_it_is(d) && all_are(d.rhs_dilation, 1) && has_one_place(convolution))
    return sum_over_places(build, convolution, d, layout);
  if (!has_one_tap(convolution)) return nullptr;
  // The result's axes are the product's, so that what follows finds a product before it.
  auto product = [&](Value lhs, int64_t lhs_axis, Value rhs, int64_t rhs_axis, const Ints& lhs_batch,
                     const Ints& rhs_batch) {
    return build("dot_general", {lhs, rhs},
                 {kLhsBatch % lhs_batch, kRhsBatch % rhs_batch, kLhsContract % Ints{lhs_axis},
                  kRhsContract % Ints{rhs_axis}, kAccumulate % attrs.get(kAccumulate)});
  };
  const std::string space = without(layout.image, "bf");
  const bool out_first = without(layout.kernel, space) == "oi";
  const Dim out = kernel[static_cast<size_t>(d.rhs_out)], in = kernel[static_cast<size_t>(d.rhs_in)];
  auto matrix = [&] { return build.reshape(w, out_first ? Dims{out, in} : Dims{in, out}); };
  // Features last: places times features.
  if (layout.result == without(layout.image, "f") + "f")
    return product(x, d.lhs_feature, matrix(), out_first ? 1 : 0, {}, {});
  // Features behind the batch: of each image features times places. All images have the same kernel. Where
  // the image's features lie last the product would turn it over.
  if (layout.result != "bf" + space || layout.image != layout.result) return nullptr;
  const Dim batch = image[static_cast<size_t>(d.lhs_batch)];
  const Dims many = out_first ? Dims{batch, out, in} : Dims{batch, in, out};
  Value kernels = batch == Dim(int64_t{1}) ? build.reshape(w, many) : build.broadcast(matrix(), many, {1, 2});
  return product(kernels, out_first ? 2 : 1, x, d.lhs_feature, {0}, {d.lhs_batch});
}

}  // namespace ig::ops
