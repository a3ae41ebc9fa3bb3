// The order of a row's elements as loop code: the positions of the elements, from the first in order to the
// last. What `sort` and `top_k` run on each row.
#pragma once

#include <functional>

#include "ops/families/array_tools.h"

namespace ig::ops {

class RowOrder {
 public:
  // Rows of n keys of this type; -0 and +0 are equal, NaN comes last, or first.
  RowOrder(NestContext& c, DType key_type, const Dim& n, bool descending, bool nan_first);

  // Puts the positions of one row in order; equal keys keep theirs. `key(i)` loads element i.
  void run(const std::function<loop::Expr(loop::Expr)>& key);
  // After it: where the i-th in order stands in the row.
  loop::Expr position(loop::Expr i);

 private:
  loop::Expr index(int64_t value) { return build_.index(value); }
  loop::Expr comparable(loop::Expr key);
  void by_rank();
  void by_digits();
  void by_digit(loop::Expr low);

  loop::Builder& build_;
  loop::Expr n_;
  DType key_type_, whole_;  // of the row, and of the integers that are compared in its place
  int lanes_;
  bool descending_, nan_first_;
  uint32_t keys_, positions_, counts_;  // keys and positions: two halves, each of a row
  uint32_t half_, before_, found_;
};

}  // namespace ig::ops
