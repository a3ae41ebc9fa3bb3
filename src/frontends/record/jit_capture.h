// The capture of `ig.jit`: every question that the program asks of a traced value or size is answered for the
// arguments at hand, and the answer becomes a condition of the trace. Answers about values come from running
// the nodes recorded so far, op by op and once each; answers about sizes from the sizes of the arguments.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tensor/capture.h"

namespace ig::record {

// A comparison of sizes that the trace decided.
struct SizeGuard {
  std::string relation;  // "==" or "<="
  Dim a, b;
  bool expected = true;
  Location where;
  std::string str() const;
};

// A value that was coerced: the graph gives it as an extra result, which must come out the same.
struct Outcome {
  enum class Kind : uint8_t { Truth, Integer, Float, Array };
  Kind kind = Kind::Truth;
  Value value = nullptr;  // while the trace is recorded
  int64_t integer = 0;    // Truth, Integer
  double real = 0;        // Float
  Tensor array;           // Array
  Location where;
  bool matches(const Tensor& now) const;
  std::string str() const;
};

// Why a trace is recorded as it is, and by which line: that is looked up when somebody asks, since it may
// read the user's files.
struct Reason {
  std::string text;
  Location where = {};
  std::string str() const;
};

// What a fresh attempt must do otherwise: a trace whose answers make sizes equal, or a number fixed, is
// recorded again with that known from the start, so that its graph says it plainly.
struct Restart {
  enum class Kind : uint8_t { None, Unify, FixSize, FixNumber };
  Kind kind = Kind::None;
  std::string a, b;  // symbols
  Value number = nullptr;
  Reason why;
};

class JitCapture : public Capture {
 public:
  JitCapture(std::string name, SymbolValues sizes);

  // An argument's stand-in, with the array at hand.
  Tensor add_argument(Type type, std::string name, Tensor now, bool number);

  bool to_bool(const Tensor& tensor) override;
  int64_t to_int(const Tensor& tensor) override;
  double to_float(const Tensor& tensor) override;
  Tensor to_concrete(const Tensor& tensor, std::string_view why) override;
  int64_t to_size(const Dim& dim, std::string_view wanted) override;
  Tensor asked(const Tensor& tensor) override;

  const Restart& restart() const { return restart_; }
  const std::vector<SizeGuard>& size_guards() const { return size_guards_; }
  const std::vector<Outcome>& outcomes() const { return outcomes_; }

 private:
  bool settle(std::string_view relation, const Dim& a, const Dim& b);
  [[noreturn]] void again(Restart restart);
  Location here() const { return locate ? locate() : Location(); }
  const Outcome* known(Value value, Outcome::Kind kind) const;
  const Tensor& now(Value value);
  void run_node(Node* node);
  Tensor run_slice(Value value);
  Attrs with_sizes(const Attrs& attrs) const;

  SymbolValues sizes_;
  Restart restart_;
  std::vector<SizeGuard> size_guards_;
  std::vector<Outcome> outcomes_;
  std::vector<Value> numbers_;
  std::unordered_map<Value, Tensor> now_;
};

}  // namespace ig::record
