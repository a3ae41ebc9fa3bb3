// What runs: a flat list of instructions over one arena. The planner fills a Program; an Executable is a
// Program that was checked and made quick. It knows neither graphs nor passes, and needs no compiler.
//
// A Program is made of blocks. Block 0 is the call itself; the others are the bodies of control flow, each
// used by instructions of blocks with a smaller index only. A block has buffer slots (inputs, outputs,
// constants, and arena temporaries) and instructions that name them. A slot's lifetime is read off the
// instructions. Everything of a body lives in the arena of the whole call, in a part that is free for others
// before and after.
//
// Buffers are row-major and contiguous. They start at multiples of 64 bytes, except inputs of block 0 (as the
// caller gives them) and the slices that a Scan hands to its body (multiples of the element's size).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/kernel_abi.h"
#include "runtime/profile.h"
#include "runtime/size_table.h"
#include "support/error.h"
#include "support/storage.h"

namespace ig::rt {

using SlotId = int32_t;
using BlockId = int32_t;

// A `ProgramInput` is an input of block 0, in whichever block it is read.
enum class SlotKind : uint8_t { Input, ProgramInput, Output, Constant, Arena };

struct Slot {
  SlotKind kind = SlotKind::Arena;
  int32_t index = 0;  // of the input, output or constant
  SizeId bytes = 0;
  SlotId alias = -1;  // of an arena slot: an earlier arena slot whose place it takes over, at the instruction
                      // that last touches that one
};

// Where a kernel came from; every run counts them.
enum class Origin : uint8_t { Compiled, Prebuilt, Fallback };

struct KernelCall {
  KernelFn kernel = nullptr;
  std::vector<SlotId> buffers;  // inputs, then outputs
  int32_t reads = 0;            // how many of these, the first ones, it only reads
  std::vector<SizeId> dims;
  SizeId blocks = 0;
  int64_t grain = 1;         // the least number of blocks worth handing to a thread: about 3 µs of work
  int64_t block_grains = 1;  // where a block is worth it by itself: how many times over
  SizeId grains = -1;        // in place of both, where the sizes say it: how much of that all blocks are
  SizeId when = -1;          // where sizes say whether it runs: 0 where it does not
  SizeId scratch = -1;       // bytes for each thread; -1: none
  Origin origin = Origin::Compiled;
  std::string name{};                     // for profiles and reports
  KernelSteps steps = KernelSteps::None;  // `blocks` of Until is not read
  // Throws what a check of the kernel says, by its number and the value that it tells; null: it makes none.
  std::function<void(int64_t check, int64_t value)> fail = {};
};

struct Copy {
  SlotId from = 0, to = 0;
  SizeId bytes = 0;
};

// Runs one of several bodies. The selector is an integer of 1 (bool), 4 or 8 bytes; a value outside the
// branches takes the last one. For a condition: branches = {else, then}.
struct Cond {
  SlotId selector = 0;
  int32_t selector_bytes = 1;
  std::vector<BlockId> branches;
  std::vector<SlotId> inputs;   // of every branch
  std::vector<SlotId> outputs;  // of every branch
};

// carry = init; while (cond(consts, carry)) carry = body(consts, carry); results = carry. The inputs of both
// blocks are consts, then carry; cond has one output, a bool; body's outputs are the next carry, in buffers
// of their own but for those that it may write in place.
struct While {
  BlockId cond = 0, body = 0;
  std::vector<SlotId> consts;
  std::vector<SlotId> init;
  std::vector<SlotId> results;
  std::vector<bool> in_place;  // for each carry
};

// For `trips` steps: (carry, y[i]) = body(consts, carry, x[i]), from the last step to the first if reversed.
// Step i reads and writes at i times the slice's bytes.
struct Scan {
  BlockId body = 0;
  SizeId trips = 0;
  bool reverse = false;
  std::vector<SlotId> consts;
  std::vector<SlotId> init;
  std::vector<SlotId> results;
  std::vector<bool> in_place;  // for each carry: the body may write it where it reads it
  std::vector<SlotId> xs;
  std::vector<SizeId> x_bytes;  // of one slice
  std::vector<SlotId> ys;
  std::vector<SizeId> y_bytes;
  // No step needs anything of another one, nor ends the run: several threads may have some each. Whether that
  // is quicker than all threads in one step after the other is found out by trying both.
  bool apart = false;
};

struct Call {
  BlockId body = 0;
  std::vector<SlotId> inputs;
  std::vector<SlotId> outputs;
};

// A call into the process: effects such as print, and slow reference kernels. Returns as a kernel does, or
// throws.
using HostFn = int32_t (*)(void* context, void* const* buffers, const int64_t* dims, int64_t* error);
struct Host {
  HostFn function = nullptr;
  std::shared_ptr<void> context{};
  std::vector<SlotId> buffers;
  std::vector<SizeId> dims;
  bool fallback = false;  // stands for a kernel: counted as one of origin Fallback
  std::string name{};
};

using Instruction = std::variant<KernelCall, Copy, Cond, While, Scan, Call, Host>;

struct Block {
  int32_t inputs = 0;
  int32_t outputs = 0;
  std::vector<Slot> slots;
  std::vector<Instruction> code;
  // Instructions [first, second) that need nothing of each other, and take one thread long: whether they run
  // one after the other or each on a thread of its own is found out by trying both.
  std::vector<std::pair<int32_t, int32_t>> side_by_side{};
};

// Turns the error word of a failed kernel (node, value, the kernel's code) into the error for the user.
using ErrorDecoder = std::function<Error(int64_t node, int64_t value, int32_t code)>;

// What an instruction is, for profiles: by its block and its place there; of `kWholeProgram`, the program.
inline constexpr BlockId kWholeProgram = -1;
using InstructionDescriber = std::function<profile::Facts(BlockId, size_t)>;

// What a slot holds and which line of the user's made it, for the error about memory that does not suffice.
using SlotDescriber = std::function<std::string(BlockId, SlotId)>;

struct Program {
  std::string name;
  SizeTable sizes;
  std::vector<Block> blocks;
  std::vector<Storage> constants;
  bool flush_denormals = false;  // in kernels; host calls are as ever
  bool keeps_arena = true;       // from run to run; if not, a large one is given back
  ErrorDecoder decode;
  SlotDescriber describe;
  // Shared, since a profile outlives programs; null: instructions are known by their own names.
  std::shared_ptr<const InstructionDescriber> facts;
  std::vector<std::shared_ptr<const void>>
      owners;  // what must live as long as the executable: machine code above all
};

struct KernelCounts {
  int64_t compiled = 0, prebuilt = 0, fallback = 0;
};

struct RunReport {
  size_t planned_arena = 0;  // of the last sizes
  size_t planned_outputs = 0;
  size_t planned_peak = 0;  // arena and outputs, for the last sizes
  size_t lower_bound = 0;   // of the arena of the call itself: bytes alive at once
  size_t measured_peak =
      0;  // the most that one run held of the allocator: arena, and outputs that were not donated
  int64_t runs = 0;
  KernelCounts kernels;   // in the program
  KernelCounts launched;  // by all runs so far
};

class Executable {
 public:
  // Error(Internal) where the program breaks a law of this header.
  explicit Executable(Program program);
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  int32_t inputs() const { return program_.blocks[0].inputs; }
  int32_t outputs() const { return program_.blocks[0].outputs; }
  const Program& program() const { return program_; }

  // Runs once. `outputs` has one Storage an output: an empty one is allocated, another is taken as it is (a
  // donated input's memory, at least as large as the output). Thread-safe: each concurrent run has an arena
  // of its own, kept for later runs. Error(Memory) before anything runs where the plan does not fit; what a
  // kernel or a host function reports is thrown, and the outputs' contents are then undefined.
  void run(std::span<void* const> inputs, std::span<const int64_t> symbol_values,
           std::span<Storage> outputs) const;

  // A few kernels of fixed sizes with too little work for a second thread: `run_small` does what `run` does
  // for a fraction of its cost, with all outputs empty. Only where `small()`.
  bool small() const { return small_ != nullptr; }
  void run_small(void* const* inputs, std::span<Storage> outputs) const;

  RunReport report() const;
  void release_arenas() const;  // gives back the arenas that no run uses

 private:
  struct Code;
  struct Sized;
  struct Small;
  struct State;
  class Runner;

  int threads() const;  // that a plan is made for: 1 where it has no lanes
  bool fits(const Sized& sized, std::span<const int64_t> symbol_values) const;
  std::shared_ptr<const Sized> sized_for(std::span<const int64_t> symbol_values) const;
  std::shared_ptr<const Sized> plan(std::span<const int64_t> symbol_values) const;
  Storage reserve(const Sized& sized, size_t bytes) const;
  // A kernel or a host function ended with an error.
  [[noreturn]] void fail(const int64_t (&error)[2], int32_t code) const;

  Program program_;
  std::unique_ptr<const Code> code_;
  std::unique_ptr<const Small> small_;  // null where the program is not small
  KernelCounts counts_;

  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const Sized>> plans_;
  mutable std::vector<std::unique_ptr<State>> idle_;
  mutable std::shared_ptr<const Sized> last_;
  mutable size_t measured_peak_ = 0;
  mutable int64_t runs_ = 0;
  mutable KernelCounts launched_;
};

// Called about every 20 ms while a loop runs, with no lock held; it may throw, which ends the run (Ctrl-C).
// Null: none.
using LoopPoll = void (*)();
void set_loop_poll(LoopPoll poll);

}  // namespace ig::rt
