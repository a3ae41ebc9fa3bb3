// Eager autograd from Python; see autograd.cpp.
#pragma once

#include "bindings/common.h"

namespace ig::py {

void init_autograd(nb::module_& m);

// `rebind` without a look at the tape: the handle then holds the value as it is, with its place on the tape
// or without one. (jit_notes.cpp)
void bind_raw(PyObject* object, Tensor value);

}  // namespace ig::py
