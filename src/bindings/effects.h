// Effects from Python; see effects.cpp.
#pragma once

#include "bindings/common.h"

namespace ig::py {

void init_effects(nb::module_& m);

}  // namespace ig::py
