// Functions with derivatives of the user's own. Their rules are regions of the node, so they live as long as
// the graph does.
#include <algorithm>

#include "ops/control_attrs.h"
#include "ops/families/control_rules.h"
#include "ops/table.h"

namespace ig::ops {
namespace {

using namespace control;

// A rule says nothing about what the function reads from around it.
void refuse_moving_consts(JvpContext& c, std::string_view who) {
  std::span<const Value> consts = c.tangents.subspan(0, c.node->segments()[0]);
  if (std::all_of(consts.begin(), consts.end(), [](Value v) { return v == nullptr; })) return;
  throw make_error(ErrorKind::Unsupported,
                   "{}: the function reads an array from around it that is being differentiated by", who)
      .at(c.node->location().str())
      .why("the rule gives derivatives by the arguments alone, so this one would be lost")
      .hint("pass the array as an argument");
}

// A function that has a value and no derivative; kEnds says why.
[[noreturn]] void refuse_where_it_ends(const Node* node) {
  std::string_view ends = node->attrs().get(kEnds);
  size_t colon = ends.find(':');
  std::string_view reason = ends.substr(0, colon), who = ends.substr(colon + 1);
  auto refused = [&](std::string what, const char* why, const char* hint) {
    return make_error(ErrorKind::Unsupported, "{}: {}", who, what)
        .at(node->location().str())
        .why(why)
        .hint(hint);
  };
  if (reason == "backward")
    throw refused("it has no backward", "an autograd.Function goes back by a static method of that name",
                  "write one in the class: @staticmethod, def backward(ctx, grad): ...");
  if (reason == "once")
    throw refused("a derivative of its backward, which is marked once_differentiable",
                  "the mark says that what backward computes is not to be differentiated",
                  "leave the mark out where all steps of backward have derivatives");
  throw refused("no derivative of this order",
                "its rule calls the function again, and was followed into these calls four times",
                "write the value out in the rule, in place of a call of its own function");
}

}  // namespace

std::vector<Value> jvp_custom_jvp(JvpContext& c) {
  if (c.node->regions().size() == 1) refuse_where_it_ends(c.node);
  refuse_moving_consts(c, "custom_jvp");
  std::vector<Value> args(c.operands.begin(), c.operands.end());
  for (size_t i = c.node->segments()[0]; i < c.operands.size(); ++i)
    if (has_tangent(c.operands[i]->type()))
      args.push_back(c.tangents[i] ? c.tangents[i] : tools::zeros_like(c.build, c.operands[i]));
  std::vector<Value> given =
      c.build.graph().inline_block(c.node->region(1), c.build.block(), args, c.build.before());
  c.replaced.assign(given.begin(), given.begin() + static_cast<int64_t>(c.results.size()));
  std::vector<bool> moves;
  for (Value v : c.results) moves.push_back(has_tangent(v->type()));
  return scattered(std::span<const Value>(given).subspan(c.results.size()), moves);
}

std::vector<Value> jvp_custom_vjp(JvpContext& c) {
  refuse_moving_consts(c, "custom_vjp");
  if (!c.split)
    throw make_error(ErrorKind::Unsupported, "custom_vjp: it has no forward mode")
        .at(c.node->location().str())
        .why("its rule says how cotangents go back, and not how tangents go on")
        .hint("use ig.grad, ig.vjp or ig.jacrev, or give the function a rule with ig.custom_jvp");
  std::vector<Value> given =
      c.build.graph().inline_block(c.node->region(1), c.build.block(), c.operands, c.build.before());
  size_t consts = c.node->segments()[0], results = c.results.size();
  c.replaced.assign(given.begin(), given.begin() + static_cast<int64_t>(results));
  std::vector<Value> operands(c.operands.begin(), c.operands.begin() + static_cast<int64_t>(consts));
  operands.insert(operands.end(), given.begin() + static_cast<int64_t>(results), given.end());
  std::vector<uint32_t> sizes{static_cast<uint32_t>(operands.size()), 0, 0};
  std::vector<bool> moves;
  for (size_t i = 0; i < results; ++i) {
    moves.push_back(has_tangent(given[i]->type()));
    if (moves.back()) operands.push_back(given[i]), ++sizes[1];
  }
  for (size_t i = consts; i < c.operands.size(); ++i) {
    if (!has_tangent(c.operands[i]->type())) continue;
    operands.push_back(c.tangents[i] ? c.tangents[i] : tools::zeros_like(c.build, c.operands[i]));
    ++sizes[2];
  }
  const Block& rule = c.node->region(2);
  auto graph = std::make_unique<Graph>("pullback");
  graph->dims = c.build.graph().dims;
  std::vector<Value> args;
  for (Value arg : rule.args()) args.push_back(graph->body().add_arg(arg->type(), arg->name()));
  graph->body().set_results(graph->inline_block(rule, graph->body(), args));
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(std::move(graph));
  Node* node = c.build.node(get("pullback"), operands, {}, sizes, std::move(regions));
  return scattered(node->results(), moves);
}

std::vector<Value> transpose_pullback(TransposeContext& c) {
  size_t consts = c.node->segments()[0], like = c.node->segments()[1];
  std::vector<Value> args(c.operands.begin(), c.operands.begin() + static_cast<int64_t>(consts));
  for (size_t i = 0; i < like; ++i)
    args.push_back(c.cotangents[i] ? c.cotangents[i] : c.build.full(c.node->result(i)->type(), 0));
  std::vector<Value> given =
      c.build.graph().inline_block(c.node->region(0), c.build.block(), args, c.build.before());
  std::vector<Value> out(consts + like, nullptr);
  out.insert(out.end(), given.begin(), given.end());
  for (size_t i = 0; i < out.size(); ++i)
    if (!c.linear[i]) out[i] = nullptr;
  return out;
}

}  // namespace ig::ops
