// A compiled graph, as the layers above the compiler see it, and how they ask for one. What is declared here
// of the compiler, src/backends defines.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "ops/fusion_report.h"
#include "ops/op.h"
#include "runtime/kernel_abi.h"
#include "support/fast_math.h"
#include "tensor/tensor.h"

namespace ig {

struct CompileOptions {
  std::string target;     // "": the host; else a name that codegen::Target::named takes
  int threads = 0;        // for compiling; 0: as many as the pool has
  bool exact = false;     // forbid rewrites that only keep a stated bound
  FastMath fast_math{};   // allow what goes beyond stated bounds; not together with `exact`
  std::set<int> donated;  // inputs whose memory the program may take
  // Inputs that most calls leave as they are (weights): kernels may read them in a form of their own, which
  // is made when another array is passed.
  std::set<int> steady;
  std::set<std::string> disabled_passes;
  // Only where no machine code has to be made: all kernels are prebuilt, in the process or in the cache on
  // disk. Otherwise there is no program, and `compile` gives null.
  bool at_hand = false;
  // Whether the memory of temporaries stays with the program from call to call. Otherwise what is much of it
  // is given back: of eager ops there are many programs, each of which would hold what its largest call took.
  bool keeps_memory = true;
  std::stop_token stop{};  // compiling is over soon where it asks for that, and throws Stopped
};

// What a flag of fast_math did in a program.
struct FastMathUse {
  std::string_view flag;
  int changes = 0;                  // nodes
  std::vector<std::string> places;  // the first of them: "add (f.py:3)"
};

struct ProgramReport {
  int nodes_captured = 0, nodes = 0, kernels = 0, fused_groups = 0;
  // By origin: compiled in this process, from the cache on disk, prebuilt, and those that share the code of
  // one that is counted already.
  int kernels_compiled = 0, kernels_cached = 0, kernels_prebuilt = 0, kernels_shared = 0;
  int kernels_fallback = 0;  // ops without a kernel
  int side_by_side = 0;      // steps that may run at once with others, each on a thread
  double pass_ms = 0, lower_ms = 0, compile_ms = 0, plan_ms = 0;
  size_t code_bytes = 0, constant_bytes = 0, planned_peak = 0, measured_peak = 0;
  // Kept from call to call beside constants: forms of inputs that kernels read, and what is computed of inputs
  // once.
  size_t prepared_bytes = 0, computed_bytes = 0;
  std::vector<std::string> computed_once;  // the first such nodes, and those of constants: "cosine (f.py:3)"
  std::vector<std::string> pass_log;  // a line a pass that changed something
  std::vector<std::string>
      fusion_log;            // a line a group: its nodes, its kernel kind, and why it ends where it ends
  ops::FusionReport fusion;  // the same, to be asked
  std::vector<FastMathUse> fast_math;  // one a flag that is set, also where it changed nothing
};

class Program {
 public:
  virtual ~Program() = default;
  // Inputs in the graph's order; sizes of symbols are read off them and checked against the graph's types and
  // facts: Error(Shape/Type) naming the input. Thread-safe.
  virtual std::vector<Tensor> run(std::span<const Tensor> inputs) const = 0;
  virtual const Graph& graph() const = 0;  // as compiled, after passes
  virtual ProgramReport report() const = 0;
  virtual std::string assembly() const = 0;
  // The program as a bare function, where it is one kernel over `n` elements of contiguous inputs and one
  // output, without scratch, that was compiled for a single symbolic size: what eager execution calls without
  // any vector.
  struct Direct {
    static constexpr size_t kMaxInputs = 4;
    rt::KernelFn kernel = nullptr;
    uint32_t order = 0x3210;  // four bits for each of the kernel's inputs: which of the program's it is
    int64_t elements_per_block = 1;
    int64_t parallel_above = 0;  // elements; below it the caller runs the kernel itself
  };
  virtual Direct direct() const { return {}; }
  // Whether the program is over before a second thread could help, with sizes fixed and nothing donated: then
  // `run_small` is the cheapest way to run it. Its caller holds the inputs, and has compared their dtypes and
  // sizes with the graph's.
  virtual bool small() const { return false; }
  virtual std::vector<Tensor> run_small(void* const* inputs) const {
    return (void)inputs, std::vector<Tensor>();
  }
  // Whether a run leaves machine code for functions of the user's, which may do anything to memory of theirs.
  virtual bool calls_back() const { return true; }
  // False where steady inputs have changed so often of late that a program without them would be quicker.
  virtual bool steady() const { return true; }
};

// Passes, kernels, machine code, plan. LLVM's library is opened only if machine code must be made: Error(
// Unsupported) where it is missing then. Null only where `options.at_hand` asks for what is not there.
std::shared_ptr<Program> compile(const Graph& graph, const CompileOptions& options = {});
bool compiler_available();  // whether machine code can be made; opens LLVM's library to see

// Runs one op on concrete tensors, or records it where an operand is symbolic or a capture is active: what
// every public function ends in. `front` promotion and broadcasting have been done (tensor/front.h).
std::vector<Tensor> apply(const ops::Op& op, std::span<const Tensor> operands, Attrs attrs);

}  // namespace ig
