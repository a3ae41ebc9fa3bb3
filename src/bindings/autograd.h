// Eager autograd from Python; see autograd.cpp.
#pragma once

#include "bindings/common.h"

namespace ig::py {

void init_autograd(nb::module_& m);

}  // namespace ig::py
