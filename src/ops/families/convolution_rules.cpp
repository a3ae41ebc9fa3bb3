// The transposes of a convolution: by the image, a convolution of the cotangent with the kernel turned round;
// by the kernel, one of the image with the cotangent as its kernel.
#include <algorithm>

#include "ops/attrs.h"
#include "ops/contraction.h"
#include "ops/families/array_tools.h"
#include "ops/families/derivative_rules.h"
#include "ops/shape_attrs.h"
#include "ops/table.h"

namespace ig::ops {
namespace {

std::string swapped(std::string text, char a, char b, char to_a, char to_b) {
  for (char& letter : text) letter = letter == a ? to_a : letter == b ? to_b : letter;
  return text;
}

// The axis cut in two: `count` outside, the rest inside.
Value cut(Builder& b, Value x, int64_t axis, int64_t count) {
  Dims dims = x->type().dims;
  auto i = static_cast<size_t>(axis);
  Dim rest = floordiv(dims[i], count);
  dims[i] = count;
  dims.insert(dims.begin() + axis + 1, rest);
  return b.reshape(x, dims);
}

// The axis moved outside of another (counted without it), and both made one.
Value merged(Builder& b, Value x, int64_t axis, int64_t into) {
  Ints order;
  for (int64_t i = 0; i < x->type().rank(); ++i)
    if (i != axis) order.push_back(i);
  order.insert(order.begin() + into, axis);
  Value turned = b.transpose(x, order);
  Dims dims = turned->type().dims;
  auto i = static_cast<size_t>(into);
  dims[i] = dims[i] * dims[i + 1];
  dims.erase(dims.begin() + into + 1);
  return b.reshape(turned, dims);
}

struct Sizes {
  Dims image, kernel, result;  // of the spatial axes, with gaps: how far they reach
};

Dim reach(const Dim& size, int64_t dilation) {
  if (size == Dim(int64_t{0})) return size;
  return (size - 1) * dilation + 1;
}

Sizes sizes_of(TransposeContext& c, const ConvDims& d, const Type& out) {
  const Type &x = c.node->operand(0)->type(), &w = c.node->operand(1)->type();
  Sizes s;
  for (size_t i = 0; i < static_cast<size_t>(d.spatial); ++i) {
    s.image.push_back(reach(x.dims[static_cast<size_t>(d.lhs_space[i])], d.lhs_dilation[i]));
    s.kernel.push_back(reach(w.dims[static_cast<size_t>(d.rhs_space[i])], d.rhs_dilation[i]));
    s.result.push_back(reach(out.dims[static_cast<size_t>(d.out_space[i])], d.strides[i]));
  }
  return s;
}

bool are_numbers(const Dims& dims) {
  return std::ranges::all_of(dims, [](const Dim& d) { return d.is_constant(); });
}

// What a convolution reads in the place of an image, and how. Gaps and padding are the convolution's own
// where they are numbers; else they are written out, for which sizes may be symbolic.
struct Image {
  Value value;
  Ints dilation, padding;  // padding: low0, high0, low1, …
};

Image padded(Builder& b, Value x, const Ints& space, const Ints& dilation, const Dims& low,
             const Dims& high) {
  if (are_numbers(low) && are_numbers(high)) {
    Image out{x, dilation, {}};
    for (size_t i = 0; i < space.size(); ++i)
      out.padding.insert(out.padding.end(), {low[i].constant(), high[i].constant()});
    return out;
  }
  const auto rank = static_cast<size_t>(x->type().rank());
  Dims before(rank, Dim(int64_t{0})), behind(rank, Dim(int64_t{0}));
  Ints between(rank, 0);
  for (size_t i = 0; i < space.size(); ++i) {
    auto axis = static_cast<size_t>(space[i]);
    before[axis] = low[i], behind[axis] = high[i], between[axis] = dilation[i] - 1;
  }
  Value written = b("pad", {x, b.scalar(x->type().dtype, 0)},
                    {kPadLow % before, kPadHigh % behind, kPadInterior % between});
  return {written, Ints(space.size(), 1), Ints(2 * space.size(), 0)};
}

Value of_image(TransposeContext& c, const ConvDims& d, const Sizes& s, const ConvLayout& layout) {
  Value kernel = c.operands[1];
  int64_t groups = std::max(d.feature_groups, d.batch_groups);
  if (groups > 1) kernel = merged(c.build, cut(c.build, kernel, d.rhs_out, groups), d.rhs_out, d.rhs_in);
  if (!d.rhs_space.empty()) kernel = c.build("reverse", {kernel}, {kReversed % d.rhs_space});
  Dims low, high;
  for (size_t i = 0; i < d.rhs_space.size(); ++i) {
    low.push_back(s.kernel[i] - d.low[i] - 1);
    high.push_back(s.image[i] + s.kernel[i] - 1 - s.result[i] - low[i]);
  }
  std::string text = layout.result + "_" + swapped(layout.kernel, 'o', 'i', 'i', 'o') + "->" + layout.image;
  Image cotangent = padded(c.build, c.cotangents[0], d.out_space, d.strides, low, high);
  Value out =
      c.build("convolution", {cotangent.value, kernel},
              {kConvLayout % text, kConvStrides % d.lhs_dilation, kConvPadding % cotangent.padding,
               kLhsDilation % cotangent.dilation, kRhsDilation % d.rhs_dilation, kFeatureGroups % groups,
               kBatchGroups % int64_t{1}, kAccumulate % c.node->attrs().get(kAccumulate)});
  if (d.batch_groups > 1)
    out = merged(c.build, cut(c.build, out, d.lhs_feature, d.batch_groups), d.lhs_feature, d.lhs_batch);
  return out;
}

Value of_kernel(TransposeContext& c, const ConvDims& d, const Sizes& s, const ConvLayout& layout) {
  Dims low, high;
  for (size_t i = 0; i < d.lhs_space.size(); ++i) {
    low.emplace_back(d.low[i]);
    high.push_back(s.result[i] - s.image[i] + s.kernel[i] - d.low[i] - 1);
  }
  std::string text = swapped(layout.image, 'b', 'f', 'f', 'b') + "_" +
                     swapped(layout.result, 'f', 'b', 'o', 'i') + "->" +
                     swapped(layout.kernel, 'i', 'o', 'b', 'f');
  Image image = padded(c.build, c.operands[0], d.lhs_space, d.lhs_dilation, low, high);
  return c.build("convolution", {image.value, c.cotangents[0]},
                 {kConvLayout % text, kConvStrides % d.rhs_dilation, kConvPadding % image.padding,
                  kLhsDilation % image.dilation, kRhsDilation % d.strides, kFeatureGroups % d.batch_groups,
                  kBatchGroups % d.feature_groups, kAccumulate % c.node->attrs().get(kAccumulate)});
}

// By a kernel of one tap: a product of matrices, summed over the places of one image after the other, in
// the order in which they lie in memory. (A convolution sums over the images of one place after the other.)
Value of_one_tap(TransposeContext& c, const ConvDims& d, const ConvLayout& layout) {
  Ints of_image{d.lhs_batch}, of_result{d.out_batch};
  of_image.insert(of_image.end(), d.lhs_space.begin(), d.lhs_space.end());
  of_result.insert(of_result.end(), d.out_space.begin(), d.out_space.end());
  const bool out_first = layout.kernel.find('o') < layout.kernel.find('i');
  Value x = c.operands[0], ct = c.cotangents[0];
  Value product = c.build(
      "dot_general", {out_first ? ct : x, out_first ? x : ct},
      {kLhsBatch % Ints{}, kRhsBatch % Ints{}, kLhsContract % (out_first ? of_result : of_image),
       kRhsContract % (out_first ? of_image : of_result), kAccumulate % c.node->attrs().get(kAccumulate)});
  return c.build.reshape(product, c.node->operand(1)->type().dims);
}

}  // namespace

std::vector<Value> transpose_convolution(TransposeContext& c) {
  Value ct = c.cotangents[0];
  if (!ct) return {nullptr, nullptr};
  require_one_linear(c);
  ConvDims d(c.node->attrs());
  std::vector<Value> out(2, nullptr);
  for (size_t i = 0; i < 2; ++i) {
    if (!c.linear[i]) continue;
    const Type& type = c.node->operand(i)->type();
    if (tools::surely_empty(ct->type()) || tools::surely_empty(c.node->operand(1 - i)->type())) {
      out[i] = c.build.full(type, 0);
      continue;
    }
    Sizes s = sizes_of(c, d, ct->type());
    ConvLayout layout(c.node->attrs().get(kConvLayout));
    out[i] = i == 0                ? of_image(c, d, s, layout)
             : has_one_tap(c.node) ? of_one_tap(c, d, layout)
                                   : of_kernel(c, d, s, layout);
  }
  return out;
}

}  // namespace ig::ops
