// Public functions of several forms: a Python function (intaglio/_functions.py) stands in front of an op of
// the table, or of another function of the C API. The form that this one takes as it is goes to it at once,
// and the others to the Python function, which has the name, the words and the signature.
#include <algorithm>

#include "bindings/common.h"

#include <structmember.h>  // wants Python.h before it

namespace ig::py {
namespace {

enum class Plain : uint8_t {
  Count,  // so many positional arguments, none of them None, and nothing else
  Fold,   // an array that is added up in its own dtype; by name or position the axis, and by name keepdims
  Join,   // a list or tuple of several arrays of one dtype; by name the axis
};

struct PyForms {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* direct;
  PyObject* general;
  Plain plain;
  size_t count;
};
PyTypeObject* forms_type = nullptr;

PyForms& forms_of(PyObject* self) { return *reinterpret_cast<PyForms*>(self); }

// Whether every keyword is one of these, and none of them is None.
bool are_named(PyObject* names, PyObject* const* values, std::initializer_list<std::string_view> known) {
  for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i) {
    Py_ssize_t length = 0;
    const char* name = PyUnicode_AsUTF8AndSize(PyTuple_GET_ITEM(names, i), &length);
    if (!name) throw PythonError{};
    if (values[i] == Py_None ||
        std::ranges::find(known, std::string_view(name, static_cast<size_t>(length))) == known.end())
      return false;
  }
  return true;
}

bool are_alike(PyObject* list) {
  if (!PyList_CheckExact(list) && !PyTuple_CheckExact(list)) return false;
  const auto items =
      std::span(PySequence_Fast_ITEMS(list), static_cast<size_t>(PySequence_Fast_GET_SIZE(list)));
  if (items.size() < 2) return false;
  return std::ranges::all_of(items, [&](PyObject* item) {
    return is_tensor(item) && tensor_of(item).dtype() == tensor_of(items[0]).dtype();
  });
}

bool is_plain(const PyForms& self, PyObject* const* args, size_t count, PyObject* names) {
  switch (self.plain) {
    case Plain::Count:
      return count == self.count && !names && std::find(args, args + count, Py_None) == args + count;
    case Plain::Fold:
      if (count == 0 || count > 2 || !is_tensor(args[0])) return false;
      return (is_float(tensor_of(args[0]).dtype()) || is_complex(tensor_of(args[0]).dtype())) &&
             are_named(names, args + count, {"axis", "keepdims"});
    case Plain::Join: return count == 1 && are_alike(args[0]) && are_named(names, args + 1, {"axis"});
  }
  return false;
}

PyObject* forms_vectorcall(PyObject* self, PyObject* const* args, size_t nargs, PyObject* names) {
  return guard([&] {
    const PyForms& forms = forms_of(self);
    if (names && PyTuple_GET_SIZE(names) == 0) names = nullptr;
    const bool plain = is_plain(forms, args, static_cast<size_t>(PyVectorcall_NARGS(nargs)), names);
    PyObject* out = PyObject_Vectorcall(plain ? forms.direct : forms.general, args, nargs, names);
    if (!out) throw PythonError{};
    return out;
  });
}

PyObject* forms_get(PyObject* self, PyObject* instance, PyObject*) {
  if (!instance || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}

// What the Python function has: its name, words, parameters.
PyObject* forms_attribute(PyObject* self, PyObject* name) {
  PyObject* own = PyObject_GenericGetAttr(self, name);
  if (own || !PyErr_ExceptionMatches(PyExc_AttributeError)) return own;
  PyErr_Clear();
  return PyObject_GetAttr(forms_of(self).general, name);
}

PyObject* get_module(PyObject*, void*) { return PyUnicode_InternFromString("intaglio"); }
PyObject* get_doc(PyObject* self, void*) { return PyObject_GetAttrString(forms_of(self).general, "__doc__"); }
PyObject* get_wrapped(PyObject* self, void*) { return Py_NewRef(forms_of(self).general); }

PyObject* forms_repr(PyObject* self) {
  return PyUnicode_FromFormat("<function of several forms %S>",
                              own(PyObject_GetAttrString(forms_of(self).general, "__name__")).ptr());
}
PyObject* forms_reduce(PyObject* self, PyObject*) {
  return PyObject_GetAttrString(forms_of(self).general, "__name__");
}

void forms_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_DECREF(forms_of(self).direct);
  Py_DECREF(forms_of(self).general);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {{"__reduce__", forms_reduce, METH_NOARGS, nullptr}, {}};
PyGetSetDef getset[] = {{"__module__", get_module, nullptr, nullptr, nullptr},
                        {"__doc__", get_doc, nullptr, nullptr, nullptr},
                        {"__wrapped__", get_wrapped, nullptr, nullptr, nullptr},
                        {}};
PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(PyForms, vectorcall), READONLY, nullptr}, {}};

nb::object make(nb::handle general, nb::handle direct, Plain plain, size_t count = 0) {
  auto* self = PyObject_New(PyForms, forms_type);
  if (!self) throw PythonError{};
  self->vectorcall = forms_vectorcall;
  self->direct = Py_NewRef(direct.ptr());
  self->general = Py_NewRef(general.ptr());
  self->plain = plain;
  self->count = count;
  return nb::steal(reinterpret_cast<PyObject*>(self));
}

}  // namespace

void init_op_forms(nb::module_& m) {
  static PyType_Slot slots[] = {
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
      {Py_tp_dealloc, reinterpret_cast<void*>(forms_dealloc)},
      {Py_tp_descr_get, reinterpret_cast<void*>(forms_get)},
      {Py_tp_getattro, reinterpret_cast<void*>(forms_attribute)},
      {Py_tp_repr, reinterpret_cast<void*>(forms_repr)},
      {Py_tp_methods, methods},
      {Py_tp_getset, getset},
      {Py_tp_members, members},
      {0, nullptr},
  };
  static PyType_Spec spec = {"intaglio.Function", sizeof(PyForms), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_METHOD_DESCRIPTOR,
                             slots};
  forms_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!forms_type) nb::raise_python_error();
  m.def(
      "_count_form",
      [](nb::handle general, nb::handle direct, size_t count) {
        return make(general, direct, Plain::Count, count);
      },
      nb::arg("general"), nb::arg("direct"), nb::arg("count"),
      "A function whose calls with so many positional arguments, none of them None, go to `direct`.");
  m.def(
      "_fold_form", [](nb::handle general, nb::handle direct) { return make(general, direct, Plain::Fold); },
      nb::arg("general"), nb::arg("direct"),
      "A function whose calls for an array of floats, with an axis and keepdims at most, go to `direct`.");
  m.def(
      "_join_form", [](nb::handle general, nb::handle direct) { return make(general, direct, Plain::Join); },
      nb::arg("general"), nb::arg("direct"),
      "A function whose calls for a list of several arrays of one dtype, with an axis at most, go to "
      "`direct`.");
}

}  // namespace ig::py
