// Derivatives as functions from graphs to graphs. Forward mode pushes tangents through the rules that the ops
// declare; reverse mode is that, and then the transposition of what is linear in the tangents. Nothing here
// names an op: what an op's derivative is stands in its declaration.
//
// A mask says which inputs move (those that are differentiated by), or which results are meant. Only floats
// and complex numbers have tangents. What does not move costs nothing: zeros are never built, but where a
// result is one.
#pragma once

#include <memory>
#include <vector>

#include "ir/graph.h"
#include "ops/regions.h"

namespace ig::transforms {

using Mask = std::vector<bool>;

bool has_tangent(const Type& type);  // a float or a complex number

// Inputs: the graph's, then a tangent for each that moves. Results: the graph's, then their tangents, of
// those in `wanted`.
// With `split`, no node computes both: the graph can be transposed by its tangents.
std::unique_ptr<Graph> jvp(const Graph& graph, const Mask& moves, const Mask& wanted, bool split = false);

// The graph in two parts, of which the second is linear in the tangents of the inputs that move: see
// SplitRegion. Run the first once, and the second for each direction.
ops::SplitRegion linearize(const Graph& graph, const Mask& moves, const Mask& wanted);
// The same, where the second part may hold what is known by its transpose alone, and computes again what it
// costs less to compute than to keep.
ops::SplitRegion split(const Graph& graph, const Mask& moves, const Mask& wanted,
                       const ops::Keeping& keeping);
// Where arguments and results are there anyway.
ops::Keeping all_there(const Graph& graph);

// Of a graph that is linear in the inputs of `linear`. Inputs: the others, then cotangents of the results in
// `given`. Results: the cotangents of the linear inputs.
std::unique_ptr<Graph> transpose(const Graph& graph, const Mask& linear, const Mask& given);

// Forward: inputs to results, then residuals. Backward (`linear`): residuals, then cotangents of the results
// in `given`, to the cotangents of the inputs that move. What is kept, besides inputs and results, is chosen
// by a minimum cut; not so with `together`, where both parts run together and nothing is kept.
ops::SplitRegion vjp(const Graph& graph, const Mask& moves, const Mask& given, bool together = false);

// Inputs: the graph's. Results: the graph's, then the gradient of the first (one real number) by each input
// that moves.
std::unique_ptr<Graph> value_and_grad(const Graph& graph, const Mask& moves);

// The graph in two parts: what can be computed from the inputs that are not `late`, and the rest. What passes
// from the first to the second are residuals; composites that prepare (Trait::Prepares) are opened. The
// results from `results` on are the second part's. With `keeping` the second part computes again what is
// element-wise, a view or a short fold, where that keeps fewer bytes.
ops::SplitRegion partial_evaluate(Graph& graph, const Mask& late, size_t results,
                                  const ops::Keeping* keeping = nullptr);

}  // namespace ig::transforms
