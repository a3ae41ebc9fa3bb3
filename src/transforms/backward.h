// Transposition, in place: of what is linear in some values of a block, the cotangents, from the last node to
// the first, built at the block's end.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "ops/builder.h"
#include "transforms/regions.h"

namespace ig::transforms {

class Backward {
 public:
  // `linear`: the values that the block is linear in. Finds all nodes that depend on them.
  Backward(Graph& graph, std::span<const Value> linear);

  void add(Value value, Value cotangent);  // of a value that depends on the linear ones; others are let go
  void run();
  Value cotangent(Value value) const {  // null: zero
    auto found = cotangents_.find(value);
    return found == cotangents_.end() ? nullptr : found->second;
  }
  void erase_linear_nodes();  // nothing may use them any more

 private:
  void find_linear_results(Node* node);
  void transpose(Node* node);

  Graph& graph_;
  ops::Builder build_;
  Regions regions_;
  std::unordered_set<Value> linear_;
  std::vector<Node*> nodes_;
  std::unordered_map<Value, Value> cotangents_;
};

}  // namespace ig::transforms
