// The dtype objects: one for each element type, equal to its name and to NumPy's dtype of that name.
#include <vector>

#include "bindings/common.h"

namespace ig::py {
namespace {

struct PyDType {
  PyObject_HEAD DType dtype;
};
PyTypeObject* dtype_type = nullptr;
PyObject* objects[kDTypeCount] = {};

DType value_of(PyObject* self) { return reinterpret_cast<PyDType*>(self)->dtype; }
std::string api_name(DType dtype) { return std::string(info(dtype).api_name); }

PyObject* dtype_repr(PyObject* self) {
  return PyUnicode_FromString(("intaglio." + api_name(value_of(self))).c_str());
}
PyObject* dtype_str(PyObject* self) { return PyUnicode_FromString(api_name(value_of(self)).c_str()); }

Py_hash_t dtype_hash(PyObject* self) {
  nb::object name = nb::steal(dtype_str(self));
  return name.is_valid() ? PyObject_Hash(name.ptr()) : -1;
}

PyObject* dtype_compare(PyObject* self, PyObject* other, int op) {
  if (op != Py_EQ && op != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  return guard([&]() -> PyObject* {
    std::optional<DType> own = dtype_of(other);
    bool equal = own && *own == value_of(self);
    return PyBool_FromLong(equal == (op == Py_EQ));
  });
}

PyObject* dtype_reduce(PyObject* self, PyObject*) {
  nb::object module = nb::steal(PyImport_ImportModule("intaglio"));
  if (!module.is_valid()) return nullptr;
  nb::object getter = nb::steal(PyObject_GetAttrString(module.ptr(), "dtype"));
  if (!getter.is_valid()) return nullptr;
  return Py_BuildValue("(O(s))", getter.ptr(), api_name(value_of(self)).c_str());
}

PyObject* dtype_new(PyTypeObject*, PyObject* args, PyObject*) {
  PyObject* from;
  if (!PyArg_ParseTuple(args, "O", &from)) return nullptr;
  return guard([&] { return Py_NewRef(dtype_object(require_dtype(from, "dtype"))); });
}

PyObject* get_name(PyObject* self, void*) { return dtype_str(self); }
PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromSize_t(size_of(value_of(self))); }
PyObject* get_kind(PyObject* self, void*) {
  static const char* words[] = {"bool",          "signed integer",   "unsigned integer",
                                "real floating", "complex floating", "key"};
  return PyUnicode_FromString(words[static_cast<size_t>(kind_of(value_of(self)))]);
}
// NumPy reads this attribute when it is given the object where it wants a dtype.
PyObject* get_numpy(PyObject* self, void*) {
  DType dtype = value_of(self);
  if (dtype == DType::BF16) {
    nb::object extra = nb::steal(PyImport_ImportModule("ml_dtypes"));
    if (!extra.is_valid()) {
      PyErr_Clear();
      set_error(Error(ErrorKind::Type, "NumPy itself has no bfloat16")
                    .why("the type comes with the package ml_dtypes, which is not installed")
                    .hint("install ml_dtypes, or convert with ig.astype(x, ig.float32) first"));
      return nullptr;
    }
    nb::object scalar = nb::steal(PyObject_GetAttrString(extra.ptr(), "bfloat16"));
    nb::object numpy = nb::steal(PyImport_ImportModule("numpy"));
    if (!scalar.is_valid() || !numpy.is_valid()) return nullptr;
    return PyObject_CallMethod(numpy.ptr(), "dtype", "O", scalar.ptr());
  }
  if (dtype == DType::Key) {
    PyErr_SetString(PyExc_AttributeError, "NumPy has no dtype of random keys");
    return nullptr;
  }
  nb::object numpy = nb::steal(PyImport_ImportModule("numpy"));
  if (!numpy.is_valid()) return nullptr;
  return PyObject_CallMethod(numpy.ptr(), "dtype", "s", api_name(dtype).c_str());
}

PyGetSetDef getset[] = {
    {"name", get_name, nullptr, "The name in the array API.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"kind", get_kind, nullptr, "What the elements are, in words.", nullptr},
    {"dtype", get_numpy, nullptr, "NumPy's dtype.", nullptr},
    {},
};
PyMethodDef methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, nullptr}, {}};
PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("An element type. Equal to its name and to NumPy's dtype of that name.")},
    {Py_tp_repr, reinterpret_cast<void*>(dtype_repr)},
    {Py_tp_str, reinterpret_cast<void*>(dtype_str)},
    {Py_tp_hash, reinterpret_cast<void*>(dtype_hash)},
    {Py_tp_richcompare, reinterpret_cast<void*>(dtype_compare)},
    {Py_tp_new, reinterpret_cast<void*>(dtype_new)},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {0, nullptr},
};
PyType_Spec spec = {"intaglio.dtype", sizeof(PyDType), 0, Py_TPFLAGS_DEFAULT, slots};

std::optional<DType> dtype_by_its_name(PyObject* object) {
  nb::object name = nb::steal(PyObject_GetAttrString(object, "name"));
  if (!name.is_valid() || !PyUnicode_Check(name.ptr())) {
    PyErr_Clear();
    nb::object text = own(PyObject_Str(object));  // torch.float32
    std::string_view word = PyUnicode_AsUTF8(text.ptr());
    size_t dot = word.rfind('.');
    return dtype_from_name(dot == std::string_view::npos ? word : word.substr(dot + 1));
  }
  return dtype_from_name(PyUnicode_AsUTF8(name.ptr()));
}

// NumPy makes up the name of a dtype in Python, in microseconds. There is one object for each of its own
// dtypes, so the first ones that come are kept.
std::optional<DType> dtype_of_numpy(PyObject* object) {
  struct Known {
    PyObject* object;
    std::optional<DType> dtype;
  };
  constexpr size_t kMost = 32;
  static std::vector<Known> known;
  for (const Known& one : known)
    if (one.object == object) return one.dtype;
  const std::optional<DType> dtype = dtype_by_its_name(object);
  if (known.size() < kMost) known.push_back({Py_NewRef(object), dtype});
  return dtype;
}

}  // namespace

PyObject* dtype_object(DType dtype) { return objects[static_cast<size_t>(dtype)]; }

std::optional<DType> dtype_of(PyObject* object) {
  if (Py_TYPE(object) == dtype_type) return value_of(object);
  if (PyUnicode_Check(object)) {
    const char* text = PyUnicode_AsUTF8(object);
    return text ? dtype_from_name(text) : std::nullopt;
  }
  if (PyType_Check(object)) {
    if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::Bool;
    if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::I64;
    if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::F32;
    if (object == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::C64;
    // NumPy's scalar types: their names are the dtypes' names, but for numpy.bool_.
    std::string_view name = reinterpret_cast<PyTypeObject*>(object)->tp_name;
    if (name.starts_with("numpy."))
      name.remove_prefix(6);
    else if (name.starts_with("ml_dtypes."))
      name.remove_prefix(10);
    else if (name != "bfloat16")
      return std::nullopt;
    if (name == "bool_") return DType::Bool;
    return dtype_from_name(name);
  }
  // NumPy's dtypes, and any other object with a name that says it.
  std::string_view type = Py_TYPE(object)->tp_name;
  if (type.find("dtype") == std::string_view::npos && type.find("DType") == std::string_view::npos)
    return std::nullopt;
  if (type.starts_with("numpy.dtype")) return dtype_of_numpy(object);
  return dtype_by_its_name(object);
}

DType require_dtype(PyObject* object, std::string_view who) {
  if (std::optional<DType> dtype = dtype_of(object)) return *dtype;
  nb::object text = own(PyObject_Repr(object));
  throw make_error(ErrorKind::Type, "{}: {} is no dtype", who, PyUnicode_AsUTF8(text.ptr()))
      .why("a dtype, or an array that has one, was expected")
      .hint("a dtype is ig.float32, ig.int64, …, its name, or NumPy's dtype of that name");
}

void init_dtypes(nb::module_& m) {
  dtype_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!dtype_type) nb::raise_python_error();
  m.attr("dtype") = nb::borrow(reinterpret_cast<PyObject*>(dtype_type));
  for (int i = 0; i < kDTypeCount; ++i) {
    auto* object = PyObject_New(PyDType, dtype_type);
    if (!object) nb::raise_python_error();
    object->dtype = static_cast<DType>(i);
    objects[i] = reinterpret_cast<PyObject*>(object);
    m.attr(api_name(object->dtype).c_str()) = nb::borrow(objects[i]);
  }
}

}  // namespace ig::py
