// A closed graph on arrays: into the capture at hand, or op by op.
#include <mutex>

#include "frontends/record/control.h"
#include "ops/effects.h"
#include "ops/host_call.h"
#include "ops/table.h"
#include "tensor/eager.h"
#include "tensor/numbers.h"
#include "tensor/program.h"
#include "transforms/edit.h"

namespace ig::record {
namespace {

struct Compiled {
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<Program> program;
};

// Programs of nodes with regions, which only a compiled program runs, by the text of the node.
Compiled program_of(const Node* node) {
  static std::mutex mutex;
  static std::unordered_map<Hash128, Compiled> known;
  constexpr size_t kMost = 512;
  auto made = std::make_shared<Graph>("region");
  Graph& graph = *made;
  graph.dims = node->graph().dims;
  std::unordered_map<Value, Value> map;
  for (Value operand : node->operands())
    if (!map.contains(operand)) map[operand] = graph.body().add_arg(operand->type());
  graph.body().set_results({});
  Node* copy = transforms::copy_node(node, graph.body(), map);
  graph.body().set_results({copy->results().begin(), copy->results().end()});
  Hash128 key = graph.hash();
  {
    std::lock_guard lock(mutex);
    if (auto found = known.find(key); found != known.end()) return found->second;
  }
  // Programs that are kept here for others keep no function of theirs alive.
  ops::release_host_functions(graph);
  Compiled compiled{made, compile(graph)};
  std::lock_guard lock(mutex);
  if (known.size() >= kMost) known.clear();
  known.emplace(key, compiled);
  return compiled;
}

std::vector<Tensor> run_node(const Node* node, const std::unordered_map<Value, Tensor>& values) {
  const ops::Op& op = ops::op_of(node);
  std::vector<Tensor> operands;
  if (!node->regions().empty()) {
    std::unordered_map<Value, bool> seen;
    for (Value operand : node->operands())
      if (!std::exchange(seen[operand], true)) operands.push_back(values.at(operand));
    Compiled compiled = program_of(node);
    std::vector<Tensor> out = compiled.program->run(operands);
    if (const GradLink* link = recording_link(operands)) link->record(compiled.graph, operands, out);
    return out;
  }
  if (op.has(ops::Trait::Effect)) {  // the nodes run in order, so nothing passes by the token
    std::vector<Literal> shown;
    for (Value operand : node->operands().subspan(1)) shown.push_back(values.at(operand).literal());
    std::vector<Tensor> out{Tensor()};
    if (!ops::is_host_call(op))
      ops::run_effect(op, node->attrs(), shown, node->location());
    else
      for (const Literal& result : ops::run_host_call(op, node->attrs(), shown, node->location()))
        out.push_back(Tensor::from(result));
    return out;
  }
  for (Value operand : node->operands()) operands.push_back(values.at(operand));
  if (operands.empty()) {
    if (node->result()->type() == Type::token()) return {Tensor()};
    std::vector<Tensor> out;
    for (const Literal& literal : ops::evaluate(op, node->attrs(), {})) out.push_back(Tensor::from(literal));
    return out;
  }
  // As the public functions do, so that both share their programs.
  bool same = op.has(ops::Trait::Elementwise);
  for (const Tensor& operand : operands) same &= operand.shape() == operands[0].shape();
  return same ? eager::run_elementwise(op, operands, node->attrs(), operands[0].shape())
              : eager::run(op, operands, node->attrs());
}

std::vector<Tensor> run_graph(const Graph& graph, std::span<const Tensor> inputs) {
  std::unordered_map<Value, Tensor> values;
  std::unordered_map<Value, size_t> left;  // uses that are still to come
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i]] = inputs[i];
  Node* end = graph.body().terminator();
  for (const Node* node : graph.body()) {
    if (node == end) break;
    std::vector<Tensor> results = run_node(node, values);
    for (size_t i = 0; i < results.size(); ++i) {
      left[node->result(i)] = node->result(i)->uses().size();
      values[node->result(i)] = std::move(results[i]);
    }
    for (Value operand : node->operands()) {
      auto found = left.find(operand);
      if (found != left.end() && --found->second == 0) values.erase(operand);
    }
  }
  std::vector<Tensor> out;
  for (Value result : graph.outputs()) out.push_back(values.at(result));
  return out;
}

}  // namespace

std::vector<Tensor> apply_graph(const Graph& graph, std::span<const Tensor> inputs) {
  Capture* capture = Capture::current();
  if (!capture) return numbers::run(graph, inputs, [&] { return run_graph(graph, inputs); });
  return capture->inline_graph(graph, inputs);
}

}  // namespace ig::record
