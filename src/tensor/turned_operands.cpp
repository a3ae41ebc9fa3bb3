// Which products take an operand as it lies.
#include "tensor/turned_operands.h"

#include <algorithm>

#include "ops/contraction.h"
#include "ops/table.h"
#include "tensor/eager_cache.h"

namespace ig::eager {
namespace {

bool is_product(const Attrs& attrs) { return attrs.find(ops::kLhsContract.name) != nullptr; }

// Whether views and products are all that the body has: so its nodes run one by one.
bool has_only_products(const Graph& body) {
  bool any = false;
  for (const Node* node : body.body()) {
    if (node->op().name() == kReturnOp) continue;
    any = any || is_product(node->attrs());
    const bool plain = node->operands().size() == 1 && ops::has(node, ops::Trait::View);
    if (!node->regions().empty() || (!plain && !is_product(node->attrs()))) return false;
  }
  return any;
}

// Makes the attributes speak of the array whose axes the operand has in the order of `permutation`. False
// where the product is another one, or slow: the operand's free axes come in another order, or what lies side
// by side are entries of the batch.
bool turn(Attrs& attrs, bool left, const std::vector<int64_t>& permutation) {
  const Attr<Ints>& batch_attr = left ? ops::kLhsBatch : ops::kRhsBatch;
  const Attr<Ints>& contract_attr = left ? ops::kLhsContract : ops::kRhsContract;
  Ints batch = attrs.get(batch_attr), contract = attrs.get(contract_attr);
  int64_t before = -1;
  for (size_t axis = 0; axis < permutation.size(); ++axis) {
    const auto number = static_cast<int64_t>(axis);
    if (std::ranges::count(batch, number) > 0 || std::ranges::count(contract, number) > 0) continue;
    if (permutation[axis] < before) return false;
    before = permutation[axis];
  }
  if (before < 0) return false;
  for (Ints* axes : {&batch, &contract})
    for (int64_t& axis : *axes) axis = permutation[static_cast<size_t>(axis)];
  if (std::ranges::count(batch, std::ssize(permutation) - 1) > 0) return false;
  attrs.set(batch_attr, std::move(batch));
  attrs.set(contract_attr, std::move(contract));
  return true;
}

}  // namespace

std::optional<std::vector<Tensor>> with_turned_operands(
    const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
    const std::function<std::optional<std::vector<Tensor>>(std::span<const Tensor>, const Attrs&)>& run,
    const std::function<std::vector<Tensor>(const Graph& body)>& run_body) {
  if (is_product(attrs)) {
    Attrs turned = ops::complete_attrs(op, attrs);
    std::vector<Tensor> of(operands.begin(), operands.end());
    bool any = false;
    for (size_t i = 0; i < of.size(); ++i)
      if (auto turning = operands[i].turning(); turning && turn(turned, i == 0, *turning->permutation)) {
        of[i] = turning->of;
        any = true;
      }
    if (!any) return std::nullopt;
    return run(of, turned);
  }
  if (!op.has(ops::Trait::Composite) || op.has(ops::Trait::Contraction)) return std::nullopt;
  constexpr char kProducts = '@';
  std::shared_ptr<Entry> entry = entry_of(size_key(op, operands, attrs, kProducts));
  entry->once([&] {
    entry->products = body_of(op, operands, attrs);
    if (entry->products && !has_only_products(*entry->products)) entry->products = nullptr;
  });
  if (!entry->products) return std::nullopt;
  return run_body(*entry->products);
}

}  // namespace ig::eager
