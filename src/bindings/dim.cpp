// `intaglio.Dim`: a symbolic size in Python. Arithmetic stays symbolic; a comparison that the known ranges do
// not decide is asked of the capture at hand, which guards it, constrains it, or refuses with the user's
// line.
#include "bindings/common.h"

namespace ig::py {
namespace {

struct PyDim {
  Dim dim;
  Range range;            // as declared, of a bare symbol
  bool declared = false;  // made by ig.Dim(name, min, max)
};

Dim need(nb::handle object) {
  if (std::optional<Dim> dim = as_dim(object.ptr())) return *dim;
  throw make_error(ErrorKind::Type, "a size goes with integers and sizes, not {}",
                   Py_TYPE(object.ptr())->tp_name)
      .why("arithmetic on symbolic sizes is that of integers")
      .hint("use whole numbers; to compute with the size as an array: ig.asarray(x.shape[0])");
}

bool settle(std::string_view relation, const Dim& a, const Dim& b) {
  Capture* capture = Capture::current();
  DimScope alone;
  const DimScope& scope = capture ? capture->graph().dims : alone;
  if (relation == "==") {
    Truth known = scope.equal(a, b);
    if (known != Truth::Unknown || !capture) return known == Truth::Yes;
    return scope.decide_equal(a, b);
  }
  Truth known = scope.less_equal(a, b);
  if (known != Truth::Unknown) return known == Truth::Yes;
  if (capture) return scope.decide_less_equal(a, b);
  throw make_error(ErrorKind::Capture, "whether {} <= {} is not known", a.str(), b.str())
      .why("the sizes are symbols, and no trace is going on that could guard the answer")
      .hint("compare sizes inside of the traced function, or give the symbols ranges that settle it");
}

int64_t number(const PyDim& self, std::string_view wanted) {
  if (self.dim.is_constant()) return self.dim.constant();
  Capture* capture = Capture::current();
  if (capture) return capture->to_size(self.dim, wanted);
  throw make_error(ErrorKind::Capture, "{} of the symbolic size `{}` is wanted, and it has no fixed value",
                   wanted, self.dim.str())
      .why("no trace is going on that could guard a value")
      .hint("sizes get their values when the graph is called");
}

template <Dim (*function)(const Dim&, const Dim&)>
nb::object forward(const PyDim& self, nb::handle other) {
  std::optional<Dim> b = as_dim(other.ptr());
  return b ? dim_object(function(self.dim, *b)) : nb::borrow(Py_NotImplemented);
}
template <Dim (*function)(const Dim&, const Dim&)>
nb::object backward(const PyDim& self, nb::handle other) {
  std::optional<Dim> a = as_dim(other.ptr());
  return a ? dim_object(function(*a, self.dim)) : nb::borrow(Py_NotImplemented);
}
Dim add(const Dim& a, const Dim& b) { return a + b; }
Dim subtract(const Dim& a, const Dim& b) { return a - b; }
Dim multiply(const Dim& a, const Dim& b) { return a * b; }
Dim divide(const Dim& a, const Dim& b) { return floordiv(a, b); }
Dim modulo(const Dim& a, const Dim& b) { return mod(a, b); }

}  // namespace

nb::object dim_object(const Dim& dim) {
  if (dim.is_constant()) return own(PyLong_FromLongLong(dim.constant()));
  return nb::cast(PyDim{dim, {}, false});
}

std::optional<Dim> as_dim(PyObject* object) {
  if (PyLong_Check(object) && !PyBool_Check(object)) {
    int64_t value = PyLong_AsLongLong(object);
    if (value == -1 && PyErr_Occurred()) {
      PyErr_Clear();

      throw Error(ErrorKind::Value, "a size does not fit in 64 bits")
          .why("sizes are counted in signed 64-bit integers")
          .hint("use smaller sizes, or split the array");
    }
    return Dim(value);
  }
  if (nb::isinstance<PyDim>(nb::handle(object))) return nb::cast<const PyDim&>(nb::handle(object)).dim;
  return std::nullopt;
}

nb::object shape_object(const Tensor& tensor) {
  if (!tensor.is_symbolic()) {
    const Shape& shape = tensor.shape();
    nb::object out = own(PyTuple_New(shape.rank()));
    for (int i = 0; i < shape.rank(); ++i)
      PyTuple_SET_ITEM(out.ptr(), i, own(PyLong_FromLongLong(shape[static_cast<size_t>(i)])).release().ptr());
    return out;
  }
  Dims dims = tensor.type().dims;
  nb::object out = own(PyTuple_New(static_cast<Py_ssize_t>(dims.size())));
  for (size_t i = 0; i < dims.size(); ++i)
    PyTuple_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(i), dim_object(dims[i]).release().ptr());
  return out;
}

void init_dim(nb::module_& m) {
  nb::class_<PyDim>(m, "Dim", "A symbolic size: `Dim(\"b\", min=1, max=256)` declares one.")
      .def(
          "__init__",
          [](PyDim* self, const std::string& name, int64_t low, std::optional<int64_t> high) {
            if (low < 0 || (high && *high < low))
              throw make_error(ErrorKind::Value, "Dim: the range {} to {} of `{}` holds no size", low,
                               high ? std::to_string(*high) : "", name)
                  .why("sizes are 0 or more, and `max` is at least `min`")
                  .hint("give a range that holds a size, as in ig.Dim('n', min=1, max=1024)");
            new (self) PyDim{Dim::symbol(name), {low, high.value_or(Range{}.high)}, true};
          },
          nb::arg("name"), nb::arg("min") = 0, nb::arg("max") = nb::none())
      .def_prop_ro("name", [](const PyDim& self) { return self.dim.str(); })
      .def_prop_ro("min", [](const PyDim& self) { return self.range.low; })
      .def_prop_ro("max",
                   [](const PyDim& self) -> std::optional<int64_t> {
                     if (self.range.high == Range{}.high) return std::nullopt;
                     return self.range.high;
                   })
      .def_prop_ro("declared", [](const PyDim& self) { return self.declared; })
      .def("__repr__", [](const PyDim& self) { return "Dim(" + self.dim.str() + ")"; })
      .def("__str__", [](const PyDim& self) { return self.dim.str(); })
      .def("__hash__", [](const PyDim& self) { return self.dim.hash(); })
      .def("__int__", [](const PyDim& self) { return number(self, "the integer value"); })
      .def("__index__", [](const PyDim& self) { return number(self, "the integer value"); })
      .def("__float__",
           [](const PyDim& self) { return static_cast<double>(number(self, "the float value")); })
      .def("__bool__", [](const PyDim& self) { return !settle("==", self.dim, Dim(int64_t{0})); })
      .def("__add__", &forward<add>)
      .def("__radd__", &backward<add>)
      .def("__sub__", &forward<subtract>)
      .def("__rsub__", &backward<subtract>)
      .def("__mul__", &forward<multiply>)
      .def("__rmul__", &backward<multiply>)
      .def("__floordiv__", &forward<divide>)
      .def("__rfloordiv__", &backward<divide>)
      .def("__mod__", &forward<modulo>)
      .def("__rmod__", &backward<modulo>)
      .def("__neg__", [](const PyDim& self) { return dim_object(Dim(int64_t{0}) - self.dim); })
      .def("__eq__",
           [](const PyDim& self, nb::handle other) -> nb::object {
             std::optional<Dim> b = as_dim(other.ptr());
             return b ? nb::bool_(settle("==", self.dim, *b)) : nb::borrow(Py_NotImplemented);
           })
      .def("__ne__",
           [](const PyDim& self, nb::handle other) -> nb::object {
             std::optional<Dim> b = as_dim(other.ptr());
             return b ? nb::bool_(!settle("==", self.dim, *b)) : nb::borrow(Py_NotImplemented);
           })
      .def("__le__", [](const PyDim& self, nb::handle b) { return settle("<=", self.dim, need(b)); })
      .def("__ge__", [](const PyDim& self, nb::handle b) { return settle("<=", need(b), self.dim); })
      .def("__lt__",
           [](const PyDim& self, nb::handle b) { return settle("<=", self.dim + Dim(int64_t{1}), need(b)); })
      .def("__gt__",
           [](const PyDim& self, nb::handle b) { return settle("<=", need(b) + Dim(int64_t{1}), self.dim); });
  m.def("_dim_min", [](nb::handle a, nb::handle b) { return dim_object(min(need(a), need(b))); });
  m.def("_dim_max", [](nb::handle a, nb::handle b) { return dim_object(max(need(a), need(b))); });
  m.def("_dim_parse", [](const std::string& text) { return dim_object(Dim::parse(text)); });
}

}  // namespace ig::py
