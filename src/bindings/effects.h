// Effects from Python; see effects.cpp.
#pragma once

#include "bindings/common.h"

namespace ig::py {

void init_effects(nb::module_& m);
void init_host_call(nb::module_& m);  // host_call.cpp

// Raises ZeroDivisionError where integers are divided by zero, as Python does, and ValueError where they are
// raised to a negative power; a captured function does so on each run. The primitives themselves are total.
// Of other ops, and of floats: nothing.
void check_whole(const ops::Op& op, std::span<const front::Operand> operands);
// The same for the second of two concrete arrays of integers outside of captures.
void check_whole(const ops::Op& op, const Tensor& second, std::string_view who);

}  // namespace ig::py
