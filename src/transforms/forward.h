// Forward mode, in place: walks the nodes of a graph in order and puts behind each the nodes that compute its
// tangent, as its op's rule says.
#pragma once

#include <unordered_map>

#include "ops/regions.h"
#include "transforms/regions.h"

namespace ig::transforms {

class Forward {
 public:
  // `split`: what is linear in the tangents must come in nodes of its own, to be transposed.
  Forward(Graph& graph, bool split) : graph_(graph), split_(split), regions_(this) {}

  void set_tangent(Value value, Value tangent) { tangents_[value] = tangent; }
  Value tangent(Value value) const {  // null: zero
    auto found = tangents_.find(value);
    return found == tangents_.end() ? nullptr : found->second;
  }
  void walk(Node* first, Node* end);  // a null end: to the block's end
  void walk(Block& block) { walk(block.first(), block.terminator()); }
  // What stands for a value whose node was replaced on the way.
  Value resolve(Value value) const;

  Graph& graph() { return graph_; }

 private:
  void push(Node* node);
  void expand(Node* node);
  void replace(Value value, Value by);

  Graph& graph_;
  bool split_;
  Regions regions_;
  std::unordered_map<Value, Value> tangents_, replaced_;
};

}  // namespace ig::transforms
