// Work that takes one thread long (loops above all) beside other such work that needs nothing of it: the two
// directions of a recurrent network, two towers.
#pragma once

#include <span>
#include <utility>

#include "plan/plan.h"
#include "runtime/executable.h"

namespace ig::plan {

// Brings such instructions of a block next to each other, as far as nobody sees that, and notes them in
// `block.side_by_side`. `made` says what each instruction was made of, and is brought into the same order.
// `shared`: (output, input) pairs of the block, where one may be written where the other lies.
void put_side_by_side(const rt::Program& program, rt::Block& block, std::vector<Plan::Made>& made,
                      std::span<const std::pair<int, int>> shared);

}  // namespace ig::plan
