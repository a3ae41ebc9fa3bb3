// Batching: a graph over one example becomes a graph over many at once, each op by the `batch` rule of its
// declaration. A value that does not depend on a batched input stays as it is, so what is common to all
// examples is computed once. The work is linear in the number of nodes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace ig::transforms {

inline constexpr int kNotBatched = -1;

struct BatchOptions {
  // For each input the place of the batch axis among its axes (0 to its rank), or kNotBatched.
  std::vector<int> in_axes;
  Dim size;  // of the batch axis; its symbols are declared in the new graph where the old one lacks them
  // For each output where the batch axis goes; kNotBatched refuses an output that depends on the batch. An
  // output that does not depend on it is repeated along the axis.
  std::vector<int> out_axes;
  std::string axis_name = {};               // for ops that speak of the axis by its name
  std::vector<std::string> out_names = {};  // what errors call the outputs; "output 0" … where left out
};

// Error(Unsupported) with the user's line where an op has no batch rule; Error(Value) where an axis is out of
// range, or an output that depends on the batch is to have no batch axis.
std::unique_ptr<Graph> batch(const Graph& graph, const BatchOptions& options);

// Which results of the node depend on these of its operands: of a node with regions, by the way through them.
std::vector<bool> reached(const Node* node, const std::vector<bool>& operands);

}  // namespace ig::transforms
