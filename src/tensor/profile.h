// Where the time goes: a Profile records what runs while it lives, in all threads of the process, and tells
// it by kernel, with the user's lines, as a table and as a timeline that trace viewers open.
//
//   ig::Profile profile;
//   step(x);
//   profile.stop();
//   std::puts(profile.str().c_str());
//   std::ofstream("step.json") << profile.chrome_trace();
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op.h"
#include "runtime/profile.h"
#include "tensor/tensor.h"

namespace ig {

class Profile {
 public:
  using Kind = rt::profile::Kind;
  using Facts = rt::profile::Facts;
  static std::string_view kind_name(Kind kind);  // "kernel"
  static bool is_work(Kind kind);  // kernels, copies, host functions and ops: no part of another

  // What took time, summed over its calls.
  struct Row {
    Kind kind;
    Facts facts;
    int64_t calls, total_ns, least_ns;
    int64_t busy_ns;  // of all threads; 0 of ops
    int64_t bytes;    // read and written, by all calls
  };

  static constexpr size_t kMostSpans = 200'000;

  // Begins to record. `most_spans`: how much of the timeline is kept; tables count everything.
  // Error(Value) where another profile is recording.
  explicit Profile(size_t most_spans = kMostSpans);
  ~Profile() {
    if (recording_) rt::profile::stop();  // nobody will read it, and a process may be ending
  }
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  void stop();  // ends the recording; once is enough
  bool recording() const { return recording_; }

  // Of a stopped profile; while it records there are none.
  const std::vector<Row>& rows() const { return rows_; }  // the longest first
  double milliseconds() const;                            // from the beginning to the end
  // What kernels and ops took, summed by what they have in common, the longest first. A kernel of several
  // lines counts for that of its result.
  enum class By : uint8_t { Line, Module, Op, Program };
  struct Sum {
    std::string of;  // "" where that is not known
    int64_t calls, total_ns;
  };
  std::vector<Sum> by(By what) const;
  // A line a kernel, op or phase; at most so many of each.
  std::string str(size_t most = 30) const;
  // The timeline in the Trace Event Format, as JSON, for Perfetto and chrome://tracing.
  std::string chrome_trace() const;

 private:
  bool recording_ = true;
  rt::profile::Recording data_;
  std::vector<Row> rows_;
  std::vector<size_t> row_of_;  // each of the recording's things
};

namespace profile {

// Where in the program ops are called that run by themselves; a front end says so. Null: nobody knows.
using Locate = Location (*)();
void set_locate(Locate locate);

// While it lives, ops of this thread come from there.
class At {
 public:
  At(Location where, Scope scope);
  ~At();
  At(const At&) = delete;
  At& operator=(const At&) = delete;

 private:
  const At* before_;
  Location where_;
  Scope scope_;
  friend class OpSpan;
};

// Records an op that runs by itself, from here until `done` says what it gave; without that, nothing.
class OpSpan {
 public:
  OpSpan(const ops::Op& op, std::span<const Tensor> operands) {
    if (!rt::profile::is_on()) return;
    for (const Tensor& operand : operands) bytes_ += static_cast<int64_t>(operand.bytes());
    begin(op);
  }
  OpSpan(const ops::Op& op, std::array<const Tensor*, 2> operands) {  // null: it has one
    if (!rt::profile::is_on()) return;
    for (const Tensor* operand : operands) bytes_ += operand ? static_cast<int64_t>(operand->bytes()) : 0;
    begin(op);
  }
  OpSpan(const OpSpan&) = delete;
  OpSpan& operator=(const OpSpan&) = delete;
  void done(std::span<const Tensor> results) {
    if (op_) finish(results);
  }

 private:
  void begin(const ops::Op& op);
  void finish(std::span<const Tensor> results);

  const ops::Op* op_ = nullptr;  // of a span that is recorded
  std::optional<rt::profile::Inside> inside_;
  rt::profile::Clock::time_point begin_{};
  int64_t bytes_ = 0;
};

// Tells a phase of capturing or compiling the program of this name, that began then and ends now.
void phase(const char* name, const std::string& program, rt::profile::Clock::time_point begin);

}  // namespace profile

}  // namespace ig
