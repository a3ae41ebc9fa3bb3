// Program kernels: `fusion` nodes of kind "program", which hold whole kernels, or a loop of them, and become
// one function (codegen/lower_program.cpp). The passes join-loops and join-kernels choose what goes in.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/memory.h"

namespace ig::passes {

bool is_kernel(const Node* node);
std::string_view kind_of_kernel(const Node* kernel);
// A kernel that computes its values element by element, and not by blocks of a product.
bool computes_elements(const Node* node);
// A kernel that moves no byte: its result is its operand's memory.
bool is_relabel(const Node* node);
// What holds the value's bytes.
Value root_of(Value v);

// An empty graph for the region of a kernel of this graph, and a kernel of such a region in front of a node,
// which stands for a node's place in the user's program.
std::unique_ptr<Graph> kernel_graph(const Graph& graph);
Node* add_kernel(Node* before, std::string kind, std::vector<Value> operands, std::unique_ptr<Graph> inner,
                 const Node* at);

// Moves these nodes of a block into a new `fusion` node of kind "program", at the place of the last one. They
// stand in order; between them stand relabels and constants alone. Relabels that the nodes inside read are
// copied to them, and those that nobody reads any more are erased.
Node* make_program(std::span<Node* const> nodes);

}  // namespace ig::passes
