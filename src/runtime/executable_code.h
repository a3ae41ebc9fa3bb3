// The inner form of an executable: instructions with flat operand lists, and what is fixed by a set of sizes.
// Private to the runtime's executable*.cpp.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/arena_plan.h"
#include "runtime/executable.h"

namespace ig::rt {

// One instruction. Its buffers are `operands` consecutive pointers of its block's part of the pointer table.
struct Step {
  const Instruction* source = nullptr;
  int32_t first_pointer = 0;  // into State::pointers
  int32_t operands = 0;
  int32_t first_dim = 0;   // into Sized::dims
  int32_t first_work = 0;  // into State::work: room for the pointers that control flow hands to its bodies
};

struct Patch {
  int32_t pointer;  // into State::pointers
  int32_t index;    // of the input or output
};

struct BlockCode {
  std::vector<Step> steps;
  std::vector<SlotId> operands;  // of all steps, in order
  int32_t first_pointer = 0;
  std::vector<Patch> inputs, program_inputs, outputs;
  std::vector<LiveRange>
      lifetimes;  // of each slot, bytes left open; last < first where no instruction touches it
  std::vector<BlockId> children;
};

struct Executable::Code {
  std::vector<BlockCode> blocks;
  std::vector<SizeId> dims;  // of all steps
  std::vector<SizeId> output_bytes;
  int32_t pointers = 0;
  int32_t work = 0;

  static Code build(const Program& program);
};

// Where things lie in the part of the arena that a block has, for one set of sizes.
struct BlockPlan {
  std::vector<size_t> slots;  // offset of each arena slot
  std::vector<size_t> child;  // of each step: where its bodies' part begins
  std::vector<std::vector<size_t>>
      spares;  // of each step: the second buffers of loop carries, and the loop's flag
  size_t total = 0;
  size_t lower_bound = 0;
};

struct Executable::Sized {
  std::vector<int64_t> symbols;
  std::vector<int64_t> values;  // of every size formula
  std::vector<int64_t> dims;
  std::vector<BlockPlan> blocks;
  std::vector<size_t> output_bytes;
  size_t planned_outputs = 0;

  int64_t operator[](SizeId id) const { return values[static_cast<size_t>(id)]; }
};

// A program that one thread runs at once.
struct Executable::Small {
  static constexpr size_t kMostKernels = 8, kMostPointers = 48, kMostBytes = 4096;
  struct Kernel {
    const KernelCall* call;
    const int64_t* dims;
    int32_t first_pointer;
    int64_t blocks;
  };
  std::shared_ptr<const Sized> sized;
  std::vector<Kernel> kernels;
  std::vector<void*> pointers;  // of all operands; those to constants are filled in
  std::vector<Patch> inputs, outputs;
  std::vector<Patch> arena;  // the index is the offset in bytes
  mutable std::atomic<int64_t> runs{0};

  static std::unique_ptr<const Small> of(const Executable& executable);  // null where it is another kind
};

// The operands of an instruction in the order in which its pointers stand.
std::vector<SlotId> operands_of(const Instruction& instruction);

}  // namespace ig::rt
