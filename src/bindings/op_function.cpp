// The public functions of the op table: one Python object for each op, made in a loop, with a name, a
// docstring and a signature from the declaration. Placed on Tensor they are its methods.
#include <set>
#include <unordered_map>

#include "bindings/common.h"
#include "bindings/effects.h"
#include "ops/attrs.h"
#include "tensor/eager.h"
#include "tensor/mode.h"

#include <structmember.h>  // wants Python.h before it

namespace ig::py {
namespace {

struct PyOp {
  PyObject_HEAD vectorcallfunc vectorcall;
  const ops::Op* op;
  eager::ElementwiseSite* site;  // the direct way, where there is one
  PyObject* signature;           // inspect.Signature, made when asked for
};
PyTypeObject* op_type = nullptr;

const ops::Op& op_of(PyObject* self) { return *reinterpret_cast<PyOp*>(self)->op; }

// The name of an attribute as a keyword: a reduction's `axes` is the standard's `axis`.
std::string_view keyword(const ops::Op& op, const AttrSpec& attr) {
  if (op.decl.front == ops::Front::Reduction && attr.name == ops::kAxes.name) return "axis";
  return attr.name;
}

bool required(const ops::Op& op, const AttrSpec& attr) {
  return !attr.fallback && !(op.decl.front == ops::Front::Reduction && attr.name == ops::kAxes.name);
}

std::string default_text(const AttrSpec& attr) {
  if (!attr.fallback) return "None";
  if (const bool* value = std::get_if<bool>(&*attr.fallback)) return *value ? "True" : "False";
  if (const double* value = std::get_if<double>(&*attr.fallback)) {
    nb::object number = own(PyFloat_FromDouble(*value));
    return nb::cast<std::string>(nb::str(number));
  }
  if (const std::string* value = std::get_if<std::string>(&*attr.fallback)) return "'" + *value + "'";
  if (const Ints* value = std::get_if<Ints>(&*attr.fallback))
    return fmt::format("({})", fmt::join(*value, ", "));
  return str(*attr.fallback);
}

std::string signature_text(const ops::Op& op) {
  std::string out = op.public_name() + "(";
  bool first = true, optional = false;
  auto add = [&](const std::string& text) {
    out += (first ? "" : ", ") + text;
    first = false;
  };
  for (const ops::OperandSpec& operand : op.decl.operands) {
    optional |= operand.optional;
    add(operand.optional ? operand.name + "=None" : operand.name);
  }
  for (const AttrSpec& attr : op.decl.attrs)
    if (required(op, attr) && !optional) add(std::string(keyword(op, attr)));
  for (const AttrSpec& attr : op.decl.attrs)
    if (!(required(op, attr) && !optional)) add(fmt::format("{}={}", keyword(op, attr), default_text(attr)));
  return out + ")";
}

[[noreturn]] void bad_call(const ops::Op& op, std::string what) {
  throw make_error(ErrorKind::Type, "{}: {}", op.public_name(), what)
      .why("the function is " + signature_text(op))
      .hint("pass its arrays first, then its options by name");
}

Ints ints_of(PyObject* object, const AttrSpec& spec, std::string_view op) {
  auto wrong = [&]() -> Error {
    return make_error(ErrorKind::Type, "{}: {} must be an integer or a tuple of integers, not {}", op,
                      spec.name == ops::kAxes.name ? "axis" : spec.name, Py_TYPE(object)->tp_name)
        .why("it names axes or sizes: " + spec.doc)
        .hint("pass integers, such as 1 or (0, 1)");
  };
  auto whole = [&](PyObject* item) -> int64_t {
    nb::object number = nb::steal(PyBool_Check(item) ? nullptr : PyNumber_Index(item));
    if (!number.is_valid()) {
      PyErr_Clear();
      throw wrong();
    }
    int64_t value = PyLong_AsLongLong(number.ptr());
    if (value == -1 && PyErr_Occurred()) throw PythonError{};
    return value;
  };
  if (PyList_Check(object) || PyTuple_Check(object)) {
    Ints out;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
      out.push_back(whole(PySequence_Fast_GET_ITEM(object, i)));
    return out;
  }
  return {whole(object)};
}

// Binds one call: operands and attributes from positional and keyword arguments.
PyObject* call(const ops::Op& op, PyObject* const* args, size_t count, PyObject* names) {
  const std::vector<ops::OperandSpec>& specs = op.decl.operands;
  const std::vector<AttrSpec>& attr_specs = op.decl.attrs;
  std::vector<front::Operand> operands;
  Attrs attrs;
  size_t at = 0;     // the next positional argument
  size_t given = 0;  // operands bound by position
  for (; given < specs.size() && at < count; ++given) {
    const ops::OperandSpec& spec = specs[given];
    PyObject* arg = args[at++];
    if (spec.variadic) {
      if (PyList_Check(arg) || PyTuple_Check(arg)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(arg); ++i)
          operands.push_back(require_operand(PySequence_Fast_GET_ITEM(arg, i), op.public_name(), spec.name));
      } else {
        operands.push_back(require_operand(arg, op.public_name(), spec.name));
        while (at < count) operands.push_back(require_operand(args[at++], op.public_name(), spec.name));
      }
    } else if (arg == Py_None && spec.optional) {
      continue;
    } else {
      operands.push_back(require_operand(arg, op.public_name(), spec.name));
    }
  }
  size_t attr = 0;
  for (; at < count; ++at, ++attr) {
    if (attr == attr_specs.size())
      bad_call(op, fmt::format("{} positional arguments were given, and it takes {}", count,
                               specs.size() + attr_specs.size()));
    const AttrSpec& spec = attr_specs[attr];
    if (args[at] == Py_None && !required(op, spec)) continue;
    // x.reshape(2, 3): what is left are the numbers of one list.
    bool listed = spec.kind == AttrKind::Dims || spec.kind == AttrKind::Ints;
    if (listed && count - at > attr_specs.size() - attr && !PyTuple_Check(args[at]) &&
        !PyList_Check(args[at])) {
      nb::object list = own(PyTuple_New(static_cast<Py_ssize_t>(count - at)));
      for (size_t i = at; i < count; ++i)
        PyTuple_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i - at), Py_NewRef(args[i]));
      attrs.set(spec.name, attr_value(list.ptr(), spec, op.public_name()));
      break;
    }
    attrs.set(spec.name, attr_value(args[at], spec, op.public_name()));
  }
  if (names) {
    std::vector<PyObject*> by_name(specs.size(), nullptr);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
      std::string_view name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));
      PyObject* value = args[count + static_cast<size_t>(i)];
      bool known = false;
      for (size_t o = 0; o < specs.size() && !known; ++o) {
        if (specs[o].name != name) continue;
        known = true;
        if (o < given) bad_call(op, fmt::format("`{}` was given twice", name));
        by_name[o] = value;
      }
      for (size_t a = 0; a < attr_specs.size() && !known; ++a) {
        if (keyword(op, attr_specs[a]) != name) continue;
        known = true;
        if (attrs.find(attr_specs[a].name)) bad_call(op, fmt::format("`{}` was given twice", name));
        if (value == Py_None && !required(op, attr_specs[a])) continue;
        attrs.set(attr_specs[a].name, attr_value(value, attr_specs[a], op.public_name()));
      }
      if (!known) bad_call(op, fmt::format("there is no option `{}`", name));
    }
    for (size_t o = given; o < specs.size(); ++o) {
      if (!by_name[o]) {
        for (size_t later = o + 1; later < specs.size(); ++later)
          if (by_name[later] && specs[later].name != "" && !specs[o].optional)
            bad_call(op, fmt::format("the array `{}` is missing", specs[o].name));
        continue;
      }
      if (by_name[o] == Py_None && specs[o].optional) continue;
      if (specs[o].variadic && (PyList_Check(by_name[o]) || PyTuple_Check(by_name[o]))) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(by_name[o]); ++i)
          operands.push_back(
              require_operand(PySequence_Fast_GET_ITEM(by_name[o], i), op.public_name(), specs[o].name));
      } else {
        operands.push_back(require_operand(by_name[o], op.public_name(), specs[o].name));
      }
      given = o + 1;
    }
  }
  size_t least = 0;
  for (const ops::OperandSpec& spec : specs) least += !spec.optional && !spec.variadic;
  if (operands.size() < least)
    bad_call(op, fmt::format("the array `{}` is missing", specs[operands.size()].name));
  for (const AttrSpec& spec : attr_specs)
    if (required(op, spec) && !attrs.find(spec.name))
      bad_call(op, fmt::format("the option `{}` is missing", keyword(op, spec)));
  check_whole(op, operands);
  return wrap_all(front::call(op, operands, std::move(attrs)));
}

// One array, or two alike, of a dtype that the op takes as it is, outside of captures and modes: nothing
// needs to be prepared. (Of two whole numbers the second may be one that the op refuses.)
bool goes_directly(const PyOp& self, PyObject* const* args, size_t count, PyObject* names) {
  if (!self.site || names || count != self.op->decl.operands.size() || !is_tensor(args[0])) return false;
  const Tensor& x = tensor_of(args[0]);
  if (x.is_symbolic() || !ops::contains(self.op->decl.dtypes, x.dtype()) || Capture::current() ||
      OpMode::any())
    return false;
  if (count == 1) return true;
  if (!is_tensor(args[1]) || is_integer(x.dtype())) return false;
  const Tensor& y = tensor_of(args[1]);
  return !y.is_symbolic() && y.dtype() == x.dtype() && y.shape() == x.shape();
}

PyObject* op_vectorcall(PyObject* self, PyObject* const* args, size_t nargs, PyObject* names) {
  return guard([&] {
    const auto count = static_cast<size_t>(PyVectorcall_NARGS(nargs));
    const auto& op = *reinterpret_cast<PyOp*>(self);
    if (goes_directly(op, args, count, names))
      return wrap(count == 1 ? (*op.site)(tensor_of(args[0]))
                             : (*op.site)(tensor_of(args[0]), tensor_of(args[1])));
    return call(*op.op, args, count, names);
  });
}

PyObject* op_get(PyObject* self, PyObject* instance, PyObject*) {
  if (!instance || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}

void op_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(reinterpret_cast<PyOp*>(self)->signature);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* text(const std::string& value) {
  return PyUnicode_FromStringAndSize(value.data(), static_cast<Py_ssize_t>(value.size()));
}

PyObject* get_name(PyObject* self, void*) { return text(op_of(self).public_name()); }
PyObject* get_module(PyObject*, void*) { return PyUnicode_InternFromString("intaglio"); }
PyObject* get_op(PyObject* self, void*) { return text(op_of(self).decl.name); }

std::string dtype_names(ops::DTypeSet set) {
  std::vector<std::string_view> names;
  for (DType dtype : ops::members(set)) names.push_back(info(dtype).api_name);
  return fmt::format("{}", fmt::join(names, ", "));
}

PyObject* get_doc(PyObject* self, void*) {
  const ops::Op& op = op_of(self);
  std::string out = signature_text(op) + "\n\n" + op.decl.doc;
  if (!op.decl.operands.empty() || !op.decl.attrs.empty()) out += "\n\nParameters\n----------";
  for (const ops::OperandSpec& operand : op.decl.operands)
    out += fmt::format("\n{} : {}\n    {}", operand.name, operand.variadic ? "sequence of arrays" : "array",
                       operand.doc);
  for (const AttrSpec& attr : op.decl.attrs)
    out += fmt::format("\n{} : {}\n    {}", keyword(op, attr), attr_kind_name(attr.kind), attr.doc);
  // What the families promise about types and shapes; the checks themselves are the op's `infer`.
  bool over_t = false;
  for (const ops::Sample& sample : op.decl.samples) over_t |= sample.operands.find("T[") != std::string::npos;
  if (over_t && !op.decl.operands.empty())
    out += fmt::format("\n\nDtypes\n------\n{}", dtype_names(op.decl.dtypes));
  switch (op.decl.front) {
    case ops::Front::Elementwise:
      out += "\n\nShapes\n------\nThe arrays are broadcast against one another, and promoted to one dtype.";
      break;
    case ops::Front::Reduction:
      out += "\n\nShapes\n------\nThe axes go away, or become 1 with keepdims.";
      break;
    case ops::Front::Direct:
    case ops::Front::None: break;
  }
  if (!op.decl.bad_samples.empty()) out += "\n\nRaises\n------";
  std::set<std::string> raised;
  for (const ops::BadSample& bad : op.decl.bad_samples) {
    std::string kind = bad.error.substr(0, bad.error.find(':'));
    if (raised.insert(kind).second) out += "\n" + kind + "\n    " + bad.error.substr(kind.size() + 2);
  }
  if (!op.decl.example.empty()) out += "\n\nExamples\n--------\n>>> " + op.decl.example;
  return text(out);
}

PyObject* get_text_signature(PyObject* self, void*) {
  std::string whole = signature_text(op_of(self));
  return text(whole.substr(whole.find('(')));
}

PyObject* get_signature(PyObject* self, void*) {
  auto* op = reinterpret_cast<PyOp*>(self);
  if (!op->signature) {
    nb::object helper = nb::steal(PyImport_ImportModule("intaglio._signature"));
    if (!helper.is_valid()) return nullptr;
    nb::object words = nb::steal(get_text_signature(self, nullptr));
    op->signature = PyObject_CallMethod(helper.ptr(), "from_text", "O", words.ptr());
    if (!op->signature) return nullptr;
  }
  return Py_NewRef(op->signature);
}

PyObject* op_repr(PyObject* self) { return text("<op function " + signature_text(op_of(self)) + ">"); }

PyObject* op_reduce(PyObject* self, PyObject*) { return get_name(self, nullptr); }

PyMethodDef methods[] = {{"__reduce__", op_reduce, METH_NOARGS, nullptr}, {}};
PyGetSetDef getset[] = {
    {"__name__", get_name, nullptr, nullptr, nullptr},
    {"__qualname__", get_name, nullptr, nullptr, nullptr},
    {"__module__", get_module, nullptr, nullptr, nullptr},
    {"__doc__", get_doc, nullptr, nullptr, nullptr},
    {"__text_signature__", get_text_signature, nullptr, nullptr, nullptr},
    {"__signature__", get_signature, nullptr, nullptr, nullptr},
    {"op", get_op, nullptr, "The op's name in graph text.", nullptr},
    {},
};
PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(PyOp, vectorcall), READONLY, nullptr},
    {},
};

nb::object make_function(const ops::Op& op) {
  auto* self = PyObject_New(PyOp, op_type);
  if (!self) throw PythonError{};
  self->vectorcall = op_vectorcall;
  self->op = &op;
  self->site = eager::ElementwiseSite::suits(op) ? new eager::ElementwiseSite(op)
                                                 : nullptr;  // lives as long as the op
  self->signature = nullptr;
  return nb::steal(reinterpret_cast<PyObject*>(self));
}

}  // namespace

PyObject* functions() {
  static PyObject* dict = PyDict_New();
  return dict;
}

const ops::Op* op_of_function(PyObject* object) {
  return object && Py_TYPE(object) == op_type ? &op_of(object) : nullptr;
}

nb::object call_function(const char* name, std::initializer_list<PyObject*> args) {
  PyObject* function = PyDict_GetItemString(functions(), name);
  if (!function)
    throw make_error(ErrorKind::Unsupported, "this build has no function `{}`", name)
        .why("no declaration of the op table has that public name")
        .hint("ig.op_table() lists what there is");
  return own(PyObject_Vectorcall(function, std::data(args), args.size(), nullptr));
}

AttrValue attr_value(PyObject* object, const AttrSpec& spec, std::string_view op) {
  auto wrong = [&](std::string_view wanted) -> Error {
    return make_error(ErrorKind::Type, "{}: {} must be {}, not {}", op, spec.name, wanted,
                      Py_TYPE(object)->tp_name)
        .why("it is an option of the function: " + spec.doc)
        .hint(fmt::format("pass {}", wanted));
  };
  switch (spec.kind) {
    case AttrKind::Bool:
      if (!PyBool_Check(object)) throw wrong("a bool");
      return object == Py_True;
    case AttrKind::Int: {
      nb::object number = nb::steal(PyBool_Check(object) ? nullptr : PyNumber_Index(object));
      if (!number.is_valid()) {
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError{};
        PyErr_Clear();
        throw wrong("an integer");
      }
      int64_t value = PyLong_AsLongLong(number.ptr());
      if (value == -1 && PyErr_Occurred()) throw PythonError{};
      return value;
    }
    case AttrKind::Float: {
      bool number = is_tensor(object) && tensor_of(object).is_number();
      if (!PyFloat_Check(object) && !PyLong_Check(object) && !number) throw wrong("a number");
      double value = PyFloat_AsDouble(object);
      if (value == -1 && PyErr_Occurred()) throw PythonError{};
      return value;
    }
    case AttrKind::Text: {
      const char* value = PyUnicode_Check(object) ? PyUnicode_AsUTF8(object) : nullptr;
      if (!value) throw wrong("a string");
      return std::string(value);
    }
    case AttrKind::DType: return require_dtype(object, op);
    case AttrKind::Ints: return ints_of(object, spec, op);
    case AttrKind::Dims: {
      Dims out;
      if (std::optional<Dim> one = as_dim(object)) return Dims{*one};
      if (!PyList_Check(object) && !PyTuple_Check(object)) throw wrong("a tuple of sizes");
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
        PyObject* item = PySequence_Fast_GET_ITEM(object, i);
        std::optional<Dim> dim = as_dim(item);
        if (!dim) {
          nb::object number = nb::steal(PyNumber_Index(item));
          if (!number.is_valid()) {
            if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError{};
            PyErr_Clear();
            throw wrong("a tuple of sizes");
          }
          dim = as_dim(number.ptr());
        }
        out.push_back(*dim);
      }
      return out;
    }
    case AttrKind::Literal: return concrete(as_tensor(object, std::nullopt, op), "the values").literal();
  }
  throw wrong("something else");
}

nb::object attr_object(const AttrValue& value) {
  return std::visit(
      [](const auto& v) -> nb::object {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, bool>)
          return nb::bool_(v);
        else if constexpr (std::is_same_v<T, int64_t>)
          return nb::int_(v);
        else if constexpr (std::is_same_v<T, double>)
          return nb::float_(v);
        else if constexpr (std::is_same_v<T, std::string>)
          return nb::str(v.c_str(), v.size());
        else if constexpr (std::is_same_v<T, DType>)
          return nb::borrow(dtype_object(v));
        else if constexpr (std::is_same_v<T, Literal>)
          return nb::steal(wrap(Tensor::from(v)));
        else {
          nb::object out = own(PyTuple_New(static_cast<Py_ssize_t>(v.size())));
          for (size_t i = 0; i < v.size(); ++i) {
            nb::object item;
            if constexpr (std::is_same_v<T, Dims>)
              item = dim_object(v[i]);
            else
              item = nb::int_(v[i]);
            PyTuple_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(i), item.release().ptr());
          }
          return out;
        }
      },
      value);
}

void init_ops(nb::module_& m) {
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(op_dealloc)},
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
      {Py_tp_descr_get, reinterpret_cast<void*>(op_get)},
      {Py_tp_repr, reinterpret_cast<void*>(op_repr)},
      {Py_tp_methods, methods},
      {Py_tp_getset, getset},
      {Py_tp_members, members},
      {0, nullptr},
  };
  static PyType_Spec spec = {"intaglio.OpFunction", sizeof(PyOp), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
                             slots};
  op_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!op_type) nb::raise_python_error();
  for (const ops::Op* op : ops::all()) {
    if (op->decl.python.empty()) continue;
    nb::object function = make_function(*op);
    check(PyDict_SetItemString(functions(), op->decl.python.c_str(), function.ptr()));
  }
  m.attr("functions") = nb::borrow(functions());
  m.def(
      "op", [](const std::string& name) { return make_function(ops::get(name)); }, nb::arg("name"),
      "The function of any op of the table, with no preparation of its arguments where it is not public.");
  m.def("has_op", [](const std::string& name) { return ops::find(name) != nullptr; }, nb::arg("name"));
}

}  // namespace ig::py
