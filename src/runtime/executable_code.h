// The inner form of an executable: instructions with flat operand lists, and what is fixed by a set of sizes.
// Private to the runtime's executable*.cpp.
#pragma once

#include <atomic>
#include <limits>
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
  int32_t trial = -1;      // into Sized::trials, of a loop whose steps may run at once
};

struct Patch {
  int32_t pointer;  // into State::pointers
  int32_t index;    // of the input or output
};

// Steps that may run at once.
struct Group {
  int32_t begin = 0, end = 0;
  int32_t trial = 0;  // into Sized::trials
};

struct BlockCode {
  std::vector<Step> steps;
  std::vector<Group> groups;     // in order
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
  int32_t trials = 0;
  int32_t widest = 1;  // steps that may run at once

  static Code build(const Program& program);
};

// Where things lie in the part of the arena that a block has, for one set of sizes.
struct BlockPlan {
  std::vector<size_t> slots;   // offset of each arena slot
  std::vector<size_t> child;   // of each step: where its bodies' part begins
  std::vector<int32_t> lanes;  // of each step: how many such parts there are, one behind the other
  std::vector<std::vector<size_t>>
      spares;  // of each step: the second buffers of loop carries, and the loop's flag
  size_t total = 0;
  size_t lower_bound = 0;
};

// How a group of steps, or a loop's steps, run: the first runs try both ways by turns, and then it is the
// quicker one, but for a run now and then that tries the other, lest a disturbed one decided. What is over at
// once gains nothing; and who waits for a step on another thread cannot end it, so that what takes a second
// stays on the calling one.
class Trial {
 public:
  enum Way : uint8_t { OneByOne, AtOnce };
  struct Run {
    Way way;
    bool timed;
  };

  Run next() {
    constexpr uint32_t kFirst = 8, kNowAndThen = 64;
    if (alone_.load(std::memory_order_relaxed)) return {OneByOne, false};
    const uint32_t run = runs_.fetch_add(1, std::memory_order_relaxed);
    if (run < kFirst) return {static_cast<Way>(run % 2), true};
    const bool quicker =
        best_[AtOnce].load(std::memory_order_relaxed) < best_[OneByOne].load(std::memory_order_relaxed);
    const bool other = run % kNowAndThen == 0;
    return {quicker != other ? AtOnce : OneByOne, other};
  }
  void took(Way way, int64_t nanoseconds) {
    constexpr int64_t kLeast = 10'000, kMost = 1'000'000'000;
    std::atomic<int64_t>& best = best_[way];
    if (nanoseconds < best.load(std::memory_order_relaxed))
      best.store(nanoseconds, std::memory_order_relaxed);
    if (way == OneByOne && (nanoseconds < kLeast || nanoseconds > kMost))
      alone_.store(true, std::memory_order_relaxed);
  }

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  std::atomic<int64_t> best_[2] = {kNever, kNever};
  std::atomic<uint32_t> runs_{0};
  std::atomic<bool> alone_{false};
};

struct Executable::Sized {
  std::vector<int64_t> symbols;
  int threads = 1;              // that lanes are planned for
  std::vector<int64_t> values;  // of every size formula
  std::vector<int64_t> dims;
  std::vector<BlockPlan> blocks;
  std::vector<size_t> output_bytes;
  size_t planned_outputs = 0;
  std::unique_ptr<Trial[]> trials;

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

// The bytes of an array. Error(Value) where these sizes make them negative.
size_t checked_bytes(const Program& program, int64_t bytes);

// The operands of an instruction in the order in which its pointers stand.
std::vector<SlotId> operands_of(const Instruction& instruction);

}  // namespace ig::rt
