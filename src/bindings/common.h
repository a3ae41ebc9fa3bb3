// What the files of the extension share: the hot types, the passage between Python objects and ours, and the
// guard that turns C++ errors into Python ones.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/table.h"
#include "tensor/capture.h"
#include "tensor/front.h"
#include "tensor/tensor.h"

namespace ig::py {

namespace nb = nanobind;

// --- errors (errors.cpp)
// --------------------------------------------------------------------------------------------- Marks that a
// Python error is set already; thrown through C++ code, it becomes that error again.
struct PythonError {};

// Sets the Python exception of the same kind, with the user's line where the error names none.
void set_error(const Error& error);
void set_current_exception();  // of the C++ exception being handled

// Runs f; a C++ exception becomes a Python one and the result is `on_error`.
template <typename F>
auto guard(F&& f, decltype(f()) on_error = {}) -> decltype(f()) {
  try {
    return f();
  } catch (...) {
    set_current_exception();
    return on_error;
  }
}
// A new reference from the C API, or the error that it set.
inline nb::object own(PyObject* object) {
  if (!object) throw PythonError{};
  return nb::steal(object);
}
inline void check(int status) {
  if (status < 0) throw PythonError{};
}

// --- the user's place in the program (locations.cpp)
// ---------------------------------------------------------------------
Location python_location();                            // interned; unknown without Python frames
std::string user_line();                               // "script.py:12 in f:  z = x + y", or ""
Location location_at(PyCodeObject* code, int offset);  // keeps the code object
bool is_package_code(PyCodeObject* code);
bool is_program_code(PyCodeObject* code);     // of the package's sub-folders: layers, optimisers
void set_package_folder(std::string folder);  // whose frames are left out

// --- dtypes (dtype.cpp)
// --------------------------------------------------------------------------------------------------
void init_dtypes(nb::module_& m);
PyObject* dtype_object(DType dtype);              // borrowed
std::optional<DType> dtype_of(PyObject* object);  // dtype objects, names, NumPy's dtypes, Python's types
DType require_dtype(PyObject* object, std::string_view who);

// --- arrays (tensor_*.cpp)
// -----------------------------------------------------------------------------------------------
struct PyTensor {
  PyObject_HEAD PyObject* weak;
  Tensor tensor;
};
extern PyTypeObject* tensor_type;
void init_tensor(nb::module_& m);
inline bool is_tensor(PyObject* object) {
  return Py_TYPE(object) == tensor_type || PyType_IsSubtype(Py_TYPE(object), tensor_type);
}
inline Tensor& tensor_of(PyObject* object) { return reinterpret_cast<PyTensor*>(object)->tensor; }
PyObject* wrap(Tensor tensor);                    // a new reference
PyObject* wrap_all(std::vector<Tensor> tensors);  // one array, or a tuple
// The one place where a handle is bound to a new value: x[i] = v, x += y.
void rebind(PyObject* object, Tensor value);
// While a function is recorded: notes that an array from outside was read by this handle (jit_notes.cpp).
void note_handle(PyObject* handle);
bool note_foreign(PyObject* object,
                  const Tensor& copy);  // a writable array of another library; false: not recording
// An array whose values are asked for: noted, and symbolic where the capture at hand guards the answer.
Tensor asked(PyObject* handle);
// Arithmetic of a symbolic Python number with another, or with a plain one, as Python does it (number.cpp).
// None of an operand that is no number. `name` is the operator's public function.
std::optional<nb::object> number_operator(const char* name, PyObject* a, PyObject* b);
nb::object number_unary(const char* name, PyObject* x);
nb::object number_value(PyObject* x);  // the Python number itself, which the capture settles
inline bool is_number(PyObject* object) { return is_tensor(object) && tensor_of(object).is_number(); }
// The capture that a symbolic tensor may be asked in; throws where it has leaked.
Capture& capture_of(const Tensor& tensor);
Tensor concrete(const Tensor& tensor, std::string_view why);

nb::object get_item(PyObject* self, PyObject* key);             // tensor_index.cpp
void set_item(PyObject* self, PyObject* key, PyObject* value);  // tensor_update.cpp
void init_updates(nb::module_& m);
std::string repr(const Tensor& tensor);  // tensor_repr.cpp
nb::object item_at(const Tensor& tensor, int64_t flat);
nb::object to_list(const Tensor& tensor);

// From any object that is an array in some way; Error(Type) where it is none. (array_in.cpp)
Tensor as_tensor(PyObject* object, std::optional<DType> dtype, std::string_view who);
// Another library's array for as long as a call takes: many floats in their own memory (the storage is
// read-only), which the owner may write again; else a copy. None for what `as_tensor` must look at.
std::optional<Tensor> lent(PyObject* object);
// Another library's array, which may have been written to: `last`, where it still holds that one's bytes.
Tensor as_it_is(PyObject* object, const Tensor& last, std::string_view who);
bool is_array_like(PyObject* object);                      // has a buffer, __dlpack__ or __array__
std::optional<front::Scalar> as_scalar(PyObject* object);  // a Python number
std::optional<front::Operand> as_operand(PyObject* object);
front::Operand require_operand(PyObject* object, std::string_view op, std::string_view name);
void init_array_in(nb::module_& m);
void init_creation(nb::module_& m);  // creation.cpp
// Exports, in array_out.cpp.
int tensor_getbuffer(PyObject* self, Py_buffer* view, int flags);
void tensor_releasebuffer(PyObject* self, Py_buffer* view);
PyObject* tensor_dlpack(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* tensor_dlpack_device(PyObject* self, PyObject*);

// --- sizes (dim.cpp)
// -----------------------------------------------------------------------------------------------------
void init_dim(nb::module_& m);
nb::object dim_object(const Dim& dim);          // int where constant
std::optional<Dim> as_dim(PyObject* object);    // int or Dim; none otherwise
nb::object shape_object(const Tensor& tensor);  // a tuple

// --- ops (op_function.cpp, op_table.cpp)
// -----------------------------------------------------------------------------------
void init_ops(nb::module_& m);
PyObject* functions();                            // the dict of public functions by name, borrowed
const ops::Op* op_of_function(PyObject* object);  // null if it is none
// The public function of this name, in C++ or Python.
nb::object call_function(const char* name, std::initializer_list<PyObject*> args);
AttrValue attr_value(PyObject* object, const AttrSpec& spec, std::string_view op);
nb::object attr_object(const AttrValue& value);
void init_op_table(nb::module_& m);
void init_user_ops(nb::module_& m);
void init_op_forms(nb::module_& m);

// --- graphs, pytrees, tracing
// ------------------------------------------------------------------------------------------------
void init_graph(nb::module_& m);
nb::object graph_object(std::shared_ptr<Graph> graph);
void init_profile(nb::module_& m);
void init_pytree(nb::module_& m);
void init_record(nb::module_& m);
Scope current_scope();  // of `with ig.name_scope(...)`
void init_jit(nb::module_& m);
void init_observer(nb::module_& m);

}  // namespace ig::py
