// What derivatives take for a constant (`stop_gradient`) is a word to them alone. Once a program is compiled
// they have been taken, and the node would only stand between an op and what made its operand.
#include <fmt/format.h>

#include "passes/pass.h"
#include "passes/walk.h"

namespace ig::passes {

void drop_stops(Graph& graph, Context& context) {
  for_each_block(graph.body(), [&](Block& block) {
    for (Node* node = block.first(); node != nullptr;) {
      Node* next = node->next();
      if (!is_terminator(node) && ops::has(node, ops::Trait::Detached) && node->operands().size() == 1 &&
          node->results().size() == 1 && node->operand(0)->type() == node->result()->type()) {
        context.changed(fmt::format("removed {}", node->op().name()));
        node->result()->replace_all_uses_with(node->operand(0));
        graph.erase(node);
      }
      node = next;
    }
  });
}

}  // namespace ig::passes
