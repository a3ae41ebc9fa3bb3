// Which values may lie in one place of memory: what moves no byte, what changes some elements of an array,
// and what a block gives where it was given it.
#pragma once

#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/table.h"

namespace ig::ops {

// A node that moves no byte, or a kernel of such a node: its result is its operand's memory.
bool is_relabel(const Node* node);
// The value behind such nodes, which holds the bytes.
Value root_of(Value v);
// Whether exactly one operand of the node holds the bytes of `v`, a root.
bool read_once(const Node* node, Value v);

// The operand of which the node's result is a changed copy, where it may be changed as it lies: an argument
// of the block that nothing else in it reads. Or -1.
int updated_operand(const Node* node);

// Which values of a block share memory with what it is given or gives: kernels (and loops, and branches) that
// may work in place lead from an input of the block to one of its outputs, so that an array which every step
// of a loop changes in one place is not copied in every step.
class Sharing {
 public:
  using Pairs = std::vector<std::pair<int, int>>;
  struct OfBlock {
    std::unordered_map<Value, int> output_of;  // values that are computed where an output lies
    std::unordered_map<Value, const Node*> last_use;
    Pairs shared;  // (output, input) pairs: the output may be written where the input lies
  };

  // `kernels` gives the pairs of a node that is no control flow: none, if it is no kernel.
  explicit Sharing(std::function<Pairs(const Node*)> kernels) : kernels_(std::move(kernels)) {}

  const OfBlock& of(const Block& block);
  // (result, operand) pairs of a node: the result may be written where the operand lies.
  Pairs in_place(const Node* node);

 private:
  OfBlock made_of(const Block& block);
  Value before(OfBlock& out, Value v, int output);

  std::function<Pairs(const Node*)> kernels_;
  std::unordered_map<const Block*, OfBlock> blocks_;
};

}  // namespace ig::ops
