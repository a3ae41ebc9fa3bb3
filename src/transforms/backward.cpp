// Transposition; see backward.h.
#include "transforms/backward.h"

#include <algorithm>

#include "ops/masks.h"
#include "ops/open.h"
#include "transforms/batch.h"
#include "transforms/edit.h"
#include "transforms/transforms.h"

namespace ig::transforms {
namespace {

[[noreturn]] void refuse(const Node* node, const std::string& why) {
  throw make_error(ErrorKind::Unsupported, "{}: it is not linear, and cannot be transposed",
                   ops::op_of(node).public_name())
      .at(node->location().str())
      .why(why)
      .hint(
          "a function that is transposed, and the tangents of a rule of ig.custom_jvp, may only add, scale "
          "and "
          "move what they are linear in");
}

}  // namespace

Backward::Backward(Graph& graph, std::span<const Value> linear)
    : graph_(graph), build_(graph.body()), linear_(linear.begin(), linear.end()) {
  Node* end = graph.body().terminator();
  for (Node* node = graph.body().first(); node != end;) {
    bool depends = std::any_of(node->operands().begin(), node->operands().end(),
                               [&](Value v) { return linear_.contains(v); });
    const ops::Op& op = ops::op_of(node);
    if (depends && op.has(ops::Trait::Composite) && !op.rules.transpose) {
      node = ops::open_in_place(node);
      continue;
    }
    if (depends && node->regions().empty() && node->has_uses() &&
        std::none_of(node->results().begin(), node->results().end(),
                     [](Value v) { return has_tangent(v->type()); }))
      refuse(node,
             "its result is no number that varies continuously, but depends on what it must be linear in");
    if (depends) {
      nodes_.push_back(node);
      if (node->regions().empty())
        linear_.insert(node->results().begin(), node->results().end());
      else
        find_linear_results(node);
    }
    node = node->next();
  }
}

// A result that no linear operand reaches (a loop's counter) is known. The node goes in the end, so for what
// reads such a result there is another one, of zeros in the place of what is linear.
void Backward::find_linear_results(Node* node) {
  std::vector<bool> operands;
  for (Value operand : node->operands()) operands.push_back(linear_.contains(operand));
  std::vector<bool> results = reached(node, operands);
  bool known = false;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i]) linear_.insert(node->result(i));
    known = known || (!results[i] && !node->result(i)->uses().empty());
  }
  if (!known) return;
  ops::Builder build(*node->block(), node);
  build.at(node);
  std::unordered_map<Value, Value> map;
  for (size_t i = 0; i < operands.size(); ++i) {
    Value operand = node->operand(i);
    map[operand] = operands[i] ? build.full(operand->type(), 0) : operand;
  }
  copy_node(node, *node->block(), map, node);
  for (size_t i = 0; i < results.size(); ++i)
    if (!results[i]) node->result(i)->replace_all_uses_with(map.at(node->result(i)));
}

void Backward::add(Value value, Value cotangent) {
  if (!cotangent || !linear_.contains(value)) return;
  Value& sum = cotangents_[value];
  sum = ops::sum_of_masked(build_, sum, cotangent);
}

void Backward::run() {
  for (size_t i = nodes_.size(); i-- > 0;) transpose(nodes_[i]);
}

void Backward::transpose(Node* node) {
  std::vector<Value> cotangents, operands;
  bool any = false;
  for (Value result : node->results()) {
    cotangents.push_back(cotangent(result));
    any = any || cotangents.back();
  }
  if (!any) return;
  auto linear = std::make_unique<bool[]>(node->operands().size());
  for (size_t i = 0; i < node->operands().size(); ++i) {
    linear[i] = linear_.contains(node->operand(i));
    operands.push_back(linear[i] ? nullptr : node->operand(i));
  }
  const ops::Op& op = ops::op_of(node);
  if (!op.rules.transpose) refuse(node, op.rules.transpose.reason());
  build_.at(node);
  // What goes element by element goes under the masks of choices that come after it.
  std::vector<ops::Mask> masks;
  if (op.has(ops::Trait::Elementwise) && cotangents.size() == 1)
    cotangents[0] = ops::without_masks(cotangents[0], masks);
  ops::TransposeContext context{build_,   node, operands, cotangents, {linear.get(), operands.size()},
                                &regions_};
  std::vector<Value> given = op.rules.transpose.get()(context);
  IG_CHECK(given.size() == operands.size(), "the transpose of {} gives {} cotangents", op.decl.name,
           given.size());
  for (size_t i = 0; i < given.size(); ++i)
    if (linear[i] && given[i]) add(node->operand(i), ops::with_masks(build_, given[i], masks));
}

void Backward::erase_linear_nodes() {
  for (size_t i = nodes_.size(); i-- > 0;) graph_.erase(nodes_[i]);
}

}  // namespace ig::transforms
