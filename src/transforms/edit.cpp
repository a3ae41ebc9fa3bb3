// Edits that the transforms share; see edit.h.
#include "transforms/edit.h"

#include <algorithm>

#include "ir/copy.h"
#include "ops/table.h"

namespace ig::transforms {

std::unique_ptr<Graph> graph_of(const Block& block) {
  auto out = std::make_unique<Graph>(block.graph().name);
  out->dims = block.graph().dims;
  std::vector<Value> args;
  for (Value arg : block.args()) args.push_back(out->body().add_arg(arg->type(), arg->name()));
  out->body().set_results(out->inline_block(block, out->body(), args));
  return out;
}

Node* copy_node(const Node* node, Block& block, std::unordered_map<Value, Value>& map, Node* before) {
  std::vector<Value> operands;
  for (Value v : node->operands()) operands.push_back(map.at(v));
  Node* copy = ig::copy_node(node, block, std::move(operands), before);
  for (size_t i = 0; i < node->results().size(); ++i) map[node->result(i)] = copy->result(i);
  return copy;
}

void sweep(Block& block) {
  auto is_token = [](Value v) { return !v->type().is_tensor(); };
  for (Node* node = block.last(); node;) {
    Node* before = node->previous();
    if (node != block.terminator() && !node->has_uses() && !ops::has(node, ops::Trait::Effect) &&
        std::none_of(node->results().begin(), node->results().end(), is_token))
      block.graph().erase(node);
    node = before;
  }
}

}  // namespace ig::transforms
