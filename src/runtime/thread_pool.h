// The pool of worker threads. A call is cut into chunks that are claimed by an atomic counter, by the caller
// too, who has the first, and the caller waits only for chunks that somebody claimed: a worker that comes
// late costs nothing but its wake-up. Workers spin for 50 µs after their last work, longer while others are
// still at it, and then sleep. One call
// at a time has the workers; a call that finds them taken (by another thread, or by the call it is nested in)
// runs inline on its own thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "runtime/kernel_abi.h"
#include "runtime/profile.h"

namespace ig::rt {

// A borrowed callable `void(int64_t begin, int64_t end)`; it must outlive the call it is passed to.
class RangeBody {
 public:
  template <typename F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, RangeBody>)
  RangeBody(F&& body)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(body)))),
        call_([](void* object, int64_t begin, int64_t end) {
          (*static_cast<std::remove_reference_t<F>*>(object))(begin, end);
        }) {}
  void operator()(int64_t begin, int64_t end) const { call_(object_, begin, end); }

 private:
  void* object_;
  void (*call_)(void*, int64_t, int64_t);
};

// Sets the floating-point control word (round to nearest, exceptions masked, denormals kept, or read and
// written as zeros where they are to be flushed) and restores it: other libraries leave flush-to-zero on.
class FloatControl {
 public:
  explicit FloatControl(bool flush = false);
  ~FloatControl();
  FloatControl(const FloatControl&) = delete;
  FloatControl& operator=(const FloatControl&) = delete;

 private:
  uint32_t saved_;
  bool changed_;
};

// The same, also of all that the pool does meanwhile for this thread.
class FloatScope {
 public:
  explicit FloatScope(bool flush);
  ~FloatScope();
  FloatScope(const FloatScope&) = delete;
  FloatScope& operator=(const FloatScope&) = delete;

 private:
  FloatControl control_;
  bool outer_;
};

class ThreadPool {
 public:
  // The process's pool, never destroyed. After a fork the child has no workers and starts its own when it
  // needs them.
  static ThreadPool& instance();

  // Counting the calling thread. At first: INTAGLIO_NUM_THREADS where it is set (Error(Value) unless it is a
  // whole number from 1 to 1024), else the processors that affinity and the cgroup's quota leave us.
  int num_threads();
  void set_num_threads(int64_t count);  // Error(Value) outside 1 … 1024; waits for a call in progress

  // Runs blocks [0, blocks) of a kernel. `grain` is the least number of blocks worth handing to a thread,
  // about 3 µs of work. Each thread gets its own copy of `proto` with its index, its own scratch of the
  // stated size (kept from call to call, contents undefined) and its own error word. Every block is run even
  // where one fails; the result is then the code of the failed range that comes first, and its two words are
  // copied to `proto.error`. So neither results nor errors depend on the number of threads. Each thread
  // begins with a part of its own, the same in all runs, and goes through it from the first block to the
  // last; in every other long run from the last to the first, where runs alternate. `buffers`: how many
  // pointers `proto.buffers` has, where that is known; small jobs start sooner by it. `block_grains`: how
  // many times over a block is worth a thread, where it is by itself; then sleeping workers are woken before
  // the caller has spent the time of a block alone. `shares`, one for each thread where given: what each of
  // them did is added to it.
  int32_t run(KernelFn kernel, const KernelArgs& proto, int64_t blocks, int64_t grain, size_t scratch_bytes,
              size_t buffers = 0, int64_t block_grains = 1, std::span<profile::Share> shares = {});

  // Whether long runs go forwards and backwards by turns; gives back whether they did. At first as it pays on
  // this processor.
  bool set_alternating(bool alternate);

  // Whether blocks of a kernel are work for more than one thread; else who calls it himself saves asking.
  static bool is_shared(int64_t blocks, int64_t grain) { return blocks / 2 >= grain; }

  // The scratch that run() gives to a kernel on the calling thread, for who calls a kernel himself.
  static void* scratch_here(size_t bytes);

  // Calls the body on disjoint ranges that cover [0, n). All ranges are run; the exception of the first range
  // that threw is then thrown here. `index_grains`: as `block_grains` above.
  void parallel_for(int64_t n, int64_t grain, RangeBody body, int64_t index_grains = 1);

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

 private:
  struct Impl;
  ThreadPool();
  std::unique_ptr<Impl> impl_;
};

// The processors this process may use: affinity and cgroup quota, at least 1.
int available_processors();
// Bytes of the second cache, which a processor has for itself, and of the largest one, alone or shared; 0
// where the system does not tell.
size_t second_level_cache();
size_t last_level_cache();

}  // namespace ig::rt
