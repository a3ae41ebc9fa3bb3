// Common subexpressions: of two nodes of one block with the same op, operands and attributes, the second
// gives way. Nodes with effects or regions stay.
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "ir/quick_hash.h"
#include "ops/table.h"
#include "passes/pass.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

uint64_t key_of(const Node* node) {
  uint64_t h = hash_combine(node->op().index(), quick_hash(node->attrs()));
  for (Value v : node->operands()) h = hash_combine(h, reinterpret_cast<uintptr_t>(v));
  return h;
}

// A node, and the hash of all that its attributes hold, once it is known. Weights are many bytes: as long as
// no two were alike in the quick hash and still not the same, they are not read.
struct Seen {
  Node* node;
  std::optional<uint64_t> whole;
  uint64_t whole_hash() {
    if (!whole) whole = node->attrs().hash();
    return *whole;
  }
};

bool same_attrs(Seen& a, Seen& b) {
  if ((a.whole || b.whole) && a.whole_hash() != b.whole_hash()) return false;
  if (a.node->attrs() == b.node->attrs()) return true;
  a.whole_hash(), b.whole_hash();
  return false;
}

bool same(Seen& a, Seen& b) {
  if (a.node->op() != b.node->op() || a.node->operands().size() != b.node->operands().size()) return false;
  for (size_t i = 0; i < a.node->operands().size(); ++i)
    if (a.node->operand(i) != b.node->operand(i)) return false;
  for (size_t i = 0; i < a.node->results().size(); ++i)
    if (a.node->result(i)->type() != b.node->result(i)->type()) return false;
  return same_attrs(a, b);
}

}  // namespace

void common_subexpressions(Graph& graph, Context& context) {
  for_each_block(graph.body(), [&](Block& block) {
    std::unordered_multimap<uint64_t, Seen> seen;
    for (Node* node : block) {
      if (is_terminator(node) || !node->regions().empty() || ops::has(node, ops::Trait::Effect)) continue;
      uint64_t key = key_of(node);
      Seen now{node, {}};
      Node* twin = nullptr;
      auto [low, high] = seen.equal_range(key);
      for (auto it = low; it != high && !twin; ++it)
        if (same(it->second, now)) twin = it->second.node;
      if (!twin) {
        seen.emplace(key, now);
        continue;
      }
      context.changed(fmt::format("merged a second {}", node->op().name()));
      replace(node, twin->results());
      graph.erase(node);
    }
  });
}

}  // namespace ig::passes
