// Replaces each composite by the body that its declaration builds, inner ones too, keeping the composite's
// place in the user's program. What wants composites whole (a backend with a kernel of its own, a pattern)
// runs before; composites with a kernel of their own stay. Other ops with a body rule (a product of complex
// numbers is made of real ones) are opened where it gives them one.
#include <fmt/format.h>

#include "ops/builder.h"
#include "ops/open.h"
#include "passes/pass.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

// Sums of products have kernels of their own, composites of them too.
bool opens(const Node* node) {
  bool whole = ops::has(node, ops::Trait::Composite) && ops::has(node, ops::Trait::Contraction);
  return !whole && ops::op_of(node).rules.body;
}

void expand(Node* node, Context& context) {
  ops::Builder build(*node->block(), node);
  build.at(node);
  Node* before = node->previous();
  std::vector<Value> results =
      ops::open_body(build, node, {node->operands().begin(), node->operands().end()});
  if (results.empty()) return;
  context.changed(fmt::format("opened {}", node->op().name()));
  replace(node, results);
  Block& block = *node->block();
  Node* first = before ? before->next() : block.first();
  std::vector<Node*> inner;
  for (Node* n = first; n != node; n = n->next())
    if (opens(n)) inner.push_back(n);
  block.graph().erase(node);
  for (Node* n : inner) expand(n, context);
}

}  // namespace

void expand_composites(Graph& graph, Context& context) {
  for_each_block(graph.body(), [&](Block& block) {
    std::vector<Node*> composites;
    for (Node* node : block)
      if (!is_terminator(node) && opens(node)) composites.push_back(node);
    for (Node* node : composites) expand(node, context);
  });
}

}  // namespace ig::passes
