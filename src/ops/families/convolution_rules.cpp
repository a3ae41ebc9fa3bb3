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
  Ints image, kernel, result;  // of the spatial axes, with gaps: how far they reach
};

int64_t reach(const Dim& size, int64_t dilation) {
  return size.constant() == 0 ? 0 : 1 + dilation * (size.constant() - 1);
}

Sizes sizes_of(TransposeContext& c, const ConvDims& d, const Type& out) {
  const Type &x = c.node->operand(0)->type(), &w = c.node->operand(1)->type();
  Sizes s;
  for (size_t i = 0; i < static_cast<size_t>(d.spatial); ++i) {
    const Dim& image = x.dims[static_cast<size_t>(d.lhs_space[i])];
    const Dim& kernel = w.dims[static_cast<size_t>(d.rhs_space[i])];
    const Dim& result = out.dims[static_cast<size_t>(d.out_space[i])];
    if (!image.is_constant() || !kernel.is_constant() || !result.is_constant())
      throw make_error(ErrorKind::Unsupported,
                       "convolution: it cannot be transposed over the symbolic sizes {}", str(x.dims))
          .at(c.node->location().str())
          .why(
              "the padding of the transposed convolution follows from the spatial sizes, and is made of "
              "numbers")
          .hint("fix the spatial sizes; the batch and the features may vary");
    s.image.push_back(reach(image, d.lhs_dilation[i]));
    s.kernel.push_back(reach(kernel, d.rhs_dilation[i]));
    s.result.push_back(reach(result, d.strides[i]));
  }
  return s;
}

struct Layout {
  std::string image, kernel, result;
  explicit Layout(std::string_view text)
      : image(text.substr(0, text.find('_'))),
        kernel(text.substr(text.find('_') + 1, text.find("->") - text.find('_') - 1)),
        result(text.substr(text.find("->") + 2)) {}
};

Value of_image(TransposeContext& c, const ConvDims& d, const Sizes& s, const Layout& layout) {
  Value kernel = c.operands[1];
  int64_t groups = std::max(d.feature_groups, d.batch_groups);
  if (groups > 1) kernel = merged(c.build, cut(c.build, kernel, d.rhs_out, groups), d.rhs_out, d.rhs_in);
  Ints space(d.rhs_space.begin(), d.rhs_space.end()), padding;
  if (!space.empty()) kernel = c.build("reverse", {kernel}, {kReversed % space});
  for (size_t i = 0; i < space.size(); ++i) {
    int64_t before = s.kernel[i] - d.low[i] - 1;
    padding.push_back(before);
    padding.push_back(s.image[i] + s.kernel[i] - 1 - s.result[i] - before);
  }
  std::string text = layout.result + "_" + swapped(layout.kernel, 'o', 'i', 'i', 'o') + "->" + layout.image;
  Value out = c.build("convolution", {c.cotangents[0], kernel},
                      {kConvLayout % text, kConvStrides % d.lhs_dilation, kConvPadding % padding,
                       kLhsDilation % d.strides, kRhsDilation % d.rhs_dilation, kFeatureGroups % groups,
                       kBatchGroups % int64_t{1}, kAccumulate % c.node->attrs().get(kAccumulate)});
  if (d.batch_groups > 1)
    out = merged(c.build, cut(c.build, out, d.lhs_feature, d.batch_groups), d.lhs_feature, d.lhs_batch);
  return out;
}

Value of_kernel(TransposeContext& c, const ConvDims& d, const Sizes& s, const Layout& layout) {
  Ints padding;
  for (size_t i = 0; i < static_cast<size_t>(d.spatial); ++i) {
    padding.push_back(d.low[i]);
    padding.push_back(s.result[i] - s.image[i] + s.kernel[i] - d.low[i] - 1);
  }
  std::string text = swapped(layout.image, 'b', 'f', 'f', 'b') + "_" +
                     swapped(layout.result, 'f', 'b', 'o', 'i') + "->" +
                     swapped(layout.kernel, 'i', 'o', 'b', 'f');
  return c.build("convolution", {c.operands[0], c.cotangents[0]},
                 {kConvLayout % text, kConvStrides % d.rhs_dilation, kConvPadding % padding,
                  kLhsDilation % d.lhs_dilation, kRhsDilation % d.strides, kFeatureGroups % d.batch_groups,
                  kBatchGroups % d.feature_groups, kAccumulate % c.node->attrs().get(kAccumulate)});
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
    Layout layout(c.node->attrs().get(kConvLayout));
    out[i] = i == 0 ? of_image(c, d, s, layout) : of_kernel(c, d, s, layout);
  }
  return out;
}

}  // namespace ig::ops
