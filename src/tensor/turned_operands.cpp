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

// Makes the attributes of a product speak of the array whose axes the operand has in the order of
// `permutation`. False where the product is another one, or slow: the operand's free axes come in another
// order, or what lies side by side are entries of the batch.
bool turn(Attrs& attrs, std::span<const Tensor> operands, bool left, const Ints& permutation) {
  const ops::DotDims d(attrs, operands[0].rank(), operands[1].rank());
  const Ints& free = left ? d.lhs_free : d.rhs_free;
  auto source = [&](int64_t axis) { return permutation[static_cast<size_t>(axis)]; };
  if (free.empty() || !std::ranges::is_sorted(free, {}, source)) return false;
  Ints batch = left ? d.lhs_batch : d.rhs_batch, contract = left ? d.lhs_contract : d.rhs_contract;
  for (Ints* axes : {&batch, &contract}) std::ranges::transform(*axes, axes->begin(), source);
  if (std::ranges::count(batch, std::ssize(permutation) - 1) > 0) return false;
  attrs.set(left ? ops::kLhsBatch : ops::kRhsBatch, std::move(batch));
  attrs.set(left ? ops::kLhsContract : ops::kRhsContract, std::move(contract));
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
      if (auto turning = operands[i].turning();
          turning && turn(turned, operands, i == 0, *turning->permutation)) {
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
