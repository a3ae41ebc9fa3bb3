// C++ errors as Python ones: the class of the same name in intaglio._errors, with its four parts.
#include "bindings/common.h"

namespace ig::py {
namespace {

PyObject* error_class(ErrorKind kind) {
  static PyObject* classes[16] = {};
  PyObject*& slot = classes[static_cast<size_t>(kind)];
  if (!slot) {
    nb::object module = nb::steal(PyImport_ImportModule("intaglio._errors"));
    if (!module.is_valid()) {
      PyErr_Clear();
      return PyExc_RuntimeError;
    }
    slot = PyObject_GetAttrString(module.ptr(), std::string(error_kind_name(kind)).c_str());
    if (!slot) {
      PyErr_Clear();
      return PyExc_RuntimeError;
    }
  }
  return slot;
}

}  // namespace

void set_error(const Error& error) {
  std::string where = error.where().empty() ? user_line() : error.where();
  PyObject* type = error_class(error.kind());
  nb::object args = nb::steal(Py_BuildValue("(ssss)", error.summary().c_str(), where.c_str(),
                                            error.why_text().c_str(), error.hint_text().c_str()));
  if (args.is_valid()) PyErr_SetObject(type, args.ptr());
}

void set_current_exception() {
  try {
    throw;
  } catch (const PythonError&) {
  } catch (const Error& error) {
    set_error(error);
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    set_error(Error(ErrorKind::Memory, "the system has no memory left")
                  .why("the process could not get memory for its own records, apart from arrays")
                  .hint("delete arrays and compiled functions that are no longer needed"));
  } catch (const std::exception& error) {
    set_error(Error(ErrorKind::Internal, error.what())
                  .hint("this is a fault in Intaglio; please report it with the program that shows it"));
  }
}

}  // namespace ig::py
