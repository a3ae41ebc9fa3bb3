// Edits that the transforms share; see edit.h.
#include "transforms/edit.h"

#include <algorithm>

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
  Graph& graph = block.graph();
  NodeSpec spec{node->op(),       {},
                node->attrs(),    {},
                node->segments(), node->location(),
                node->scope(),    static_cast<int>(node->regions().size())};
  for (Value v : node->operands()) spec.operands.push_back(map.at(v));
  for (Value v : node->results()) spec.result_types.push_back(v->type());
  Node* copy = graph.insert(block, std::move(spec), before);
  for (size_t i = 0; i < node->results().size(); ++i) {
    copy->result(i)->set_name(node->result(i)->name());
    map[node->result(i)] = copy->result(i);
  }
  for (size_t r = 0; r < node->regions().size(); ++r) {
    Block& inner = copy->region(r);
    std::vector<Value> args;
    for (Value v : node->region(r).args()) args.push_back(inner.add_arg(v->type(), v->name()));
    inner.set_results(graph.inline_block(node->region(r), inner, args));
  }
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
