// Opens composites: builds what a node's op is made of. The one place where a body meets its node, so that
// what `infer` said of the results and what the body makes of them are compared each time.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace ig::ops {

class Builder;

// The body of `node`'s op, built of `operands` (as many as the node's own, of their types). Empty where a
// body that may decline does so.
std::vector<Value> open_body(Builder& build, const Node* node, std::vector<Value> operands);

// The node's place is taken by its body. Gives the first node of the body, or what followed the node where
// the body added none; null where nothing did. `results`, where given, are the values in the place of the
// node's.
Node* open_in_place(Node* node, std::vector<Value>* results = nullptr);

}  // namespace ig::ops
