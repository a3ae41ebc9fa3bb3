// Dead code: nodes without effects whose results nobody uses, last first, so that chains go in one walk.
#include <fmt/format.h>

#include "ops/effects.h"
#include "passes/pass.h"
#include "passes/walk.h"

namespace ig::passes {

void dead_code(Graph& graph, Context& context) {
  for_each_block(graph.body(), [&](Block& block) {
    for (Node* node = block.last(); node != nullptr;) {
      Node* previous = node->previous();
      if (!is_terminator(node) && !node->has_uses() && !ops::has_effects(node)) {
        context.changed(fmt::format("removed {}", node->op().name()));
        graph.erase(node);
      }
      node = previous;
    }
  });
}

}  // namespace ig::passes
