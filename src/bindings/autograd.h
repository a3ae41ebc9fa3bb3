// Eager autograd from Python; see autograd.cpp.
#pragma once

#include "bindings/common.h"

namespace ig::py {

void init_autograd(nb::module_& m);

// `rebind` without a look at the tape: the handle then holds the value as it is, with its place on the tape
// or without one. (jit_notes.cpp)
void bind_raw(PyObject* object, Tensor value);
// The same of a value that was computed off the tape: the handle keeps the place that it has.
void bind_silently(PyObject* object, Tensor value);
// Error(Value) where a leaf would be changed in place while this thread records.
void refuse_change_of_leaf(const Tensor& bound);
// What `x.grad` holds: one object, or None. No question is asked about captures.
nb::object gradient_of(PyObject* handle);
// Sets it; None takes it away.
void put_gradient(PyObject* handle, nb::handle value);
// Error(Type) where an array that requires grad would leave the tape for another library.
void refuse_export(const Tensor& tensor);

}  // namespace ig::py
