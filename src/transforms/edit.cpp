// Edits that the transforms share; see edit.h.
#include "transforms/edit.h"

#include <algorithm>

#include "ir/copy.h"
#include "ops/builder.h"

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

Node* expand_composite(Node* node, std::vector<Value>* given) {
  const ops::Op& op = ops::op_of(node);
  Block& block = *node->block();
  Node* before = node->previous();
  ops::Builder build(block, node);
  build.at(node);
  std::vector<Value> operands(node->operands().begin(), node->operands().end());
  ops::BodyContext body{build, node->attrs(), operands};
  std::vector<Value> results = op.rules.body.get()(body);
  IG_CHECK(results.size() == node->results().size(), "the body of {} gives {} results", op.decl.name,
           results.size());
  for (size_t i = 0; i < results.size(); ++i) node->result(i)->replace_all_uses_with(results[i]);
  if (given) *given = results;
  Node* behind = node->next();
  block.graph().erase(node);
  Node* first = before ? before->next() : block.first();
  return first ? first : behind;
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
