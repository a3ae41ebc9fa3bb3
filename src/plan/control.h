// Control flow: nodes with regions become instructions of the executable that name blocks.
#pragma once

#include "ir/graph.h"
#include "runtime/executable.h"

namespace ig::plan {

class BlockPlanner {
 public:
  virtual ~BlockPlanner() = default;
  virtual rt::SizeId size(const Dim& dim) = 0;
  virtual rt::SizeId bytes(const Type& type) = 0;
  virtual rt::BlockId block(const Block& source) = 0;  // plans a region
  // What the body of a scan that was just planned reads in another form, and is the same in every step:
  // writes it in front of the scan. The slots come behind the scan's other constants.
  virtual std::vector<rt::SlotId> packed_once(const Node* scan) = 0;
  virtual rt::SlotId slot(Value v) const = 0;  // of the block at hand
  // Whether the block may write its output where this input of it lies.
  virtual bool shares(const Block& source, int output, int input) = 0;
  virtual void add(rt::Instruction instruction) = 0;
};

void plan_control(BlockPlanner& planner, Node* node);

}  // namespace ig::plan
