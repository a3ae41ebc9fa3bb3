// The one way to copy a node.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace ig {

// A copy of the node in `block` (in front of `before`; null: at its end) that reads these operands. Types and
// names of results, attributes, place in the user's program and regions are the node's.
Node* copy_node(const Node* node, Block& block, std::vector<Value> operands, Node* before = nullptr);

}  // namespace ig
