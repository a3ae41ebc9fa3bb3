// At how many places a kernel computes each of its nodes. Views lead to one value by several ways: a stencil
// reads its array at every offset, a join of pieces reads all of them and chooses, and what is read so and
// computed in the same kernel is computed anew at each of these places. Of stencils of stencils there are as
// many places as the product of theirs.
#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "ops/attrs.h"
#include "passes/fusion_groups.h"
#include "support/hash.h"

namespace ig::passes {
namespace {

bool moves(const Node* node) {
  return ops::op_of(node).rules.lower.kind == ops::LowerRule::Kind::Point &&
         !ops::has(node, ops::Trait::Constant);
}

}  // namespace

size_t Grouping::Places::most(const Group* group) const {
  size_t out = 1;
  for (const Node* node : group->nodes) out = std::max(out, at(node));
  return out;
}

// A place is a way of views from a result of the kernel; ways are told apart by their hashes.
Grouping::Places Grouping::places_in(std::initializer_list<const Group*> kernel) const {
  Places out;
  std::vector<const Node*> nodes;
  for (const Group* group : kernel) nodes.insert(nodes.end(), group->nodes.begin(), group->nodes.end());
  // Spreading alone leads by one way.
  if (std::ranges::none_of(nodes, [](const Node* node) {
        return moves(node) && node->attrs().find(ops::kBroadcastDims.name) == nullptr;
      }))
    return out;
  std::ranges::reverse(nodes);
  std::ranges::stable_sort(nodes, std::greater(), [&](const Node* node) { return position_.get(node); });
  auto inside = [&](const Node* node) { return std::ranges::find(kernel, group_of(node)) != kernel.end(); };
  std::unordered_map<const Node*, std::unordered_set<uint64_t>> ways;
  for (const Node* node : nodes) {
    std::unordered_set<uint64_t>& here = ways[node];
    for (Value v : node->results())
      if (std::ranges::any_of(v->uses(), [&](const Use& use) { return !inside(use.user); })) here.insert(0);
    out.of[node] = std::max<size_t>(1, here.size());
    out.all += here.size();
    if (out.all > kMostPlaces) return out;
    // A fold takes what it folds at the places of the kernel's own walk, wherever what it came to is spread.
    const bool folds = ops::op_of(node).rules.lower.kind == ops::LowerRule::Kind::Reduce;
    const std::vector<uint64_t> reading =
        folds ? std::vector<uint64_t>{0} : std::vector<uint64_t>(here.begin(), here.end());
    for (size_t i = 0; i < node->operands().size(); ++i) {
      const Node* operand = node->operand(i)->node();
      if (!operand || !inside(operand)) continue;
      for (uint64_t way : reading)
        ways[operand].insert(moves(node) ? hash_combine(hash_combine(way, node->id() + 1), i) : way);
    }
  }
  return out;
}

}  // namespace ig::passes
