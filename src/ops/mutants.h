// Faults planted in rules and passes, to test the tests: `make test-mutants` builds with INTAGLIO_MUTANTS and
// runs the suite once for each, with INTAGLIO_MUTANT naming it ("exponential:lower", "pass:cse:wrong"). A
// normal build has none.
#pragma once

#ifdef INTAGLIO_MUTANTS
#include <string>
#include <vector>

#include "ops/op.h"

namespace ig::ops {

// "" where no fault is asked for: by INTAGLIO_MUTANT, or by `plant` since.
const std::string& wanted_mutant();
// The faults that can be planted in this op, without its name: "infer-dtype", "infer-shape", "lower",
// "jvp", "transpose", "batch".
std::vector<std::string> mutants_of(const Op& op);
// Plants the fault that is asked for, if it is one of this op's.
void plant_mutant(Op& op);

// Asks for a fault in a running process, and plants it in the table. Once a process, before anything ran:
// what was made without the fault would be kept.
void plant(const std::string& fault);

}  // namespace ig::ops
#endif
