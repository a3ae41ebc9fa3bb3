// What expressions can be: bounds of indices, and of floats. A comparison that they decide is a constant, so
// that clamped indices become plain ones, and a formula has no branch for what its operand never is (the
// logistic function far below zero, behind a maximum with zero).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>

#include "loop/loop.h"

namespace ig::loop {

// Both ends included.
struct IndexRange {
  int64_t low, high;
};

// Of an F32 or F64. Both ends included; it may be NaN besides. An end that is a denormal is moved outward to
// where the normal numbers begin, since they may be flushed to zero.
struct FloatRange {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  bool nan = true;
};

Expr behind_let(Expr e);  // the value, of a let

class Ranges {
 public:
  // The body of a loop whose variable this is runs for no other values.
  void enter(uint32_t variable, Expr begin, Expr end);

  std::optional<IndexRange> of_index(Expr e);  // of an I64; nothing where nothing is known
  FloatRange of_float(Expr e);

  // What the comparison (Eq to Ge) always gives.
  std::optional<bool> decided(Op compare, Expr a, Expr b);

 private:
  std::optional<IndexRange> compute_index(Expr e);
  std::optional<IndexRange> of_lesser_or_greater(Expr e);
  FloatRange compute_float(Expr e);
  FloatRange of_branch(Expr value, Expr condition, bool holds);

  // Loop variables whose bounds are constants, and what was made of them.
  std::unordered_map<uint32_t, IndexRange> variables_;
  std::unordered_map<const ExprNode*, std::optional<IndexRange>> indices_;
  std::unordered_map<const ExprNode*, FloatRange> floats_;
  int depth_ = 0;
};

}  // namespace ig::loop
