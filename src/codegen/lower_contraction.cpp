// Sums of products: which generator a contraction's kernel takes, and the one for many small products.
#include <algorithm>

#include "codegen/group_emitter.h"
#include "ops/attention_attrs.h"
#include "ops/contraction.h"

namespace ig::codegen {
namespace {

// Products of small matrices that lie with their batch last: a vector holds the same element of as many
// products. A tile of the batch stays in the first cache while all its elements are computed, each as one
// chain over the terms. The results lie with the batch last too, or are one number for each product.
void lower_small_products(GroupEmitter& emit, Kernel& kernel) {
  constexpr int64_t kTile = 64, kGrain = 65536, kUsualTerms = 16;
  loop::Builder& build = emit.build;
  const Dims dims = emit.region.results()[0]->type().dims;
  const Dims outer(dims.begin(), dims.end() - 1);
  const int lanes = natural_lanes(emit.target, widest_element(emit.region));
  const Dim rows = product(outer);
  kernel.blocks = ceildiv(dims.back(), Dim(kTile));
  kernel.grain = std::max<int64_t>(1, kGrain / (kTile * kUsualTerms * std::max<int64_t>(1, rows.constant())));
  loop::Expr begin = build.let(build.block() * build.index(kTile)), count = emit.size(dims.back());
  loop::Expr end = build.let(loop::lesser(begin + build.index(kTile), count));
  emit.serial(build.index(0), emit.size(rows), [&](loop::Expr row) {
    GroupEmitter::Index place = emit.split(row, outer);
    emit.vector(begin, end, lanes, [&](loop::Expr i) {
      GroupEmitter::Index index = place;
      index.push_back(i);
      std::vector<loop::Expr> values;
      for (Value v : emit.region.results()) values.push_back(build.let(emit.element(v, index)));
      for (size_t r = 0; r < values.size(); ++r) emit.store_result(r, row * count + i, values[r]);
    });
  });
}

// Whether the walk of the kernel's results ends with the batch.
bool walks_batch(const GroupEmitter& emit, const Node* dot) {
  if (!ops::batch_lies_last(dot)) return false;
  if (dot->result()->type().rank() == 1) return true;
  const auto& uses = dot->result()->uses();  // fusion takes in no other view of the product
  return uses.size() == 1 && uses[0].user != emit.region.terminator() &&
         uses[0].user->attrs().find(ops::kPermutation.name);
}

}  // namespace

void lower_contraction(GroupEmitter& emit, Kernel& kernel, const std::vector<bool>& constant_operands) {
  for (Node* node : emit.region)
    if (ops::has(node, ops::Trait::Contraction)) {
      if (node->attrs().find(ops::kMaskGradient.name)) return lower_attention_gradient(emit, kernel, node);
      if (ops::has(node, ops::Trait::Composite)) return lower_attention(emit, kernel, node);
      if (walks_batch(emit, node)) return lower_small_products(emit, kernel);
      if (node->attrs().find("lhs_contracting_dimensions"))
        return lower_dot(emit, kernel, node, constant_operands);
      if (lower_convolution(emit, kernel, node, constant_operands)) return;
      return lower_loop(emit, kernel);  // other sums of products fold inside their element expression
    }
  IG_CHECK(false, "a contraction kernel without a contraction");
}

}  // namespace ig::codegen
