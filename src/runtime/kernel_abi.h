// The one calling convention of machine code: `int32_t kernel(const KernelArgs*, int64_t begin, int64_t
// end)`. A kernel is pure code without globals, and calls nothing but what stands in its arguments. Its work
// is `blocks` independent blocks, and a call does those in [begin, end), so the caller decides on threads and
// no result depends on how the range was cut. It returns 0, or a positive code after writing (node, value)
// into the call's error word.
#pragma once

#include <cstdint>

namespace ig::rt {

inline constexpr uint32_t kKernelAbiVersion = 3;

// Bytes behind each scratch buffer of a kernel, which it may write as they are: a store of some lanes of a
// vector is then one of all of them. The next buffer begins at a multiple of 64 behind them.
inline constexpr int64_t kScratchSpare = 128;

// Turns a matrix over: the element in row r and column c, from[r * from_step + c], becomes
// to[c * to_step + r].
using TurnOver = void (*)(void* to, const void* from, int64_t to_step, int64_t from_step, int64_t rows,
                          int64_t columns);
extern const TurnOver kTurnOver[5];  // for elements of 1, 2, … 16 bytes (runtime/turn_over.h)

struct KernelArgs {
  uint32_t version = kKernelAbiVersion;
  uint32_t thread = 0;             // index of the calling worker, below the pool's size
  void* const* buffers = nullptr;  // inputs, then outputs, each row-major and contiguous
  const int64_t* dims = nullptr;   // values of the kernel's size parameters, in the order it declares them
  void* scratch = nullptr;   // the kernel's stated bytes for each thread, 64-byte aligned; this thread's own
  int64_t* error = nullptr;  // two words: the node that failed and the offending value
  const TurnOver* turn_over = kTurnOver;  // all that a kernel may call
};

// Kernels whose blocks are the steps of a loop. They run in order, on one thread, in as many calls as the
// caller likes; what they carry lies in their results. A kernel that runs Until its condition fails says so
// as a failed check would, by this node in the error word.
enum class KernelSteps : uint8_t { None, Counted, Until };
inline constexpr uint32_t kLoopDone = UINT32_MAX;

using KernelFn = int32_t (*)(const KernelArgs*, int64_t begin, int64_t end);

}  // namespace ig::rt
