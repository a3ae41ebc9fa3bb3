// Common subexpressions: of two nodes of one block with the same op, operands and attributes, the second
// gives way. Nodes with effects or regions stay.
#include <unordered_map>

#include <fmt/format.h>

#include "ops/table.h"
#include "passes/pass.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

uint64_t key_of(const Node* node) {
  uint64_t h = hash_combine(node->op().index(), node->attrs().hash());
  for (Value v : node->operands()) h = hash_combine(h, reinterpret_cast<uintptr_t>(v));
  return h;
}

bool same(const Node* a, const Node* b) {
  if (a->op() != b->op() || a->operands().size() != b->operands().size()) return false;
  for (size_t i = 0; i < a->operands().size(); ++i)
    if (a->operand(i) != b->operand(i)) return false;
  for (size_t i = 0; i < a->results().size(); ++i)
    if (a->result(i)->type() != b->result(i)->type()) return false;
  return a->attrs() == b->attrs();
}

}  // namespace

void common_subexpressions(Graph& graph, Context& context) {
  for_each_block(graph.body(), [&](Block& block) {
    std::unordered_multimap<uint64_t, Node*> seen;
    for (Node* node : block) {
      if (is_terminator(node) || !node->regions().empty() || ops::has(node, ops::Trait::Effect)) continue;
      uint64_t key = key_of(node);
      Node* twin = nullptr;
      auto [low, high] = seen.equal_range(key);
      for (auto it = low; it != high && !twin; ++it)
        if (same(it->second, node)) twin = it->second;
      if (!twin) {
        seen.emplace(key, node);
        continue;
      }
      context.changed(fmt::format("merged a second {}", node->op().name()));
      replace(node, twin->results());
      graph.erase(node);
    }
  });
}

}  // namespace ig::passes
