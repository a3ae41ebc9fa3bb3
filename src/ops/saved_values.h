// Which values of an early part of a computation are kept for a late part, and which the late part computes
// again: a minimum cut. Every value that is kept costs its bytes, every node that is computed again what its
// work is worth in bytes, and the cut is the cheapest choice that gives the late part all that it reads
// (Jain et al., Checkmate, 2020, have the problem; the cut is that of AOTAutograd's partitioner). Nodes are
// told apart by their traits and by how they are lowered, never by name.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ops/builder.h"

namespace ig::ops {

// What a size counts as where only its magnitude matters: each symbol stands for a number in its range, 64
// where that is in it.
int64_t usual_size(const Dim& dim, const DimScope& scope);
// The bytes of a value of this type, by usual sizes.
double bytes_of(const Type& type, const DimScope& scope);

// What it costs to compute a node again.
struct Work {
  bool fusible = true;  // element-wise, a view, a short fold: it disappears in the kernel that reads it
  double cost = 0;      // fusible: in bytes that could as well be moved; else multiplications and additions
};
Work work_of(const Node* node, const DimScope& scope);

// The array itself, but not before the gate is computed: what is made of it is made late, and is no part of
// an earlier kernel.
Value behind(Builder& build, Value x, Value gate);

struct SavedQuestion {
  std::vector<Value> needed;                // what the late part reads
  std::function<bool(const Node*)> early;   // whether the node is part of what may be computed again
  std::function<bool(Value)> there_anyway;  // kept at no cost: arguments, results
  std::function<bool(Value)> saveable;      // empty: all
  // What one operation of a node that is not fusible is worth in bytes. Infinity: no such node is computed
  // again.
  double rate = std::numeric_limits<double>::infinity();
  std::unordered_set<const Node*> once;  // never computed again
};

struct SavedAnswer {
  std::vector<Value> saved;               // what costs bytes, in the order of the question's graph
  std::unordered_set<const Node*> again;  // what the late part computes again
  double bytes = 0;                       // of `saved`
  double work = 0;                        // operations of the nodes in `again` that are not fusible
};

SavedAnswer choose_saved(const DimScope& scope, const SavedQuestion& question);

// With little work, and values that take no more than `budget` bytes: the rate falls until they fit; then
// what is most work is kept after all where there is room, up to 32 tries.
SavedAnswer choose_saved_within(const DimScope& scope, SavedQuestion question, double budget);

}  // namespace ig::ops
