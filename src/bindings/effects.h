// Effects from Python; see effects.cpp.
#pragma once

#include "bindings/common.h"

namespace ig::py {

void init_effects(nb::module_& m);
void init_host_call(nb::module_& m);  // host_call.cpp

// Raises ZeroDivisionError where integers are divided by zero, as Python does; a captured function does so on
// each run. The primitives themselves are total. Of ops that do not divide, and of floats: nothing.
void check_divisor(const ops::Op& op, std::span<const front::Operand> operands);
// The same for concrete arrays outside of captures.
void check_divisor(const Tensor& divisor, std::string_view who);

}  // namespace ig::py
