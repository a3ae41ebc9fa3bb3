// The transforms of whole graphs: forward, backward, and both.
#include <algorithm>

#include "transforms/backward.h"
#include "transforms/edit.h"
#include "transforms/forward.h"
#include "transforms/transforms.h"

namespace ig::transforms {
namespace {

std::string named(std::string_view prefix, Value value) {
  return value->name().empty() ? std::string() : std::string(prefix) + value->name();
}

// A copy of a graph with tangents pushed through.
struct Moved {
  std::unique_ptr<Graph> graph;
  std::vector<Value> inputs, tangents;     // arguments: the graph's, and those of the ones that move
  std::vector<Value> results, derivative;  // a null derivative is zero
};

Moved move(const Graph& source, const Mask& moves, bool split) {
  Moved out{source.clone(), {}, {}, {}, {}};
  Graph& graph = *out.graph;
  out.inputs.assign(graph.inputs().begin(), graph.inputs().end());
  IG_CHECK(moves.size() == out.inputs.size(), "{} inputs, and a mask of {}", out.inputs.size(), moves.size());
  Forward forward(graph, split);
  for (size_t i = 0; i < moves.size(); ++i) {
    if (!moves[i]) continue;
    Value input = out.inputs[i];
    IG_CHECK(has_tangent(input->type()), "input {} of type {} cannot move", i, input->type().str());
    out.tangents.push_back(graph.body().add_arg(input->type(), named("t_", input)));
    forward.set_tangent(input, out.tangents.back());
  }
  forward.walk(graph.body());
  out.results.assign(graph.outputs().begin(), graph.outputs().end());
  for (Value result : out.results) out.derivative.push_back(forward.tangent(result));
  return out;
}

Value or_zero(ops::Builder& build, Value value, const Type& type) {
  return value ? value : build.full(type, 0);
}

std::vector<Value> derivatives_of(Moved& moved, const Mask& wanted) {
  ops::Builder build(moved.graph->body());
  std::vector<Value> out;
  for (size_t i = 0; i < moved.results.size(); ++i)
    if (wanted[i]) out.push_back(or_zero(build, moved.derivative[i], moved.results[i]->type()));
  return out;
}

// Replaces the tangents of a graph by the cotangents of the inputs that move, from these of the results.
std::vector<Value> pull_back(Moved& moved, const std::vector<Value>& cotangents) {
  Graph& graph = *moved.graph;
  // The derivatives stand among the results for the time: a composite that is one of them may be opened.
  std::vector<Value> seeded = moved.results, seeds;
  for (size_t i = 0; i < cotangents.size(); ++i) {
    if (!moved.derivative[i] || !cotangents[i]) continue;
    seeded.push_back(moved.derivative[i]);
    seeds.push_back(cotangents[i]);
  }
  graph.body().set_results(std::move(seeded));
  Backward backward(graph, moved.tangents);
  std::vector<Value> from(graph.outputs().begin() + static_cast<int64_t>(moved.results.size()),
                          graph.outputs().end());
  graph.body().set_results(moved.results);
  for (size_t i = 0; i < seeds.size(); ++i) backward.add(from[i], seeds[i]);
  backward.run();
  std::vector<Value> out;
  ops::Builder build(graph.body());
  for (Value tangent : moved.tangents) {
    Value given = backward.cotangent(tangent);
    out.push_back(or_zero(build, given, tangent->type()));
  }
  backward.erase_linear_nodes();
  return out;
}

void set_results(Moved& moved, std::vector<Value> more) {
  std::vector<Value> all = moved.results;
  all.insert(all.end(), more.begin(), more.end());
  moved.graph->body().set_results(std::move(all));
  sweep(moved.graph->body());
}

void erase_tangents(Moved& moved) {
  for (size_t i = moved.tangents.size(); i-- > 0;) moved.graph->body().erase_arg(moved.tangents[i]->index());
}

}  // namespace

bool has_tangent(const Type& type) {
  return type.is_tensor() && (is_float(type.dtype) || is_complex(type.dtype));
}

std::unique_ptr<Graph> jvp(const Graph& graph, const Mask& moves, const Mask& wanted, bool split) {
  Moved moved = move(graph, moves, split);
  set_results(moved, derivatives_of(moved, wanted));
  return std::move(moved.graph);
}

namespace {

ops::SplitRegion split_by(const Graph& graph, const Mask& moves, const Mask& wanted,
                          const ops::Keeping* keeping) {
  Moved moved = move(graph, moves, true);
  set_results(moved, derivatives_of(moved, wanted));
  Mask late(moved.graph->inputs().size(), false);
  for (Value tangent : moved.tangents) late[tangent->index()] = true;
  ops::SplitRegion out = partial_evaluate(*moved.graph, late, moved.results.size(), keeping);
  for (Value derivative : moved.derivative) out.moves.push_back(derivative != nullptr);
  return out;
}

}  // namespace

ops::Keeping all_there(const Graph& graph) {
  return {.arguments = Mask(graph.inputs().size(), true),
          .same = Mask(graph.inputs().size(), false),
          .results = Mask(graph.outputs().size(), true)};
}

ops::SplitRegion split(const Graph& graph, const Mask& moves, const Mask& wanted,
                       const ops::Keeping& keeping) {
  return split_by(graph, moves, wanted, &keeping);
}

ops::SplitRegion linearize(const Graph& graph, const Mask& moves, const Mask& wanted) {
  ops::SplitRegion out = split_by(graph, moves, wanted, nullptr);
  for (const Node* node : out.linear->body()) {
    if (node == out.linear->body().terminator()) break;
    const ops::Op& op = ops::op_of(node);
    if (op.rules.lower.kind != ops::LowerRule::Kind::None) continue;
    throw make_error(ErrorKind::Unsupported, "the function has no forward mode")
        .at(node->location().str())
        .why(op.rules.lower.reason)
        .hint("use ig.grad, ig.vjp or ig.jacrev, or give the function a rule with ig.custom_jvp");
  }
  return out;
}

std::unique_ptr<Graph> transpose(const Graph& source, const Mask& linear, const Mask& given) {
  std::unique_ptr<Graph> graph = source.clone();
  std::vector<Value> inputs(graph->inputs().begin(), graph->inputs().end());
  std::vector<Value> results(graph->outputs().begin(), graph->outputs().end());
  std::vector<Value> wanted;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (linear[i]) wanted.push_back(inputs[i]);
  Backward backward(*graph, wanted);
  // A composite may have been opened: the results are read again.
  results.assign(graph->outputs().begin(), graph->outputs().end());
  for (size_t i = 0; i < results.size(); ++i)
    if (given[i])
      backward.add(results[i], graph->body().add_arg(results[i]->type(), named("ct_", results[i])));
  backward.run();
  ops::Builder build(graph->body());
  std::vector<Value> out;
  for (Value value : wanted) out.push_back(or_zero(build, backward.cotangent(value), value->type()));
  graph->body().set_results(out);
  backward.erase_linear_nodes();
  sweep(graph->body());
  for (size_t i = wanted.size(); i-- > 0;) graph->body().erase_arg(wanted[i]->index());
  return graph;
}

ops::SplitRegion vjp(const Graph& graph, const Mask& moves, const Mask& given, bool together) {
  Moved moved = move(graph, moves, true);
  std::vector<Value> cotangents;
  size_t seeds = 0;
  for (size_t i = 0; i < moved.results.size(); ++i) {
    Value result = moved.results[i];
    cotangents.push_back(given[i] ? moved.graph->body().add_arg(result->type(), named("ct_", result))
                                  : nullptr);
    seeds += given[i];
  }
  set_results(moved, pull_back(moved, cotangents));
  erase_tangents(moved);
  Mask late(moved.graph->inputs().size(), false);
  std::fill(late.end() - static_cast<int64_t>(seeds), late.end(), true);
  ops::Keeping keeping = all_there(graph);
  ops::SplitRegion out =
      partial_evaluate(*moved.graph, late, moved.results.size(), together ? nullptr : &keeping);
  for (Value derivative : moved.derivative) out.moves.push_back(derivative != nullptr);
  return out;
}

std::unique_ptr<Graph> value_and_grad(const Graph& graph, const Mask& moves) {
  Moved moved = move(graph, moves, true);
  std::vector<Value> cotangents(moved.results.size(), nullptr);
  if (moved.derivative[0]) {
    ops::Builder build(moved.graph->body());
    cotangents[0] = build.full(moved.results[0]->type(), 1);
  }
  set_results(moved, pull_back(moved, cotangents));
  erase_tangents(moved);
  return std::move(moved.graph);
}

}  // namespace ig::transforms
