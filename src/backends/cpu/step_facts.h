// What the instructions of a compiled graph are, as a profile tells it: the nodes that each was made of,
// their lines, and how much they multiply.
#pragma once

#include <memory>

#include "ir/graph.h"
#include "plan/plan.h"
#include "runtime/executable.h"

namespace ig::cpu {

// Of a plan's instructions. It keeps the graph.
std::shared_ptr<const rt::InstructionDescriber> describe_steps(std::shared_ptr<const Graph> graph,
                                                               const plan::Plan& plan);

}  // namespace ig::cpu
