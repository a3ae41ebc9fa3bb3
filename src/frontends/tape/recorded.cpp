// Ways back through the nodes of a captured program; see recorded.h.
#include "frontends/tape/recorded.h"

#include <algorithm>

#include "ops/table.h"
#include "tensor/capture.h"
#include "transforms/transforms.h"

namespace ig::tape {
namespace {

std::vector<bool> moves_of(const Node& node) {
  std::vector<bool> out;
  for (const Edge& edge : node.next) out.push_back(edge.node != nullptr);
  return out;
}

// What is kept of a node that was recorded anew.
struct Derived {
  std::shared_ptr<const Graph> forward;  // as it was
  Parted parted;
};
const Derived* derived(const Node& node) { return static_cast<const Derived*>(node.derived.get()); }

// The node of the graph, which may have been replaced; null where the op ran on constants.
ig::Node* graph_node(const Node& node) {
  const Tensor& result = node.saved.back();
  return result.is_symbolic() ? result.value()->node() : nullptr;
}

bool touches_effects(const ig::Node& node) {
  auto is_token = [](Value v) { return !v->type().is_tensor(); };
  return ops::has(&node, ops::Trait::Effect) ||
         std::any_of(node.operands().begin(), node.operands().end(), is_token) ||
         std::any_of(node.results().begin(), node.results().end(), is_token);
}

}  // namespace

std::shared_ptr<const Recipe> recorded_recipe_of(const Node& node) {
  std::span<const Tensor> operands(node.saved.data(), node.next.size());
  Capture& capture = *Capture::current();
  std::shared_ptr<const Graph> whole = derived(node) ? derived(node)->forward : nullptr;
  if (const ig::Node* at = graph_node(node); !whole && at && !at->regions().empty())
    whole = graph_of_node(capture, *at);
  return recorded_recipe_of(capture, *node.op, operands, node.attrs, whole.get(), moves_of(node));
}

std::optional<Parted> parted_of(Node& node) {
  if (derived(node)) return derived(node)->parted;
  ig::Node* at = graph_node(node);
  if (!at || touches_effects(*at)) return std::nullopt;
  if (at->regions().empty() && !node.op->has(ops::Trait::Composite)) return std::nullopt;
  for (size_t i = 0; i < node.next.size();
       ++i)  // on the tape they are as they were before they were repeated
    if (!(node.saved[i].type() == at->operand(i)->type())) return std::nullopt;
  Capture& capture = *Capture::current();
  auto recipe = std::make_shared<Recipe>();
  recipe->name = node.op->decl.name;
  recipe->moves = moves_of(node);
  recipe->results = node.results;
  recipe->in_graph = true;
  Parted out{recipe, {}};
  std::shared_ptr<const Graph> forward = graph_of_node(capture, *at);
  std::vector<bool> given = reached(*forward, recipe->moves);
  ops::SplitRegion parts;
  try {
    parts = transforms::vjp(*forward, recipe->moves, given, /*together=*/true);
  } catch (const Error& error) {
    recipe->failure = error;
    return out;
  }
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i]) recipe->given.push_back(static_cast<int>(i));
  std::vector<Value> operands(at->operands().begin(), at->operands().end());
  std::vector<Value> known =
      capture.graph().inline_block(parts.known->body(), capture.graph().body(), operands, at);
  size_t extra = at->results().size();
  for (int residual : parts.residuals) {
    Value value = residual >= 0 ? operands[static_cast<size_t>(residual)] : known[extra++];
    out.residuals.push_back(Tensor::symbolic(&capture, value));
  }
  for (size_t i = 0; i < at->results().size(); ++i) capture.replace(at->result(i), known[i]);
  capture.graph().erase(at);
  parts.linear->dims.set_decider(nullptr);
  recipe->elementwise = is_elementwise(*node.op, *recipe, std::span(node.saved.data(), node.next.size()));
  bare_outputs(*parts.linear, *recipe);
  recipe->graph = std::move(parts.linear);
  node.derived = std::make_shared<Derived>(Derived{std::move(forward), out});
  return out;
}

std::vector<Gradient> record(const Node& node, const Recipe& recipe, std::span<const Tensor> inputs) {
  const ig::Node* at = graph_node(node);
  return recipe.record(*Capture::current(), inputs, node.where, at && !at->erased() ? at->scope() : Scope());
}

}  // namespace ig::tape
