// What identifies a kernel outside of this process: its text, and the build of the library that gives the
// text its meaning (the loop IR and the vector maths).
#pragma once

#include <string>

#include "loop/loop.h"

namespace ig::loop {

// The text that `Function::hash` hashes: complete, with names of buffers, sizes and the function left out.
std::string canonical_text(const Function& function);

// The build id of the library that holds the loop IR; "" where it has none.
std::string build_id();

}  // namespace ig::loop
