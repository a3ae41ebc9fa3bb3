// What is known of whole numbers and truths before the program runs: between which bounds all elements of a
// value lie, and by how much they differ from another value's. An op tells it of its results from what is
// known of its operands (a rule, OpRules::bounds), and of its operands where its result is known to be true
// (OpRules::implies). The pass `prove-bounds` follows these through a graph and its loops.
//
// After P. and R. Cousot, "Abstract interpretation" (POPL 1977): intervals, with a difference to the value
// that a loop carries, from which the number of steps gives a bound.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "ir/graph.h"

namespace ig::ops {

struct Bounds {
  bool known = false;  // of other types, and of uint64, nothing is said
  int64_t low = 0, high = 0;
  // Each element is one of another value's plus least..most, in the type's arithmetic; null: of none.
  Value origin = nullptr;
  int64_t least = 0, most = 0;

  bool exact() const { return known && low == high; }
  bool operator==(const Bounds&) const = default;
};

__extension__ using Wide = __int128;  // holds sums and products of int64

// All that a type holds.
Bounds bounds_of_type(DType dtype);
// low..high, or the whole type where that is beyond it, since the type's arithmetic wraps.
Bounds bounds_within(DType dtype, Wide low, Wide high);
// What holds for the elements of either.
Bounds bounds_of_either(const Bounds& a, const Bounds& b, DType dtype);

struct BoundsContext {
  const Node* node;
  std::span<const Bounds> x;  // of the operands
  uint32_t result = 0;        // which of the results is asked for
  DType dtype() const { return node->result(result)->type().dtype; }
};
using BoundsFn = Bounds (*)(const BoundsContext&);

// All elements of the node's result are true: narrows what is known of its operands.
struct ImpliesContext {
  const Node* node;
  std::span<Bounds> x;
};
using ImpliesFn = void (*)(ImpliesContext&);

}  // namespace ig::ops
