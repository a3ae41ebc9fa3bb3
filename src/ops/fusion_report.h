// What the compiler decided about kernels: which nodes became one, which did not and why, and the costs that
// were compared. The passes fill it in where they decide; whoever holds a compiled graph can ask it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace ig::ops {

// A node as it was when the decision was made: it may be gone by now.
struct FusionNode {
  OpId op;
  std::string name;  // of its first result, where it has one
  Location where;
  Scope scope;

  static FusionNode of(const Node* node);
  std::string str() const;  // "add %s"
  // Whether the query is its op, its result's name, its module, or a part of its line ("model.py:12", "x +
  // y").
  bool is_meant_by(std::string_view query) const;
};

// What kernels cost, as an estimate for one thread of a machine with registers of 256 bits.
struct FusionCost {
  double bytes = 0;       // read and written
  double operations = 0;  // of single elements; those that are computed again count again
  double nanoseconds = 0;

  FusionCost& operator+=(const FusionCost& other) {
    bytes += other.bytes;
    operations += other.operations;
    nanoseconds += other.nanoseconds;
    return *this;
  }
};

struct FusedKernel {
  std::string kind;
  std::vector<FusionNode> nodes;
  FusionCost together, apart;  // as the one kernel; were each node a kernel of its own

  std::string str() const;
};

struct FusionRefusal {
  FusionNode node, kernel_of;  // what does not join; the node that the other kernel is known by
  std::string kind;            // of that kernel
  std::string reason;
  bool by_cost = false;  // the costs below decided; else one kernel could not hold both
  FusionCost together, apart;

  std::string headline() const;  // "exponential does not join the loop kernel of multiply: …"
  std::string str() const;
};

// Kernels that run one after the other for a few examples of a batch, before the next ones come.
struct DepthFirst {
  std::vector<FusionNode> kernels;  // the node that each of them is known by
  std::vector<FusionNode> nodes;    // all that they hold
  Dim examples = int64_t{0};
  int64_t at_a_time = 0;
  double bytes = 0;  // from the last cache, that it spares

  std::string headline() const;  // "3 kernels run for 2 of 8 examples at a time: …"
  std::string str() const;
};

struct FusionReport {
  std::vector<FusedKernel> kernels;
  std::vector<FusionRefusal> refusals;
  std::vector<DepthFirst> chains;

  void add(const FusionReport& other);
  std::string str() const;
  // Of every node that is meant: its kernel, what it was joined with and why not with others.
  // Error(Value) where none is.
  std::string why(std::string_view query) const;
};

}  // namespace ig::ops
