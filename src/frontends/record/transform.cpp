// Calls of graphs that transforms made.
#include "frontends/record/transform.h"

#include <list>
#include <mutex>

#include "tensor/program.h"
#include "transforms/batch.h"

namespace ig::record {
namespace {

// The programs of the graphs that were called outside of captures, the last used in front.
class Programs {
 public:
  std::shared_ptr<Program> of(const Graph& graph) {
    const Hash128 key = graph.hash();
    {
      std::lock_guard lock(mutex_);
      for (auto it = entries_.begin(); it != entries_.end(); ++it)
        if (it->first == key) {
          entries_.splice(entries_.begin(), entries_, it);
          return it->second;
        }
    }
    std::shared_ptr<Program> program = compile(graph);
    std::lock_guard lock(mutex_);
    entries_.emplace_front(key, program);
    if (entries_.size() > kMost) entries_.pop_back();
    return program;
  }

 private:
  static constexpr size_t kMost = 128;
  std::mutex mutex_;
  std::list<std::pair<Hash128, std::shared_ptr<Program>>> entries_;
};

Programs& programs() {
  static Programs all;
  return all;
}

}  // namespace

std::vector<Tensor> call_graph(const Graph& graph, std::span<const Tensor> inputs) {
  Capture* capture = Capture::current();
  if (!capture) return programs().of(graph)->run(inputs);
  for (const auto& [symbol, range] : graph.dims.symbols())
    if (!capture->graph().dims.symbols().contains(symbol)) capture->graph().dims.declare(symbol, range);
  std::vector<Value> values;
  for (const Tensor& input : inputs) values.push_back(capture->value_of(input));
  std::vector<Tensor> out;
  for (Value result : capture->graph().inline_block(graph.body(), capture->graph().body(), values))
    out.push_back(Tensor::symbolic(capture, result));
  return out;
}

std::vector<Tensor> call_batched(const Region& region, std::span<const Tensor> arguments,
                                 const Mapping& mapping) {
  transforms::BatchOptions options{mapping.in_axes, mapping.size, mapping.out_axes, mapping.axis_name,
                                   mapping.out_names};
  options.in_axes.resize(region.graph->inputs().size(), transforms::kNotBatched);
  std::unique_ptr<Graph> graph = transforms::batch(*region.graph, options);
  std::vector<Tensor> inputs(arguments.begin(), arguments.end());
  inputs.insert(inputs.end(), region.outer.begin(), region.outer.end());
  return call_graph(*graph, inputs);
}

}  // namespace ig::record
