// Calls of graphs that a transform made of a region.
#include "frontends/record/transform.h"

#include "transforms/batch.h"

namespace ig::record {
std::vector<Tensor> call_batched(const Region& region, std::span<const Tensor> arguments,
                                 const Mapping& mapping) {
  transforms::BatchOptions options{mapping.in_axes, mapping.size, mapping.out_axes, mapping.axis_name,
                                   mapping.out_names};
  options.in_axes.resize(region.graph->inputs().size(), transforms::kNotBatched);
  std::unique_ptr<Graph> graph = transforms::batch(*region.graph, options);
  std::vector<Tensor> inputs(arguments.begin(), arguments.end());
  inputs.insert(inputs.end(), region.outer.begin(), region.outer.end());
  return apply_graph(*graph, inputs);
}

}  // namespace ig::record
