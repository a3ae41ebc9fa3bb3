// Factors of many small matrices at once; see linalg_small.cpp.
#pragma once

#include "ops/families/linalg_rules.h"

namespace ig::ops::factors {

// Whether these are real matrices of at most twelve rows and columns, and enough of them to lie side by side.
bool many_small(const Type& type);

void small_cholesky(NestContext& c);
void small_lu(NestContext& c);
void small_solve(NestContext& c, bool down, bool transposed, bool unit);

}  // namespace ig::ops::factors
