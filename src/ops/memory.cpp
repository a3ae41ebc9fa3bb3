// Chains of work in place are followed from the outputs of a block backwards.
#include "ops/memory.h"

#include <algorithm>

namespace ig::ops {

bool is_relabel(const Node* node) {
  if (way_of(node) == Way::Relabel) return true;
  const AttrValue* kind = node->attrs().find("kind");
  return kind && std::holds_alternative<std::string>(*kind) && std::get<std::string>(*kind) == "relabel" &&
         node->operands().size() == 1 && node->results().size() == 1;
}

Value root_of(Value v) {
  while (v->node() && is_relabel(v->node())) v = v->node()->operand(0);
  return v;
}

bool read_once(const Node* node, Value v) { return std::ranges::count(node->operands(), v, root_of) == 1; }

int updated_operand(const Node* node) {
  const Op* op = find(node->op());
  if (!op || !op->rules.lower.nest || op->rules.lower.updates < 0) return -1;
  const Value old = node->operand(static_cast<size_t>(op->rules.lower.updates));
  return !old->node() && old->uses().size() == 1 ? op->rules.lower.updates : -1;
}

namespace {

bool same_bytes(const Type& a, const Type& b) {
  return a.is_tensor() && b.is_tensor() &&
         a.elements() * Dim(static_cast<int64_t>(size_of(a.dtype))) ==
             b.elements() * Dim(static_cast<int64_t>(size_of(b.dtype)));
}

}  // namespace

const Sharing::OfBlock& Sharing::of(const Block& block) {
  auto it = blocks_.find(&block);
  if (it == blocks_.end()) it = blocks_.emplace(&block, made_of(block)).first;
  return it->second;
}

Sharing::Pairs Sharing::in_place(const Node* node) {
  if (!has(node, Trait::Control) || way_of(node) == Way::Group) return kernels_(node);
  Pairs out;
  if (is_loop(node)) {  // which bring what is carried to the results by themselves
    for (uint32_t k = 0; k < node->segments()[1]; ++k)
      out.emplace_back(static_cast<int>(k), static_cast<int>(node->segments()[0] + k));
    return out;
  }
  const bool call = way_of(node) == Way::Call;  // of which the first region runs
  const int selectors = call ? 0 : 1;
  for (auto [output, input] : of(node->region(0)).shared) out.emplace_back(output, input + selectors);
  for (const auto& region : node->regions().first(call ? 1 : node->regions().size()))
    std::erase_if(out, [&](const std::pair<int, int>& pair) {
      return std::ranges::count(of(*region).shared, std::pair{pair.first, pair.second - selectors}) == 0;
    });
  return out;
}

// Which operand lies where this value of an output's chain does: a value of the block, which joins the chain,
// or none. Inputs come first, and end it: one that is read here must not be overwritten before.
Value Sharing::before(OfBlock& out, Value v, int output) {
  const Node* node = v->node();
  Value next = nullptr;
  bool ends = false;
  for (auto [r, a] : in_place(node)) {
    const Value operand = root_of(node->operand(static_cast<size_t>(a)));
    if (node->result(static_cast<size_t>(r)) != v || out.last_use.at(operand) != node ||
        !read_once(node, operand) || !same_bytes(operand->type(), v->type()))
      continue;
    if (!operand->node()) {
      out.shared.emplace_back(output, operand->index());
      ends = true;
    } else if (!next && !has(operand->node(), Trait::Constant) && !out.output_of.contains(operand)) {
      next = operand;
    }
  }
  if (ends || !next) return nullptr;
  out.output_of.emplace(next, output);
  return next;
}

Sharing::OfBlock Sharing::made_of(const Block& block) {
  OfBlock out;
  for (const Node* node : block) {
    if (node != block.terminator() && is_relabel(node)) continue;  // what reads its result counts
    for (Value v : node->operands()) out.last_use[root_of(v)] = node;
  }
  for (size_t i = 0; i < block.results().size(); ++i) {
    const Value result = root_of(block.results()[i]);
    const auto output = static_cast<int>(i);
    // Given back as it came, and read by nobody behind; what changes another input leaves it alone.
    if (!result->node()) {
      if (read_once(block.terminator(), result)) out.shared.emplace_back(output, result->index());
      continue;
    }
    // Results that a node of this block computes are written straight into the output.
    if (has(result->node(), Trait::Constant) || !out.output_of.emplace(result, output).second) continue;
    for (Value v = result; v;) v = before(out, v, output);
  }
  return out;
}

}  // namespace ig::ops
