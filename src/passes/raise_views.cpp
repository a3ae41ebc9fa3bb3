// Inside of kernels that compute element by element, moves views that repeat no element (a transposition, a
// reversal, a slice) from what is computed to what is read: each element is then computed at its place in the
// result, and an array that lies across the result can be turned over by tiles. Before kernels are made such
// views stand below element-wise ops (sink_views.cpp), where they meet and cancel.
#include <algorithm>

#include <fmt/format.h>

#include "ops/attrs.h"
#include "ops/builder.h"
#include "passes/pass.h"
#include "passes/program_kernel.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

bool is_view(const Node* node) { return ops::has(node, ops::Trait::View) && node->operands().size() == 1; }

// The element-wise node that a view looks at, none of whose elements it repeats. Where others read it as well
// it is computed at two places, as it would be if the view stayed.
Node* computed_below(const Node* view) {
  Value from = view->operand(0);
  Node* node = from->node();
  const bool repeats = view->attrs().find(ops::kBroadcastDims.name) != nullptr;
  return node && !repeats && ops::has(node, ops::Trait::Elementwise) && !node->operands().empty() &&
                 node->results().size() == 1
             ? node
             : nullptr;
}

// A relabelled array is read as it lies; it moves only to let another view pass.
bool stands_in_the_way(const Node* view) {
  if (!ops::has(view, ops::Trait::Relabel)) return true;
  const auto& uses = view->result()->uses();
  return uses.size() == 1 && is_view(uses.front().user);
}

bool raise_one(Graph& graph, Block& block, Context& context) {
  for (Node* view : block) {
    if (is_terminator(view) || !is_view(view) || !stands_in_the_way(view)) continue;
    Node* computed = computed_below(view);
    if (!computed) continue;
    ops::Builder build(block, view);
    build.at(view);
    std::vector<Value> operands;
    for (Value v : computed->operands()) {
      Value number = spread_number(v);
      operands.push_back(number ? build.broadcast(number, view->result()->type().dims, {})
                                : build.node(ops::op_of(view), {v}, view->attrs())->result());
    }
    Value results[] = {build.node(ops::op_of(computed), operands, computed->attrs())->result()};
    if (results[0]->type() != view->result()->type()) continue;
    context.changed(fmt::format("moved {} above {}", view->op().name(), computed->op().name()));
    replace(view, results);
    graph.erase(view);
    if (!computed->has_uses()) graph.erase(computed);
    return true;
  }
  return false;
}

std::vector<Node*> nodes_of(Block& block) {
  std::vector<Node*> nodes;
  for (Node* node : block) nodes.push_back(node);
  return nodes;
}

// Several element-wise nodes read one array, each through a view of its own now: one serves all, and may rise
// further with what it looks at.
void share_views(Graph& graph, Block& block) {
  std::vector<Node*> kept;
  for (Node* node : nodes_of(block)) {
    if (is_terminator(node) || !is_view(node)) continue;
    auto same = std::ranges::find_if(kept, [&](const Node* other) {
      return other->op() == node->op() && other->operand(0) == node->operand(0) &&
             other->attrs() == node->attrs();
    });
    if (same == kept.end()) {
      kept.push_back(node);
      continue;
    }
    Value results[] = {(*same)->result()};
    replace(node, results);
    graph.erase(node);
  }
}

}  // namespace

void raise_views(Graph& graph, Context& context) {
  for_each_block(graph.body(), [&](Block& block) {
    if (!block.parent() || !computes_elements(block.parent())) return;
    bool raised = false;
    while (raise_one(graph, block, context)) {
      share_views(graph, block);
      raised = true;
    }
    if (!raised) return;
    const std::vector<Node*> nodes = nodes_of(block);  // what only the views moved is dead
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node)
      if (!is_terminator(*node) &&
          std::ranges::all_of((*node)->results(), [](Value v) { return v->uses().empty(); }))
        graph.erase(*node);
  });
}

}  // namespace ig::passes
