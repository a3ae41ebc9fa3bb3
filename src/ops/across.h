// Operands that lie across a kernel's walk: their elements are side by side in memory along another axis than
// the one that its vectors go along, so that each touches a cache line of its own. A kernel may turn such an
// operand over by tiles, or walk another way; where it can do neither, the operand is written out first
// (passes/write_turned.cpp). What a kernel can do is said here, for that pass and for the lowering alike.
#pragma once

#include <optional>
#include <vector>

#include "ops/strided_view.h"

namespace ig::ops {

// What lies across a walk along an axis, and along which other one: the same for all.
struct Across {
  size_t axis = 0;
  struct Operand {
    Value value;
    StridedView view;
  };
  std::vector<Operand> operands;
};

// Values of this shape that are operands seen through views, where vectors go along the axis `along`. (Others
// that lie along a second axis are left out, and those that a view reads elsewhere than at its own element.)
Across find_across(const Block& region, const Dims& dims, size_t along);

// The same for one value: the axis along which it lies, be it from end to start.
std::optional<size_t> lies_across(const StridedView& view, const Dims& dims, size_t along);

// A walk with vectors along an axis that a kernel of folds keeps: each element of a vector belongs to an
// output of its own, and what lies across is turned over on the way. Nullopt where the kernel reads nothing
// that lies across its last axis, or holds more than one stage of simple folds.
struct FoldWalk {
  size_t along = 0;
  std::vector<Across::Operand> beside;  // side by side along the walk, each row of it somewhere else
  Across turned;
};
std::optional<FoldWalk> fold_walk(const Block& region);

// Whether a kernel of such folds has short rows that lie side by side: what is folded was turned over, and
// behind one row's element in memory is the next row's. Then a vector holds the same column of as many rows.
// Said by the view that turns the rows; which walk is taken does not show in the bits.
bool short_rows_lie_across(const Block& region);

bool is_fold(const Node* node);
const Node* first_fold(const Block& region);  // null where it has none

// Lanes of a fold along rows, the same on every target, since they are part of the order of summation.
int fold_lanes(DType accumulator);
// The same where the order shows in the bits (a sum of floats), else 0 (a largest element, a sum of
// integers). A kernel walks a row with the lanes of all of its folds, so it holds none whose orders differ.
int ordered_lanes(const Node* fold);
inline bool order_shows(const Node* fold) { return ordered_lanes(fold) > 0; }

}  // namespace ig::ops
