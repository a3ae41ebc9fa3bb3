// Control flow in a capture. Branches and loop bodies are run once on stand-ins, each into a region of its
// own; what they read from around them becomes an operand of the node (regions are closed), whether it is a
// value of the graph that is being captured or an array from outside of it.
#pragma once

#include "frontends/record/trace.h"

namespace ig::record {

// A captured branch or body. The graph's inputs are the arguments, then what was read from outside, in
// `outer`'s order.
struct Region {
  std::unique_ptr<Graph> graph;
  std::vector<Tensor> outer;

  std::vector<Type> types() const;  // of the results
};

// Runs `function` on stand-ins. It may read the values of the capture that is going on in this thread, if
// there is one; where there is none, `prepare` says where lines come from.
Region capture_region(const Function& function, std::span<const Argument> arguments, std::string name,
                      const std::function<void(Capture&)>& prepare = {});

// The same for a function that is transformed and then runs once, on `arguments`. What it asks of its values
// (their truth, a number) can therefore be answered: by the arrays at hand, or by the capture around it,
// which is asked about the same value.
Region capture_bound(const Function& function, std::span<const Tensor> arguments,
                     std::span<const std::string> names, std::string name,
                     const std::function<void(Capture&)>& prepare);

// The results of a closed graph on these arrays: recorded into the capture at hand, node by node, or computed
// op by op where there is none.
std::vector<Tensor> apply_graph(const Graph& graph, std::span<const Tensor> inputs);

// Records `op` (cond, switch, while, scan, or an op of the same form) in the capture at hand: `leading`
// operands (a predicate), then what the regions read, then the segments that are the regions' arguments.
std::vector<Tensor> record_control(const ops::Op& op, std::span<const Tensor> leading,
                                   std::vector<Region> regions,
                                   const std::vector<std::vector<Tensor>>& segments, Attrs attrs = {});

// Takes the answer to a comparison of sizes as a fact.
void assume_answer(DimScope& scope, std::string_view relation, const Dim& a, const Dim& b, bool answer);

}  // namespace ig::record
