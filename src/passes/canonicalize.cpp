// Applies each op's own algebra: its `simplify` rule gives a value that stands for the node, or nothing.
// Nodes are visited in order, and the users of what changed again, until nothing changes; what became unused
// goes at once, so that rules which ask for a single use see the truth.
#include <deque>
#include <unordered_set>

#include <fmt/format.h>

#include "ops/builder.h"
#include "ops/effects.h"
#include "passes/pass.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

void erase_dead(Graph& graph, Node* node, std::deque<Node*>& queue);

void erase(Graph& graph, Node* node, std::deque<Node*>& queue) {
  std::vector<Value> operands(node->operands().begin(), node->operands().end());
  graph.erase(node);
  for (Value v : operands)
    if (v->node()) {
      queue.push_back(v->node());
      erase_dead(graph, v->node(), queue);
    }
}

void erase_dead(Graph& graph, Node* node, std::deque<Node*>& queue) {
  if (node->erased() || node->has_uses() || is_terminator(node) || ops::has_effects(node)) return;
  erase(graph, node, queue);
}

}  // namespace

void canonicalize(Graph& graph, Context& context) {
  for_each_block(graph.body(), [&](Block& block) {
    std::deque<Node*> queue;
    std::unordered_set<Node*> queued;
    for (Node* node : block) queue.push_back(node), queued.insert(node);
    // Rules make graphs smaller or move them towards a normal form; the bound only guards against a faulty
    // pair.
    size_t budget = 64 * (block.size() + 16);
    while (!queue.empty() && budget-- > 0) {
      Node* node = queue.front();
      queue.pop_front();
      queued.erase(node);
      if (node->erased() || is_terminator(node)) continue;
      const ops::Op& op = ops::op_of(node);
      if (!op.rules.simplify || node->results().size() != 1) continue;
      ops::Builder build(block, node);
      build.at(node);
      Node* mark = node->previous();
      ops::SimplifyContext rule{build, node, graph.dims};
      Value value = op.rules.simplify.get()(rule);
      if (!value || value == node->result()) continue;
      if (value->type() != node->result()->type()) continue;  // a rule may not change what the users see
      context.changed(
          fmt::format("{} became {}", op.decl.name, value->node() ? value->node()->op().name() : "an input"));
      for (Node* fresh = mark ? mark->next() : block.first(); fresh && fresh != node; fresh = fresh->next())
        if (queued.insert(fresh).second) queue.push_back(fresh);
      for (const Use& use : node->result()->uses())
        if (use.user->block() == &block && queued.insert(use.user).second) queue.push_back(use.user);
      Value results[] = {value};
      replace(node, results);
      erase(graph, node, queue);
    }
  });
}

}  // namespace ig::passes
