// A graph from text that a person wrote: parsed and verified, with errors that show the place in the text.
#pragma once

#include <memory>
#include <string>

#include "ir/graph.h"

namespace ig::ops {

// Error(Parse) where the text does not follow the grammar, Error(Verify) and others where an op refuses its
// operands; both begin with "file:line:column" and show the line with a caret.
std::unique_ptr<Graph> read_graph(const std::string& text, const std::string& file);

}  // namespace ig::ops
