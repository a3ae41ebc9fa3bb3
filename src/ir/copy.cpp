// Copies of nodes; see copy.h.
#include "ir/copy.h"

namespace ig {

Node* copy_node(const Node* node, Block& block, std::vector<Value> operands, Node* before) {
  NodeSpec spec{.op = node->op(),
                .operands = std::move(operands),
                .attrs = node->attrs(),
                .result_types = {},
                .segments = node->segments(),
                .location = node->location(),
                .scope = node->scope(),
                .regions = static_cast<int>(node->regions().size())};
  for (Value v : node->results()) spec.result_types.push_back(v->type());
  Node* copy = block.graph().insert(block, std::move(spec), before);
  for (size_t i = 0; i < node->results().size(); ++i) copy->result(i)->set_name(node->result(i)->name());
  for (size_t r = 0; r < node->regions().size(); ++r) {
    Block& inner = copy->region(r);
    std::vector<Value> args;
    for (Value v : node->region(r).args()) args.push_back(inner.add_arg(v->type(), v->name()));
    inner.set_results(block.graph().inline_block(node->region(r), inner, args));
  }
  return copy;
}

}  // namespace ig
