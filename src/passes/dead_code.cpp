// Dead code: nodes without effects whose results nobody uses, last first, so that chains go in one walk.
// Where one result is used of several, and there is an op that gives it alone (`OpRules::alone`), that op
// takes the place.
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "ops/builder.h"
#include "ops/effects.h"
#include "passes/pass.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

// The one result that is used, of several; else none.
std::optional<size_t> only_used(const Node* node) {
  std::optional<size_t> found;
  for (size_t i = 0; i < node->results().size(); ++i) {
    if (node->result(i)->uses().empty()) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

// The op that gives the one used result alone, in front of the node; or null.
Value lighter(Block& block, Node* node) {
  if (node->results().size() < 2) return nullptr;
  const std::vector<std::string>& alone = ops::op_of(node).rules.alone;
  const std::optional<size_t> used = alone.empty() ? std::nullopt : only_used(node);
  if (!used || alone[*used].empty()) return nullptr;
  ops::Builder build(block, node);
  build.at(node);
  const std::vector<Value> operands(node->operands().begin(), node->operands().end());
  Value value = build(alone[*used], operands);
  // An attribute may ask for another form.
  if (value->type() == node->result(*used)->type()) {
    value->set_name(node->result(*used)->name());
    node->result(*used)->replace_all_uses_with(value);
    return value;
  }
  build.graph().erase(value->node());
  return nullptr;
}

}  // namespace

void dead_code(Graph& graph, Context& context) {
  for_each_block(graph.body(), [&](Block& block) {
    for (Node* node = block.last(); node != nullptr;) {
      Node* previous = node->previous();
      if (!is_terminator(node) && !node->has_uses() && !ops::has_effects(node)) {
        context.changed(fmt::format("removed {}", node->op().name()));
        graph.erase(node);
      } else if (Value value = lighter(block, node)) {
        context.changed(fmt::format("{} became {}", node->op().name(), value->node()->op().name()));
        graph.erase(node);
      }
      node = previous;
    }
  });
}

}  // namespace ig::passes
