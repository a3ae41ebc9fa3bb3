// What takes time, while somebody wants to know: steps of programs, ops that run by themselves and phases of
// compiling report here, and a Profile (tensor/profile.h) makes tables and pictures of it. Off, as nearly
// always, it costs one load where a program or an op begins.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace ig::rt::profile {

using Clock = std::chrono::steady_clock;

// What a step of a program is, an op or a phase; asked for when somebody reads the recording.
struct Facts {
  std::string name;                // of the kernel's kind, the op or the phase
  std::string ops;                 // what a kernel computes: "dot_general add maximum"
  std::string program;             // the graph's name
  std::string where;               // "model.py:12 in forward:  z = x + y"
  std::vector<std::string> lines;  // of all nodes of a kernel
  std::string scope;               // the module's path
  std::string result;              // "f32[8, 128]"
  double flops = 0;                // of products and convolutions; 0: has none, or it is not known
};
using Describe = std::function<Facts()>;

enum class Kind : uint8_t {
  Kernel,   // a kernel of a program
  Copy,     // bytes moved between a program's arrays
  Host,     // a function of the process: effects, callbacks, ops without a kernel
  Op,       // an op that ran by itself, with all that its call took
  Control,  // branches and loops of several kernels, whose steps are told too
  Call,     // a program, from its first step to its last
  Compile,  // a phase of capturing or compiling
};

// By what a thing is known: the address of what it belongs to, which its Describe must keep alive, and its
// part.
struct Key {
  const void* owner;
  int64_t part;
  bool operator==(const Key&) const = default;
};

// What one thread of the pool did of a kernel.
struct Share {
  Clock::time_point begin{}, end{};  // of its first chunk and its last
  Clock::duration busy{};            // in chunks
  void add(Clock::time_point from, Clock::time_point to) {
    if (busy == Clock::duration{}) begin = from;
    end = to;
    busy += to - from;
  }
};

struct Sample {
  Clock::time_point begin, end;
  int64_t bytes = 0;                // that it read and wrote
  std::span<const Share> shares{};  // of the threads, the caller first; empty: the caller did all
};

// A thing of a recording, summed over its samples.
struct Thing {
  Kind kind = Kind::Kernel;
  Describe describe;
  int64_t calls = 0, total = 0, least = 0, bytes = 0;  // nanoseconds
  int64_t busy = 0;                                    // of all threads; of ops it is not known
};

// A part of the picture. Lanes from 0 on are threads that call, those below are workers of the pool.
struct Span {
  uint32_t thing;
  int32_t lane;
  int64_t begin, end;  // nanoseconds since the recording began
};

struct Recording {
  std::vector<Thing> things;
  std::vector<Span> spans;  // as many as were asked for at most; things count all samples
  int64_t spans_left_out = 0;
  int64_t nanoseconds = 0;  // from the beginning to the end
};

namespace detail {
extern std::atomic<bool> is_on;
}
inline bool is_on() { return detail::is_on.load(std::memory_order_relaxed); }

// One recording at a time, of all threads of the process: false where there is one.
bool start(size_t most_spans);
Recording stop();

// Thread-safe. `describe` is called where the thing is new, under a lock: it gives the Describe to keep.
void add(Kind kind, Key key, const std::function<Describe()>& describe, const Sample& sample);

// While it lives, what this thread runs is part of an op that reports by itself.
class Inside {
 public:
  Inside();
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};
bool is_inside();

}  // namespace ig::rt::profile
