// Vector loops that compute much for an element.
#pragma once

#include "codegen/target.h"
#include "loop/loop.h"

namespace ig::codegen {

// Gives them fewer lanes: a vector of four registers is four times the code of one, and LLVM takes longer for
// a kernel's code than all the rest of a compilation. The bits stay.
void narrow_long_loops(loop::Function& function, const Target& target);

// Whether each lane of a vector loop computes by itself: its body keeps no vectors, and reduces or turns
// none.
bool independent_lanes(const loop::Function& function, const loop::Stmt& s);

}  // namespace ig::codegen
