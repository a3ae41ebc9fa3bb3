// Opening composites.
#include "ops/open.h"

#include "ops/builder.h"
#include "ops/op.h"

namespace ig::ops {

std::vector<Value> open_body(Builder& build, const Node* node, std::vector<Value> operands) {
  const Op& op = op_of(node);
  BodyContext context{build, node->attrs(), operands};
  std::vector<Value> results = op.rules.body.get()(context);
  if (results.empty() && !op.has(Trait::Composite)) return results;
  IG_CHECK(results.size() == node->results().size(), "the body of {} gives {} results", op.decl.name,
           results.size());
  for (size_t i = 0; i < results.size(); ++i)
    IG_CHECK(results[i]->type() == node->result(i)->type(), "the body of {} gives {}, and its infer {}",
             op.decl.name, results[i]->type().str(), node->result(i)->type().str());
  return results;
}

Node* open_in_place(Node* node, std::vector<Value>* given) {
  Block& block = *node->block();
  Node *before = node->previous(), *behind = node->next();
  Builder build(block, node);
  build.at(node);
  std::vector<Value> results = open_body(build, node, {node->operands().begin(), node->operands().end()});
  if (results.empty() && !node->results().empty()) return behind;
  for (size_t i = 0; i < results.size(); ++i) node->result(i)->replace_all_uses_with(results[i]);
  if (given) *given = results;
  block.graph().erase(node);
  Node* first = before ? before->next() : block.first();
  return first ? first : behind;
}

}  // namespace ig::ops
