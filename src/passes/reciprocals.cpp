// Under `fast_math` alone, with the flag `reciprocal`: a division by what many elements share is one
// division, and a product for each of them. It rounds twice, so no other pipeline has this pass. Which ops
// divide, and what may be divided by so, is said by the ops' own rules.
#include "ops/builder.h"
#include "passes/pass.h"
#include "passes/walk.h"

namespace ig::passes {

void reciprocals(Graph& graph, Context& context) {
  for_each_block(graph.body(), [&](Block& block) {
    std::vector<Node*> dividing;
    for (Node* node : block)
      if (!is_terminator(node) && ops::op_of(node).rules.by_reciprocal) dividing.push_back(node);
    for (Node* node : dividing) {
      ops::Builder build(block, node);
      build.at(node);
      ops::SimplifyContext rule{build, node, graph.dims};
      Value value = ops::op_of(node).rules.by_reciprocal(rule);
      if (!value) continue;
      context.changed(told_of(node));
      Value results[] = {value};
      replace(node, results);
      graph.erase(node);
    }
  });
}

}  // namespace ig::passes
