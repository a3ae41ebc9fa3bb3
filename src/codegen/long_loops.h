// Vector loops that compute much for an element.
#pragma once

#include "codegen/target.h"
#include "loop/loop.h"

namespace ig::codegen {

// Gives them fewer lanes: a vector of four registers is four times the code of one, and LLVM takes longer for
// a kernel's code than all the rest of a compilation. The bits stay.
void narrow_long_loops(loop::Function& function, const Target& target);

}  // namespace ig::codegen
