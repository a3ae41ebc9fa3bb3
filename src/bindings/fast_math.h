// fast_math as Python gives it, and what its flags did as Python is told.
#pragma once

#include "bindings/common.h"
#include "tensor/program.h"

namespace ig::py {

// False, True (all flags), the name of a flag, or an iterable of names. `who` names the function in errors.
FastMath fast_math_of(nb::handle value, std::string_view who);
nb::list fast_math_names(const FastMath& flags);
// By flag, its changes and their places: {"contract": {"changes": 2, "places": ["add (f.py:3)", …]}}.
nb::dict fast_math_dict(const ProgramReport& report);

}  // namespace ig::py
