// Functions of graphs, called like functions of arrays: a transform captures what it is given as a region,
// makes another graph of it, and calls that one.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "frontends/record/control.h"

namespace ig::record {

struct Mapping {
  std::vector<int> in_axes;  // of the region's arguments; what it read from outside is not batched
  Dim size;
  std::vector<int> out_axes;
  std::string axis_name;
  std::vector<std::string> out_names;  // what errors call the results
};

// The region on many examples at once: transforms::batch, then apply_graph.
std::vector<Tensor> call_batched(const Region& region, std::span<const Tensor> arguments,
                                 const Mapping& mapping);

}  // namespace ig::record
