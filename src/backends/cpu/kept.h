// What a program makes of its inputs and keeps from call to call: values that are computed once, and arrays
// in the forms that kernels read. Both are made anew where what they were made of is another array.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "backends/cpu/computed_once.h"
#include "backends/cpu/packed.h"

namespace ig::cpu {

// A form of one of the graph's inputs.
struct PreparedInput {
  int input;
  Packing form;
  bool operator==(const PreparedInput&) const = default;
};

struct KeptParts {
  std::vector<ComputedOnce> once;       // inputs of the graph behind those that a caller passes
  std::vector<bool> read;               // which of these kernels read as they are, and not in another form
  std::vector<PreparedInput> prepared;  // behind all inputs
};

// Thread-safe.
class Kept {
 public:
  Kept(size_t arguments, KeptParts parts) : arguments_(arguments), parts_(std::move(parts)) {}
  // Arrays that the program takes behind its arguments.
  size_t size() const { return parts_.read.size() + parts_.prepared.size(); }
  bool empty() const { return size() == 0; }
  // What is kept of these arguments, in order; null for what nobody reads any more.
  void prepare(std::span<const Tensor> arguments, std::span<Storage> out) const;
  // False where arguments have changed so often of late that a program which keeps nothing would be quicker.
  bool steady() const { return unsteady_.load(std::memory_order_relaxed) < kUnsteady; }

 private:
  // Whether anything had to be made anew.
  bool compute(std::span<const Tensor> arguments) const;
  bool make_forms(std::span<const Tensor> arguments) const;

  size_t arguments_;
  KeptParts parts_;
  // Of the last call, guarded by the mutex.
  struct Form {
    Storage source;  // null where that was computed once: the form is made anew with it
    Storage packed;
  };
  mutable std::mutex mutex_;
  // What each of `parts_.once` was computed of, once it was, and all their results.
  mutable std::vector<std::optional<std::vector<Storage>>> sources_;
  mutable std::vector<Storage> computed_;
  mutable std::vector<Form> forms_;
  mutable bool first_ = true;
  // More where something was made anew, less where all was at hand.
  static constexpr int kAnew = 8, kUnsteady = 40, kMostUnsteady = 64;
  mutable std::atomic<int> unsteady_{0};
};

}  // namespace ig::cpu
