// Going back through what was recorded into a graph: the same recipes, whose ops are recorded behind it. So a
// program that calls backward() while it is captured is one graph, with nothing computed twice.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "frontends/tape/recipe.h"
#include "frontends/tape/tape.h"

namespace ig::tape {

std::shared_ptr<const Recipe> recorded_recipe_of(const Node& node);

// What is made of parts (a loop, a branch, a composite) must keep more than its results: it is recorded anew,
// so that it gives what its way back reads, and takes the place of the node that was there. Then no loop runs
// twice, and the graph is that of a derivative of the whole function.
struct Parted {
  std::shared_ptr<const Recipe> recipe;  // from the residuals and the gradients
  std::vector<Tensor> residuals;
};
// Nothing of other ops, and of those with effects, which may not move.
std::optional<Parted> parted_of(Node& node);

// What the way back gives, recorded at the node's own place in the program.
std::vector<Gradient> record(const Node& node, const Recipe& recipe, std::span<const Tensor> inputs);

}  // namespace ig::tape
