// Forward mode; see forward.h.
#include "transforms/forward.h"

#include <algorithm>

#include "ops/open.h"
#include "transforms/edit.h"
#include "transforms/transforms.h"

namespace ig::transforms {

void Forward::walk(Node* first, Node* end) {
  for (Node* node = first; node != end;) {
    Node* next = node->next();  // tangents are put in front of it, and are not walked
    push(node);
    node = next;
  }
}

Value Forward::resolve(Value value) const {
  for (auto found = replaced_.find(value); found != replaced_.end(); found = replaced_.find(value))
    value = found->second;
  return value;
}

void Forward::replace(Value value, Value by) {
  value->replace_all_uses_with(by);
  replaced_[value] = by;
}

void Forward::expand(Node* node) {
  Node* behind = node->next();
  std::vector<Value> own(node->results().begin(), node->results().end()), given;
  Node* first = ops::open_in_place(node, &given);
  for (size_t i = 0; i < own.size(); ++i) replaced_[own[i]] = given[i];
  walk(first, behind);
}

void Forward::push(Node* node) {
  std::vector<Value> tangents;
  bool any = false;
  for (Value operand : node->operands()) {
    tangents.push_back(tangent(operand));
    any = any || tangents.back();
  }
  if (!any) return;
  const ops::Op& op = ops::op_of(node);
  const auto& rule = op.rules.jvp;
  if (!rule) {
    if (op.has(ops::Trait::Composite) && op.rules.body) return expand(node);
    if (std::none_of(node->results().begin(), node->results().end(),
                     [](Value v) { return has_tangent(v->type()); }))
      return;
    throw make_error(ErrorKind::Unsupported, "{}: it has no derivative", op.public_name())
        .at(node->location().str())
        .why(rule.reason())
        .hint(
            "put ig.stop_gradient around its arguments to take them as constants, or give it a derivative "
            "with ig.custom_jvp or ig.custom_vjp");
  }
  ops::Builder build(*node->block(), node->next());
  build.at(node);
  std::vector<Value> operands(node->operands().begin(), node->operands().end());
  std::vector<Value> results(node->results().begin(), node->results().end());
  ops::JvpContext context{build, node, operands, tangents, results, &regions_, split_, {}};
  std::vector<Value> given = rule.get()(context);
  IG_CHECK(given.size() == results.size(), "the jvp of {} gives {} tangents", op.decl.name, given.size());
  if (!context.replaced.empty()) {
    for (size_t i = 0; i < results.size(); ++i) {
      replace(results[i], context.replaced[i]);
      results[i] = context.replaced[i];
    }
    graph_.erase(node);
  }
  for (size_t i = 0; i < results.size(); ++i)
    if (given[i] && has_tangent(results[i]->type())) set_tangent(results[i], given[i]);
}

}  // namespace ig::transforms
