// Fused groups to loops: a `fusion` node becomes one loop function, with all that its caller must know.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/jit.h"
#include "ir/graph.h"
#include "loop/loop.h"
#include "runtime/kernel_abi.h"

namespace ig::codegen {

// What fast_math allows in a kernel, and the nodes that made use of it, each once.
struct Relaxed {
  FastMath allowed{};
  std::vector<const Node*> contracted{}, finite{};
  void add(const Relaxed& other) {
    contracted.insert(contracted.end(), other.contracted.begin(), other.contracted.end());
    finite.insert(finite.end(), other.finite.begin(), other.finite.end());
  }
};

struct Kernel {
  std::unique_ptr<loop::Function> function;
  std::string kind;          // "loop", "row", …
  Dim blocks = 1;            // independent blocks of work, over the graph's symbols
  int64_t grain = 1;         // blocks worth handing to a thread
  int64_t block_grains = 1;  // where a block is worth it by itself: how many times over
  // Where sizes say it that nobody knows yet, in place of both: how often all blocks together are worth it.
  std::optional<Dim> grains{};
  rt::KernelSteps steps = rt::KernelSteps::None;
  // Buffers stand in this order: the node's operands, then its results. (result, operand) pairs that may
  // share memory:
  std::vector<std::pair<int, int>> in_place;
  // Of these, the pairs whose result holds the operand's elements when the kernel begins: it writes but some.
  std::vector<std::pair<int, int>> updates;
  // The checks that the kernel makes: it fails with the number of one, and the value that this one tells.
  std::vector<const Node*> checks;
  // Operands that the kernel wants in another layout where they are constant: `pack` writes it, once, when
  // the program is made; or in every call, into a temporary, where that costs little and so saves memory.
  struct Packing {
    int operand;
    Dim elements;                          // of the packed form
    std::unique_ptr<loop::Function> pack;  // buffers: the operand, the packed form
    Dim blocks = 1;
    // What the function's own sizes are here, so that operands of many shapes share one function.
    Dims sizes;
    bool every_call = false;
  };
  std::vector<Packing> packings;
  // A kernel that runs before this one, over the same buffers, with blocks of its own: what it leaves for
  // this one lies in temporaries (types and elements), which stand behind the results.
  std::unique_ptr<Kernel> first;
  std::vector<std::pair<DType, Dim>> temporaries;
  // Where sizes say it that nobody knows yet: it runs, and what it wants packed is packed, if this is not 0.
  // For all other sizes there is another one, over the same operands and results.
  std::optional<Dim> when{};
  std::unique_ptr<Kernel> other;
  Relaxed relaxed;
};

// How many multiplications with additions, in sums of products, are worth handing to a thread: about 3 µs of
// them, by the width of the target's vectors. And what that says of a kernel whose blocks are so much work.
int64_t work_of_grain(const Target& target, int element_bytes);
void set_grain(Kernel& kernel, const Target& target, DType type, int64_t work);

// How far from the processor a kernel's arrays lie, and who works on them.
struct Traffic {
  // streamed[i] (where the list is not empty): result i is not read again before it has left the caches, and
  // begins at a multiple of 64 bytes, so it may be written past them.
  std::vector<bool> streamed{};
  bool far = false;           // most of what the kernel touches comes from the last cache or from memory
  bool may_go_twice = false;  // there may be a second kernel (Kernel::first, Kernel::other)
  bool beyond = false;        // what the kernel touches fits in no cache
  int threads = 1;            // that share its blocks
};

// `constant_operands[i]` says that operand i is known at compile time, so that packing it once pays. `exact`:
// nothing that only keeps a stated bound of what the ops' definitions give (docs/numerics.md); `fast_math`:
// what may go beyond that.
Kernel lower(const Node* fusion, const std::vector<bool>& constant_operands, const Target& target,
             const Traffic& traffic = {}, bool exact = false, const FastMath& fast_math = {});

}  // namespace ig::codegen
