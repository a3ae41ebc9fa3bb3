// Nodes of the op `once`: what depends on constants alone, and on inputs that most calls leave as they are.
#pragma once

#include "ir/graph.h"

namespace ig::ops {

bool is_once(const Node* node);

}  // namespace ig::ops
