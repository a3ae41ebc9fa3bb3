// Programs of what is computed once.
#include "backends/cpu/computed_once.h"

#include <fmt/format.h>

#include "ops/builder.h"
#include "ops/once.h"
#include "passes/walk.h"

namespace ig::cpu {
namespace {

std::unique_ptr<Graph> graph_of(const Node* once) {
  auto out = std::make_unique<Graph>("once");
  std::vector<Value> args;
  for (Value arg : once->region(0).args()) args.push_back(out->body().add_arg(arg->type(), arg->name()));
  out->body().set_results(out->inline_block(once->region(0), out->body(), args));
  return out;
}

// The inputs that the node reads. Their sizes are fixed, so that the same memory is the same array.
std::vector<int> sources_of(const Node* once) {
  std::vector<int> out;
  for (Value v : once->operands()) {
    if (v->node() || !constant_dims(v->type().dims))
      throw make_error(ErrorKind::Unsupported, "a node `once` reads what is no input of fixed sizes")
          .why("what is computed once is known before the rest of the graph runs")
          .hint("leave it to the pass compute-once to make such nodes");
    out.push_back(static_cast<int>(v->index()));
  }
  return out;
}

}  // namespace

ComputedOnce::ComputedOnce(std::unique_ptr<Graph> graph, std::vector<int> sources, int first,
                           const CompileOptions& options)
    : sources_(std::move(sources)), first_(first), results_(static_cast<int>(graph->outputs().size())) {
  CompileOptions own = options;
  own.donated.clear();
  own.steady.clear();
  own.at_hand = false;
  own.keeps_memory = false;
  own.disabled_passes.insert("compute-once");  // all of it would be
  program_ = std::make_unique<const LazyProgram>(std::move(graph), std::move(own));
}

std::vector<Tensor> ComputedOnce::compute(std::span<const Tensor> arguments) const {
  if (auto results = program_->run_early(arguments)) return *std::move(results);
  return program_->get()->run(arguments);
}

std::vector<ComputedOnce> take_out_once(Graph& graph, const CompileOptions& options) {
  std::vector<ComputedOnce> out;
  for (Node* node : graph.body()) {
    if (!ops::is_once(node)) continue;
    const bool now = node->operands().empty() && !options.at_hand;
    ComputedOnce once(graph_of(node), sources_of(node), static_cast<int>(graph.inputs().size()), options);
    std::vector<Value> values;
    if (now) {
      ops::Builder build(graph.body(), node);
      build.at(node);
      for (const Tensor& result : once.compute({})) values.push_back(build.constant(result.literal()));
    } else {
      for (Value v : node->results()) values.push_back(graph.body().add_arg(v->type(), v->name()));
      out.push_back(std::move(once));
    }
    passes::replace(node, values);
    graph.erase(node);
  }
  return out;
}

}  // namespace ig::cpu
