// Writes convolutions of one tap, and those of one feature with as many taps as places, as the
// products of matrices that they are, once layouts are chosen: a product's kernel packs nothing of the image,
// keeps no sums waiting, and compiles in a third of the time. The sums are the same, in the same order.
#include <vector>

#include <fmt/format.h>

#include "ops/builder.h"
#include "ops/contraction.h"
#include "ops/shape_attrs.h"
#include "passes/pass.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

// The node that alone reads the value, where it turns it over; else null.
Node* only_turned(Value v) {
  if (v->uses().size() != 1) return nullptr;
  Node* user = v->uses()[0].user;
  return user->attrs().find(ops::kPermutation.name) ? user : nullptr;
}

// Whether the product is the quicker one. Where features come first, a product's vectors are places of one
// image, while a convolution's tile takes those of several; and few features in, many out are stores far
// apart.
bool pays(const Node* convolution, const Node* turned) {
  constexpr int64_t kFewInputs = 8, kManyOutputs = 32;
  constexpr int64_t kVector = 16, kStrip = 32;  // columns of a product's tiles
  constexpr double kFilled = 0.9;
  const ops::ConvDims d(convolution->attrs());
  if (ops::has_one_place(convolution))  // sums over the space alone: others would be packed across images
    return convolution->operand(0)->type().dims[static_cast<size_t>(d.lhs_feature)] == Dim(int64_t{1});
  const int last = convolution->result()->type().rank() - 1;
  const int64_t comes_last = turned ? turned->attrs().get(ops::kPermutation).back() : last;
  if (comes_last == d.out_feature) return true;
  const Dims &image = convolution->operand(0)->type().dims, &kernel = convolution->operand(1)->type().dims;
  auto size = [](const Dims& dims, int64_t axis) { return dims[static_cast<size_t>(axis)]; };
  const Dim in = size(kernel, d.rhs_in), out = size(kernel, d.rhs_out);
  if (in.is_constant() && out.is_constant() && in.constant() < kFewInputs && out.constant() >= kManyOutputs)
    return false;
  Dim places = int64_t{1};
  for (int64_t axis : d.lhs_space) places = places * size(image, axis);
  if (size(image, d.lhs_batch) == Dim(int64_t{1}) || !places.is_constant()) return true;
  const int64_t count = places.constant(), width = count <= kVector ? kVector : kStrip;
  const int64_t computed = (count + width - 1) / width * width;
  return static_cast<double>(count) >= kFilled * static_cast<double>(computed);
}

}  // namespace

void one_tap_products(Graph& graph, Context& context) {
  for_each_block(graph.body(), [&](Block& block) {
    std::vector<Node*> convolutions;
    for (Node* node : block)
      if (node->attrs().find(ops::kConvLayout.name)) convolutions.push_back(node);
    for (Node* node : convolutions) {
      ops::Builder build(block, node);
      build.at(node);
      Node* turned = only_turned(node->result());
      Value product = turned && pays(node, turned) ? ops::as_product(build, node, turned) : nullptr;
      if (!product) {
        turned = nullptr;
        product = pays(node, nullptr) ? ops::as_product(build, node, nullptr) : nullptr;
      }
      if (!product) continue;
      context.changed(fmt::format("{} of one {}: a product", node->op().name(),
                                  ops::has_one_place(node) ? "place" : "tap"));
      replace(turned ? turned : node, std::span(&product, 1));
      if (turned) graph.erase(turned);
      graph.erase(node);
    }
  });
}

}  // namespace ig::passes
