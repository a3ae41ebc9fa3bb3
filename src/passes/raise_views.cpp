// Inside of kernels that compute element by element, moves views that repeat no element (a transposition, a
// reversal, a slice) from what is computed to what is read: each element is then computed at its place in the
// result, and an array that lies across the result can be turned over by tiles. Before kernels are made such
// views stand below element-wise ops (sink_views.cpp), where they meet and cancel.
#include <algorithm>
#include <deque>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "ops/attrs.h"
#include "ops/builder.h"
#include "passes/pass.h"
#include "passes/program_kernel.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

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

std::vector<Node*> nodes_of(Block& block) {
  std::vector<Node*> nodes;
  for (Node* node : block) nodes.push_back(node);
  return nodes;
}

// Each view stands right behind what it looks at. There is one node of a kind, a view or what is computed of
// the same operands: several that read one array alike are served by one view, which rises once, and the ways
// to look at a long chain are not as many as there are paths through it.
class Raising {
 public:
  Raising(Graph& graph, Block& block, Context& context) : graph_(graph), block_(block), context_(context) {}

  void run() {
    const std::vector<Node*> all = nodes_of(block_);
    if (std::ranges::none_of(all, rises)) return;
    for (Node* node : all)
      if (!node->erased() && settles(node)) settle(node);
    // From the first on, and each to its end before the next: that is met by what it gives.
    std::ranges::reverse(views_);
    for (int raised = 0; raised < kMost;) {
      if (!changed_.empty()) {
        Node* node = changed_.front();
        changed_.pop_front();
        if (!node->erased()) settle(node);
      } else if (!views_.empty()) {
        Node* view = views_.front();
        views_.pop_front();
        if (!view->erased() && rises(view)) raised += raise(view);
      } else {
        break;
      }
    }
    const std::vector<Node*> nodes = nodes_of(block_);  // what only the views moved is dead
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node)
      if (!is_terminator(*node) &&
          std::ranges::all_of((*node)->results(), [](Value v) { return v->uses().empty(); }))
        graph_.erase(*node);
  }

 private:
  static constexpr int kMost = 2048;  // views that rise: each leaves a node of its own

  static bool rises(const Node* node) {
    return !is_terminator(node) && is_view(node) && stands_in_the_way(node) && computed_below(node);
  }
  static bool settles(const Node* node) {
    return !is_terminator(node) && !node->operands().empty() && node->results().size() == 1 &&
           (is_view(node) || ops::has(node, ops::Trait::Elementwise));
  }

  bool raise(Node* view) {
    Node* computed = computed_below(view);
    std::vector<Value> operands;
    for (Value v : computed->operands()) {
      Value number = spread_number(v);
      operands.push_back(number ? spread(view, number) : look(view, v));
    }
    Node* node = before(view, view).node(ops::op_of(computed), operands, computed->attrs());
    if (node->result()->type() != view->result()->type()) return false;
    context_.changed(fmt::format("moved {} above {}", view->op().name(), computed->op().name()));
    give(view, settle(node));
    if (!computed->erased() && !computed->has_uses()) erase(computed);
    return true;
  }

  ops::Builder before(Node* place, const Node* instead_of) {
    ops::Builder build(block_, place);
    build.at(instead_of);
    return build;
  }
  Node* behind(Value v) { return v->node() ? v->node()->next() : block_.first(); }

  Value spread(const Node* view, Value number) {
    return settle(before(behind(number), view).broadcast(number, view->result()->type().dims, {})->node());
  }

  // `v` seen as `view` sees what it looks at: by one view, where `v` is itself seen by such a one.
  Value look(const Node* view, Value v) {
    ops::Builder build = before(behind(v), view);
    Node* node = build.node(ops::op_of(view), {v}, view->attrs());
    if (v->node() && v->node()->op() == view->op() && ops::op_of(view).rules.simplify) {
      ops::SimplifyContext rule{build, node, graph_.dims};
      if (Value both = ops::op_of(view).rules.simplify.get()(rule)) {
        graph_.erase(node);
        const bool fresh = both->uses().empty() && both->node() && is_view(both->node());
        return fresh ? settle(both->node()) : both;
      }
    }
    return settle(node);
  }

  // Of nodes of one kind the one that was settled first stays; it moves ahead of the other one if it must.
  Value settle(Node* node) {
    Node* place = is_view(node) ? behind(node->operand(0)) : node;
    if (place != node) graph_.move_before(node, place);
    std::vector<Node*>& others = settled_[node->operand(0)];
    auto same = std::ranges::find_if(others, [&](const Node* other) {
      return other != node && !other->erased() && other->op() == node->op() &&
             other->attrs() == node->attrs() && std::ranges::equal(other->operands(), node->operands());
    });
    if (same != others.end()) {
      Node* settled = *same;
      if (!precedes(settled, node)) graph_.move_before(settled, node);
      give(node, settled->result());
      return settled->result();
    }
    others.push_back(node);
    if (is_view(node)) views_.push_front(node);
    return node->result();
  }

  static bool precedes(const Node* a, const Node* b) {
    while (a != nullptr && a != b) a = a->next();
    return a == b;
  }

  void give(Node* node, Value to) {
    Value results[] = {to};
    replace(node, results);
    erase(node);
    for (const Use& use : to->uses())
      if (settles(use.user)) changed_.push_back(use.user);
  }
  // A view that was one of several to read an array may rise when it is the only one.
  void erase(Node* node) {
    const std::vector<Value> operands(node->operands().begin(), node->operands().end());
    graph_.erase(node);
    for (Value v : operands)
      if (v->node() && is_view(v->node())) views_.push_front(v->node());
  }

  Graph& graph_;
  Block& block_;
  Context& context_;
  std::unordered_map<Value, std::vector<Node*>> settled_;  // by first operand
  std::deque<Node*> changed_, views_;
};

}  // namespace

void raise_views(Graph& graph, Context& context) {
  for_each_block(graph.body(), [&](Block& block) {
    if (block.parent() && computes_elements(block.parent())) Raising(graph, block, context).run();
  });
}

}  // namespace ig::passes
