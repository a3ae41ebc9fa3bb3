// Edits that the transforms share.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace ig::transforms {

// A graph of its own that holds a copy of the block.
std::unique_ptr<Graph> graph_of(const Block& block);
// A copy of the node in `block` (in front of `before`, null: of the block's end), its operands looked up in
// `map`, which learns its results.
Node* copy_node(const Node* node, Block& block, std::unordered_map<Value, Value>& map,
                Node* before = nullptr);
// Erases what nothing uses, but effects.
void sweep(Block& block);

}  // namespace ig::transforms
