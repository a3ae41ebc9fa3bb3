// Moves views below element-wise ops: where all operands of an element-wise node are the same view of values
// of one shape, the node is computed first, on what is not yet spread or moved, and the view follows. So a
// broadcast's work is done once an element, and views meet their inverses.
#include <algorithm>

#include <fmt/format.h>

#include "ops/attrs.h"
#include "ops/builder.h"
#include "passes/pass.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

bool same_view(const Node* a, const Node* b) {
  return a->op() == b->op() && a->attrs() == b->attrs() && a->operands().size() == 1 &&
         b->operands().size() == 1 && a->operand(0)->type().dims == b->operand(0)->type().dims;
}

bool one_element(Value v) {
  auto dims = constant_dims(v->type().dims);
  if (!dims) return false;
  for (int64_t d : *dims)
    if (d != 1) return false;
  return true;
}

}  // namespace

void sink_views(Graph& graph, Context& context) {
  for_each_block(graph.body(), [&](Block& block) {
    for (Node* node : block) {
      if (is_terminator(node) || !ops::has(node, ops::Trait::Elementwise) || node->operands().empty() ||
          node->results().size() != 1)
        continue;
      Node* view = nullptr;
      bool all = true;
      for (Value v : node->operands()) {
        if (spread_number(v)) continue;
        Node* producer = v->node();
        bool fits = producer && ops::has(producer, ops::Trait::View) && producer->operands().size() == 1 &&
                    (!view || same_view(view, producer));
        // A view that others read as well would be kept, and nothing gained; but relabelling costs nothing.
        fits = fits && (ops::has(producer, ops::Trait::Relabel) ||
                        std::all_of(v->uses().begin(), v->uses().end(),
                                    [&](const Use& u) { return u.user == node; }));
        if (!fits) {
          all = false;
          break;
        }
        view = producer;
      }
      // Broadcast numbers are made where they are used; moving them apart would only hide them.
      if (!all || !view || one_element(view->operand(0))) continue;
      // Not below a view that drops elements: the work on those would be for nothing (a gate's function over
      // all gates).
      const Dims& before = view->operand(0)->type().dims;
      bool whole = product(before) == product(view->result()->type().dims) ||
                   view->attrs().find(ops::kBroadcastDims.name) != nullptr;
      if (!whole) continue;
      ops::Builder build(block, node);
      build.at(node);
      std::vector<Value> operands;
      for (Value v : node->operands()) {
        Value number = spread_number(v);
        operands.push_back(number ? build.broadcast(number, before, {}) : v->node()->operand(0));
      }
      Value inner = build.node(ops::op_of(node), operands, node->attrs())->result();
      Value outer = build.node(ops::op_of(view), {inner}, view->attrs())->result();
      if (outer->type() != node->result()->type()) continue;
      context.changed(fmt::format("moved {} below {}", view->op().name(), node->op().name()));
      Value results[] = {outer};
      replace(node, results);
      graph.erase(node);
    }
  });
}

}  // namespace ig::passes
