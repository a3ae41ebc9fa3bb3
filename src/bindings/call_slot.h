// Calling an object of a bound class without Python's own code: the arguments as the C API gives them.
#pragma once

#include <vector>

#include "bindings/common.h"

namespace ig::py {

// The arguments of a call by tuple and dict, as those of a vectorcall: `names` is null or a tuple of the last
// ones' names.
struct CallArguments {
  CallArguments(nb::handle args, nb::handle kwargs)
      : count(static_cast<size_t>(PyTuple_GET_SIZE(args.ptr()))) {
    for (size_t i = 0; i < count; ++i)
      all.push_back(PyTuple_GET_ITEM(args.ptr(), static_cast<Py_ssize_t>(i)));
    if (!kwargs.is_valid() || PyDict_GET_SIZE(kwargs.ptr()) == 0) return;
    names = nb::steal(PyTuple_New(PyDict_GET_SIZE(kwargs.ptr())));
    check(names.ptr() ? 0 : -1);
    Py_ssize_t at = 0, number = 0;
    PyObject *name, *value;
    while (PyDict_Next(kwargs.ptr(), &at, &name, &value)) {
      PyTuple_SET_ITEM(names.ptr(), number++, Py_NewRef(name));
      all.push_back(value);
    }
  }
  PyObject* name_list() const { return names.is_valid() ? names.ptr() : nullptr; }

  size_t count;
  std::vector<PyObject*> all;  // borrowed
  nb::object names;
};

// A class's `tp_call` that hands over to a function of the instance's own: `call(T&, self, args, kwargs)`.
template <typename T, nb::object (*call)(T& self, nb::handle object, nb::handle args, nb::handle kwargs)>
PyObject* call_slot(PyObject* self, PyObject* args, PyObject* kwargs) {
  try {
    return call(*nb::inst_ptr<T>(self), self, args, kwargs).release().ptr();
  } catch (...) {
    set_current_exception();
    return nullptr;
  }
}

}  // namespace ig::py
