// Masked cotangents.
#include "ops/masks.h"

#include "ops/attrs.h"
#include "ops/families/array_tools.h"

namespace ig::ops {
namespace {

bool is_zero(Value v) {
  const Node* node = v->node();
  if (!node) return false;
  if (has(node, Trait::View) && node->operands().size() == 1) return is_zero(node->operand(0));
  const AttrValue* value = has(node, Trait::Constant) ? node->attrs().find("value") : nullptr;
  const Literal* literal = value ? std::get_if<Literal>(value) : nullptr;
  if (!literal || literal->elements() != 1) return false;
  std::string_view bytes(static_cast<const char*>(literal->data()), size_of(literal->dtype()));
  return bytes.find_first_not_of('\0') == std::string_view::npos;  // +0
}

}  // namespace

std::optional<Masked> masked(Value v) {
  static const Op& select = get("select");
  const Node* node = v->node();
  if (!node || &op_of(node) != &select) return std::nullopt;
  if (is_zero(node->operand(2))) return Masked{node->operand(1), {node->operand(0), true}};
  if (is_zero(node->operand(1))) return Masked{node->operand(2), {node->operand(0), false}};
  return std::nullopt;
}

Value with_mask(Builder& build, Value v, const Mask& mask) {
  Value none = build.full_like(v, 0);
  return build("select", {mask.condition, mask.where ? v : none, mask.where ? none : v});
}

Value without_masks(Value v, std::vector<Mask>& masks) {
  while (std::optional<Masked> m = masked(v)) {
    masks.push_back(m->mask);
    v = m->value;
  }
  return v;
}

Value with_masks(Builder& build, Value v, const std::vector<Mask>& masks) {
  for (size_t i = masks.size(); i-- > 0;) v = with_mask(build, v, masks[i]);
  return v;
}

Value sum_of_masked(Builder& build, Value a, Value b) {
  if (!a || !b) return a ? a : b;
  std::optional<Masked> x = masked(a), y = masked(b);
  if (!x || !y || x->mask.condition != y->mask.condition || x->mask.where != y->mask.where)
    return tools::sum_of(build, a, b);
  return with_mask(build, sum_of_masked(build, x->value, y->value), x->mask);
}

}  // namespace ig::ops
