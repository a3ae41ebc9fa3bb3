// Sums of products: which generator a contraction's kernel takes, and the one for many small products.
#include <algorithm>

#include "codegen/dot_operands.h"
#include "codegen/group_emitter.h"
#include "codegen/side_by_side.h"
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

// Many products of a small matrix and a vector that lie with their batch first: each lane is a product, and
// each element one chain over the terms. What a product reads lies close enough to be shuffled into place.
bool products_go_side_by_side(const GroupEmitter& emit, const Node* dot) {
  constexpr int64_t kMost = 16, kLeast = 8;
  if (!dot->attrs().find(ops::kLhsContract.name)) return false;
  const size_t batch = dot->attrs().get(ops::kLhsBatch).size();
  const Dims& dims = dot->result()->type().dims;
  if (batch == 0 || (dims[batch - 1].is_constant() && dims[batch - 1].constant() < kLeast)) return false;
  for (Value v : emit.region.results())
    if (v->type().dims != dims) return false;
  auto small = [&](const Type& type, const Ints& batch_axes) {
    Dim size = int64_t{1};  // of one matrix, or vector
    for (size_t i = 0; i < type.dims.size(); ++i)
      if (std::ranges::find(batch_axes, static_cast<int64_t>(i)) == batch_axes.end())
        size = size * type.dims[i];
    return size.is_constant() && size.constant() >= 1 && size.constant() <= kMost ? size.constant() : 0;
  };
  const int64_t a = small(dot->operand(0)->type(), dot->attrs().get(ops::kLhsBatch)),
                b = small(dot->operand(1)->type(), dot->attrs().get(ops::kRhsBatch));
  const Dim elements = product(Dims(dims.begin() + static_cast<int64_t>(batch), dims.end()));
  return a != 0 && b != 0 && elements.is_constant() && elements.constant() * std::min(a, b) == std::max(a, b);
}

// One small matrix for all rows of another one, which are short or lie side by side: each lane is a row.
bool rows_go_side_by_side(const GroupEmitter& emit, const Node* dot) {
  constexpr int64_t kMostTerms = 16, kMostColumns = 4, kLeastRows = 128;
  constexpr int64_t kTurned = 3;  // elements of a row that are worth shuffling into their lanes
  if (!dot->attrs().find(ops::kLhsContract.name) || !dot->attrs().get(ops::kLhsBatch).empty()) return false;
  const DotSide rows(dot->operand(0), {}, dot->attrs().get(ops::kLhsContract)),
      columns(dot->operand(1), {}, dot->attrs().get(ops::kRhsContract));
  if (rows.free.size() != 1 || columns.free.size() != 1) return false;
  for (Value v : emit.region.results())
    if (v->type().dims != dot->result()->type().dims) return false;
  const auto terms = constant_of(product(rows.folded_dims)), n = constant_of(columns.free_dims[0]);
  return terms && *terms >= 1 && *terms <= kMostTerms && n && *n >= 2 && *n <= kMostColumns &&
         constant_of(rows.free_dims[0]).value_or(kLeastRows) >= kLeastRows &&
         (rows.rows_lie() || *terms <= kTurned);
}

// The first `outer` axes of the results are those of the lanes.
void lower_side_by_side(GroupEmitter& emit, Kernel& kernel, const Node* dot, size_t outer) {
  constexpr int64_t kGrain = 16384;
  const Dims& dims = dot->result()->type().dims;
  const auto first = dims.begin() + static_cast<int64_t>(outer);
  const Dims rows(dims.begin(), first), own(first, dims.end());
  const int64_t elements = product(own).constant();
  SideBySide products(emit, kernel, rows, elements);
  kernel.grain = std::max<int64_t>(1, kGrain / (SideBySide::rows_of_block() * elements));
  products.each_row([&](const GroupEmitter::Index& row) {
    std::vector<std::vector<loop::Expr>> values(emit.region.results().size());
    for (int64_t e = 0; e < elements; ++e) {
      GroupEmitter::Index index = row;
      for (loop::Expr place : emit.split(emit.build.index(e), own)) index.push_back(place);
      for (size_t r = 0; r < values.size(); ++r)
        values[r].push_back(emit.build.let(emit.element(emit.region.results()[r], index)));
    }
    for (size_t r = 0; r < values.size(); ++r) products.store(r, values[r]);
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
      if (products_go_side_by_side(emit, node))
        return lower_side_by_side(emit, kernel, node, node->attrs().get(ops::kLhsBatch).size());
      if (rows_go_side_by_side(emit, node)) return lower_side_by_side(emit, kernel, node, 1);
      if (node->attrs().find("lhs_contracting_dimensions"))
        return lower_dot(emit, kernel, node, constant_operands);
      if (!emit.exact && (lower_winograd(emit, kernel, node, constant_operands) ||
                          lower_winograd_gradient(emit, kernel, node)))
        return;
      if (lower_depthwise_gradient(emit, kernel, node) ||
          lower_convolution(emit, kernel, node, constant_operands))
        return;
      return lower_loop(emit, kernel);  // other sums of products fold inside their element expression
    }
  IG_CHECK(false, "a contraction kernel without a contraction");
}

}  // namespace ig::codegen
