// A function captured as a tree of traces. Each trace is a straight-line graph with the conditions under
// which it says what the function does: types and sizes of the arguments, comparisons of sizes, values that
// the program coerced, and what the front end adds (what was read from outside). A call runs a trace whose
// conditions hold, and records another where there is none. A trace may be run to see whether its coerced
// values come out the same, and its results be dropped; where it has effects, or values came out differently
// of late, a program of those values alone is run first.
//
// Sizes and numbers are fixed by the first trace; one that takes a second value is symbolic from then on. The
// sizes 0 and 1 stay fixed. Axes that had equal sizes in every call so far share one symbol.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "frontends/record/jit_capture.h"
#include "support/inline_vector.h"
#include "tensor/lazy_program.h"

namespace ig::record {

// One leaf of a call's arguments. A number is a Python int or float: no array, and yet no constant.
struct Leaf {
  enum class Kind : uint8_t { Array, Integer, Float };
  Kind kind = Kind::Array;
  const Tensor* array = nullptr;
  int64_t bits = 0;          // of a number: the integer, or the float's bits
  bool donated = false;      // programs are compiled to take its memory
  Tensor* donate = nullptr;  // the handle to empty, where this call gives the array away
  // `array`, where its memory is somebody else's, who may write it once the call is over: what outlives the
  // call has a copy.
  Tensor* borrowed = nullptr;
};

// What a front end keeps with a trace (the structure of the results, guards on what was read from outside).
struct Kept {
  virtual ~Kept() = default;
};

struct JitTrace {
  // What the arguments must be.
  struct Pattern {
    Leaf::Kind kind = Leaf::Kind::Array;
    DType dtype = DType::F32;
    std::vector<int64_t> sizes;  // a size, or -1 - k for symbol k
    bool fixed = true;           // of a number
    int64_t bits = 0;
  };
  int id = 0;
  std::vector<Pattern> leaves;
  std::vector<std::string> symbols;
  std::vector<SizeGuard> size_guards;
  std::vector<Outcome> outcomes;
  std::vector<size_t> inputs;  // the leaf of each input of the graph; the lifted arrays follow
  std::vector<Capture::Lifted> lifted;
  size_t results = 0;  // outputs of the graph before those of `outcomes`
  std::shared_ptr<Graph> graph;
  std::unique_ptr<const LazyProgram> program;  // null where the graph has neither outputs nor effects
  // Whether calls on arrays that require grad go on the tape: as the mode says, never, or always.
  enum class Tape : uint8_t { Usual, Off, On };
  Tape tape = Tape::Usual;
  std::set<int> steady;  // inputs that the program may read in a form of its own
  mutable std::once_flag unsettling;
  mutable std::shared_ptr<Program> unsteady;  // what runs once those turn out to change; made at need
  bool effects = false;  // it prints or checks, so it must not be run where it is not right
  mutable std::once_flag asking;
  mutable std::shared_ptr<Program> questions;  // gives `outcomes` alone, without effects; made at need
  std::shared_ptr<Kept> kept;
  std::string reason;               // why it was recorded
  std::vector<Reason> specialised;  // why sizes and numbers that vary were fixed in it
  double trace_ms = 0;
  mutable std::atomic<uint64_t> calls{0};
  mutable std::atomic<float> ns_per_element{0};  // of the last run that was timed

  bool matches(std::span<const Leaf> call) const;
  std::string mismatch(std::span<const Leaf> call,
                       std::span<const std::string> names) const;  // "" where it matches
  std::string signature(std::span<const std::string> names) const;
};

// What the tree asks of the language that the function is written in.
class JitFront {
 public:
  virtual ~JitFront() = default;
  struct Recorded {
    std::vector<Tensor> outputs;
    std::shared_ptr<Kept> kept;
    // Of the lifted arrays: whether most calls are likely to find the same one. Empty: none is.
    std::vector<bool> steady;
    using Tape = JitTrace::Tape;
    Tape tape = Tape::Usual;
  };
  // Runs the function on stand-ins; `capture` is current. One stand-in a leaf: null where the leaf is a fixed
  // number.
  virtual Recorded record(JitCapture& capture, std::span<const Tensor> stand_ins) = 0;
  virtual void prepare(JitCapture& capture) { (void)capture; }
  // Whether what the trace read from outside still is what it was; else why not, in `why` where it is not
  // null.
  virtual bool holds(const JitTrace& trace, std::string* why) {
    (void)trace, (void)why;
    return true;
  }
  // The present arrays of what the trace lifted.
  virtual void outside(const JitTrace& trace, std::span<Tensor> lifted) { (void)trace, (void)lifted; }
  // Does work that needs nothing of the language: compiling, long runs, waiting.
  virtual void aside(const std::function<void()>& work) { work(); }
  virtual Location here() { return {}; }
  // Whether what `record` threw ends the call at once (an interrupt), so that no other attempt is made.
  virtual bool interrupted() { return false; }
};

struct JitOptions {
  std::string name = "function";
  std::vector<std::string> leaf_names;
  int max_outcomes = 8;  // at one place of the program
  int max_traces = 64;
  std::function<void(const std::string&)> log;  // a line a recording
  CompileOptions compile;
  FirstCalls first = OpByOp::usual();
};

class JitTree {
 public:
  explicit JitTree(JitOptions options) : options_(std::move(options)) {}

  struct Result {
    std::shared_ptr<const JitTrace> trace;  // null: the tree gave up, and the function is to be run op by op
    std::vector<Tensor> outputs;
  };
  Result call(std::span<const Leaf> leaves, JitFront& front) { return find(leaves, front, true); }
  // The trace that this call would run, recorded where there is none. Of the function no more is run than
  // what the trace depends on, and no effect.
  std::shared_ptr<const JitTrace> trace(std::span<const Leaf> leaves, JitFront& front) {
    return find(leaves, front, false).trace;
  }

  struct GivenUp {
    std::string why, where;
  };
  std::shared_ptr<const GivenUp> given_up() const;  // null where it goes on
  using Traces = std::vector<std::shared_ptr<const JitTrace>>;
  std::shared_ptr<const Traces> traces() const;
  const JitOptions& options() const { return options_; }
  uint64_t hits() const { return hits_; }
  void clear(JitFront& front);

 private:
  // Arguments of one kind, dtype and rank each: which sizes and numbers were seen to vary.
  struct Family {
    std::vector<int64_t> first;  // sizes of all axes, and bits of numbers, in order
    std::vector<bool> varies;
    std::vector<int> group;  // axes that were equal in every call
  };
  struct Attempt;

  Result find(std::span<const Leaf> leaves, JitFront& front, bool runs);
  Family& observe(std::span<const Leaf> leaves);
  std::shared_ptr<JitTrace> record(std::span<const Leaf> leaves, JitFront& front, std::string reason);
  std::shared_ptr<JitTrace> record_once(std::span<const Leaf> leaves, JitFront& front, Attempt& attempt);
  void compile_trace(JitTrace& trace, std::span<const Leaf> leaves, JitFront& front);
  std::shared_ptr<const JitTrace> recent() const;  // null where there is none, or it gave up
  // The arrays that a trace's program takes; the call holds them while it runs.
  struct Inputs : InlineVector<Tensor, 8> {
    Inputs(const JitTrace& trace, std::span<const Leaf> leaves, JitFront& front);
  };
  CompileOptions options_for(const JitTrace& trace, std::span<const Leaf> leaves) const;
  const Program& program(const JitTrace& trace, std::span<const Leaf> leaves, JitFront& front) const;
  std::vector<Tensor> run(const JitTrace& trace, std::span<const Leaf> leaves, JitFront& front) const;
  // The shortest way, of small traces that `leaves` match. False where an argument asks for more than to be
  // read: it is on a tape, or given away.
  bool run_small(const JitTrace& trace, std::span<const Leaf> leaves, std::vector<Tensor>& out) const;
  // What the trace's coerced values are for these arguments.
  std::vector<Tensor> ask(const JitTrace& trace, std::span<const Leaf> leaves, JitFront& front) const;
  void give_up(std::string why, std::string where);

  JitOptions options_;
  mutable std::mutex mutex_;  // of the members below; never held while foreign code runs
  std::shared_ptr<const Traces> traces_ = std::make_shared<Traces>();
  std::shared_ptr<const GivenUp> given_up_;
  std::atomic<size_t> recent_{0};
  std::atomic<uint64_t> hits_{0};
  std::atomic<int> surprises_{0};   // more where the first trace that was tried was wrong, less where right
  std::recursive_mutex recording_;  // one recording at a time; others wait, then look again
  std::map<std::string, Family> families_;
  std::map<std::string, int> forks_;  // by line: recordings made because a value came out differently
};

}  // namespace ig::record
