// Which values of a block share memory with what it is given or gives: kernels (and loops, and branches) that
// may work in place lead from an input of the block to one of its outputs, so that an array which every step
// of a loop changes in one place is not copied in every step.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace ig::plan {

// The value behind relabellings.
Value root(Value v);

class Sharing {
 public:
  using Pairs = std::vector<std::pair<int, int>>;
  struct OfBlock {
    std::unordered_map<Value, int> output_of;  // values that are computed where an output lies
    std::unordered_map<Value, const Node*> last_use;
    Pairs shared;  // (output, input) pairs: the output may be written where the input lies
  };

  explicit Sharing(const std::unordered_map<const Node*, KernelChoice>& kernels) : kernels_(kernels) {}

  const OfBlock& of(const Block& block);
  // (result, operand) pairs of a node: the result may be written where the operand lies.
  Pairs in_place(const Node* node);

 private:
  OfBlock made_of(const Block& block);
  Value before(OfBlock& out, Value v, int output);

  const std::unordered_map<const Node*, KernelChoice>& kernels_;
  std::unordered_map<const Block*, OfBlock> blocks_;
};

// Whether only this operand of the node is that value.
bool read_once(const Node* node, Value v);

}  // namespace ig::plan
