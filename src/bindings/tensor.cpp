// The Python type `intaglio.Tensor`: raw C API, because an eager operation on a small array costs less than
// what a binding layer takes. Handles are values in a box: the box can be bound to a new value (x += y),
// arrays never change.
#include <array>

#include "bindings/autograd.h"
#include "bindings/common.h"
#include "bindings/effects.h"
#include "frontends/tape/tape.h"
#include "ops/attrs.h"
#include "tensor/eager.h"
#include "tensor/mode.h"
#include "tensor/scalar_forms.h"

#include <structmember.h>  // wants Python.h before it

namespace ig::py {

PyTypeObject* tensor_type = nullptr;

namespace {

// --- life
// ----------------------------------------------------------------------------------------------------------------

constexpr int kFreeMax = 256;
PyTensor* free_list[kFreeMax];
int free_count = 0;

PyTensor* allocate() {
  PyTensor* self;
  if (free_count > 0) {
    self = free_list[--free_count];
    PyObject_Init(reinterpret_cast<PyObject*>(self), tensor_type);
  } else {
    self = PyObject_New(PyTensor, tensor_type);
    if (!self) throw PythonError{};
  }
  self->weak = nullptr;
  return self;
}

void tensor_dealloc(PyObject* object) {
  auto* self = reinterpret_cast<PyTensor*>(object);
  if (self->weak) PyObject_ClearWeakRefs(object);
  self->tensor.~Tensor();
  PyTypeObject* type = Py_TYPE(object);
  if (type == tensor_type && free_count < kFreeMax)
    free_list[free_count++] = self;
  else
    type->tp_free(object);
  Py_DECREF(type);
}

PyObject* tensor_new(PyTypeObject*, PyObject*, PyObject*) {
  set_error(Error(ErrorKind::Type, "a Tensor is not made by its class")
                .why("arrays are made from data by functions, which choose their dtype")
                .hint("use ig.asarray(data), ig.zeros(shape) or another creation function"));
  return nullptr;
}

// --- operators
// -------------------------------------------------------------------------------------------------------------

bool concrete_pair(PyObject* a, PyObject* b) {
  return Py_TYPE(a) == tensor_type && Py_TYPE(b) == tensor_type && !tensor_of(a).is_symbolic() &&
         !tensor_of(b).is_symbolic() && tensor_of(a).dtype() == tensor_of(b).dtype();
}

// Operators by public name, so what an operator does is what the function of that name does.
enum class Binary : uint8_t {
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Remainder,
  Power,
  Matmul,
  And,
  Or,
  Xor,
  LeftShift,
  RightShift,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
};
constexpr const char* kBinaryNames[] = {
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "remainder",
    "pow",
    "matmul",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
};
constexpr size_t kBinaryCount = std::size(kBinaryNames);

// The direct way, where the public function is an element-wise op of the table.
eager::ElementwiseSite* site(Binary which) {
  static std::array<eager::ElementwiseSite*, kBinaryCount> sites{};
  static std::array<bool, kBinaryCount> known{};
  auto i = static_cast<size_t>(which);
  if (!known[i]) {
    known[i] = true;
    const ops::Op* op = op_of_function(PyDict_GetItemString(functions(), kBinaryNames[i]));
    if (op && eager::ElementwiseSite::suits(*op)) sites[i] = new eager::ElementwiseSite(*op);
  }
  return sites[i];
}

// An array and a Python number that takes the array's dtype; of powers those that have a form of their own.
std::optional<Tensor> with_number(Binary which, PyObject* a, PyObject* b) {
  auto plain = [](PyObject* object) { return PyFloat_CheckExact(object) || PyLong_CheckExact(object); };
  const bool first = plain(a);
  PyObject *array = first ? b : a, *number = first ? a : b;
  if (!plain(number) || Py_TYPE(array) != tensor_type || tensor_of(array).is_symbolic() ||
      Capture::current() || OpMode::any())
    return std::nullopt;
  const Tensor& x = tensor_of(array);
  const bool keeps = is_float(x.dtype()) || (is_integer(x.dtype()) && PyLong_CheckExact(number));
  const bool partial = which == Binary::FloorDivide || which == Binary::Remainder;
  eager::ElementwiseSite* direct = keeps && !partial ? site(which) : nullptr;
  if (!direct || !ops::contains(direct->op().decl.dtypes, x.dtype())) return std::nullopt;
  const bool has_forms = direct->op().decl.ulp > 0;
  if (has_forms && (first || which != Binary::Power || !is_float(x.dtype()))) return std::nullopt;
  const Tensor value = front::scalar_tensor(*as_scalar(number), x.dtype());
  if (has_forms) return eager::run_scalar_form(direct->op(), x, value);
  return first ? direct->with_number_first(value, x) : direct->with_number(x, value);
}

bool is_operand(PyObject* object) {
  return is_tensor(object) || as_scalar(object) || is_array_like(object) || as_dim(object);
}

PyObject* binary(Binary which, PyObject* a, PyObject* b) {
  return guard([&]() -> PyObject* {
    if (concrete_pair(a, b) && tensor_of(a).shape() == tensor_of(b).shape() && !Capture::current() &&
        !OpMode::any())
      if (eager::ElementwiseSite* direct = site(which)) {
        bool partial = which == Binary::FloorDivide || which == Binary::Remainder || which == Binary::Power;
        if (partial && is_integer(tensor_of(b).dtype()) && is_integer(tensor_of(a).dtype()))
          check_whole(direct->op(), tensor_of(b), kBinaryNames[static_cast<size_t>(which)]);
        return wrap((*direct)(tensor_of(a), tensor_of(b)));
      }
    if (std::optional<Tensor> out = with_number(which, a, b)) return wrap(*std::move(out));
    if (is_number(a) || is_number(b))
      if (std::optional<nb::object> out = number_operator(kBinaryNames[static_cast<size_t>(which)], a, b))
        return out->release().ptr();
    if (!is_operand(a) || !is_operand(b)) return Py_NewRef(Py_NotImplemented);
    return call_function(kBinaryNames[static_cast<size_t>(which)], {a, b}).release().ptr();
  });
}

template <Binary which>
PyObject* binary_slot(PyObject* a, PyObject* b) {
  return binary(which, a, b);
}

PyObject* divmod_slot(PyObject* a, PyObject* b) {
  nb::object quotient = nb::steal(binary(Binary::FloorDivide, a, b));
  if (!quotient.is_valid() || quotient.ptr() == Py_NotImplemented) return quotient.release().ptr();
  nb::object rest = nb::steal(binary(Binary::Remainder, a, b));
  return rest.is_valid() ? PyTuple_Pack(2, quotient.ptr(), rest.ptr()) : nullptr;
}

// Whether any element equals the value, as in NumPy.
int tensor_contains(PyObject* self, PyObject* value) {
  nb::object same = nb::steal(PyObject_RichCompare(self, value, Py_EQ));
  if (same.is_valid() && is_tensor(same.ptr()))
    same = nb::steal(PyObject_CallMethod(same.ptr(), "any", nullptr));
  return same.is_valid() ? PyObject_IsTrue(same.ptr()) : -1;
}

template <Binary which>
PyObject* inplace_slot(PyObject* a, PyObject* b) {
  PyObject* result = binary(which, a, b);
  if (!result || result == Py_NotImplemented || is_number(a)) return result;  // numbers are immutable
  return guard([&]() -> PyObject* {
    nb::object value = nb::steal(result);
    const Tensor& now = tensor_of(value.ptr());
    if (now.dtype() != tensor_of(a).dtype())
      throw make_error(ErrorKind::Type, "an in-place operation would make a {} array {}",
                       info(tensor_of(a).dtype()).api_name, info(now.dtype()).api_name)
          .why("x += y binds the same handle, whose dtype stays")
          .hint("write x = x + y where the dtype is to change");
    if (now.type().dims != tensor_of(a).type().dims)
      throw make_error(ErrorKind::Shape, "an in-place operation would change the shape {} to {}",
                       str(tensor_of(a).type().dims), str(now.type().dims))
          .why("x += y binds the same handle, whose shape stays")
          .hint("write x = x + y where the shape is to change");
    rebind(a, now);
    return Py_NewRef(a);
  });
}

PyObject* power_slot(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary(Binary::Power, a, b);
}
PyObject* inplace_power_slot(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return inplace_slot<Binary::Power>(a, b);
}

PyObject* compare(PyObject* a, PyObject* b, int op) {
  switch (op) {
    case Py_EQ: return binary(Binary::Equal, a, b);
    case Py_NE: return binary(Binary::NotEqual, a, b);
    case Py_LT: return binary(Binary::Less, a, b);
    case Py_LE: return binary(Binary::LessEqual, a, b);
    case Py_GT: return binary(Binary::Greater, a, b);
    default: return binary(Binary::GreaterEqual, a, b);
  }
}

enum class Unary : uint8_t { Negative, Positive, Abs, Invert };
constexpr const char* kUnaryNames[] = {"negative", "positive", "abs", "bitwise_invert"};

template <Unary which>
PyObject* unary_slot(PyObject* x) {
  constexpr const char* kName = kUnaryNames[static_cast<size_t>(which)];
  static PyObject* function = nullptr;  // the public one of that name, once it has been asked for
  return guard([&]() -> PyObject* {
    if (is_number(x)) return number_unary(kName, x).release().ptr();
    if (!function) function = PyDict_GetItemString(functions(), kName);
    return function ? PyObject_CallOneArg(function, x) : call_function(kName, {x}).release().ptr();
  });
}

// --- coercions: asked of the capture where the array is symbolic
// --------------------------------------------------------------

const Tensor& single(const Tensor& x, std::string_view wanted) {
  Type type = x.type();
  if (type.elements() == Dim(int64_t{1})) return x;
  throw make_error(ErrorKind::Type, "{} of an array of shape {} is not defined", wanted, str(type.dims))
      .why("only an array of one element is a number")
      .hint(wanted == "the truth" ? "say which is meant: ig.any(x) or ig.all(x)"
                                  : "take one element first, as in x[0]");
}

int tensor_bool(PyObject* self) {
  return guard(
      [&]() -> int {
        Tensor x = single(asked(self), "the truth");
        if (x.is_symbolic()) return capture_of(x).to_bool(x);
        Literal value = x.literal();
        if (is_complex(x.dtype())) {
          nb::object number = item_at(x, 0);
          return PyObject_IsTrue(number.ptr());
        }
        return is_float(x.dtype()) ? value.as_double(0) != 0 : value.as_int(0) != 0;
      },
      -1);
}

PyObject* tensor_int(PyObject* self) {
  return guard([&]() -> PyObject* {
    Tensor x = single(asked(self), "the integer value");
    if (x.is_symbolic()) return PyLong_FromLongLong(capture_of(x).to_int(x));
    nb::object number = item_at(x, 0);
    if (PyComplex_Check(number.ptr()))
      throw Error(ErrorKind::Type, "a complex array has no integer value")
          .why("it would lose the imaginary part")
          .hint("take ig.real(x) first");
    return PyNumber_Long(number.ptr());
  });
}

PyObject* tensor_index(PyObject* self) {
  return guard([&]() -> PyObject* {
    Tensor x = asked(self);
    if (!is_integer(x.dtype()) || x.rank() != 0)
      throw make_error(ErrorKind::Type, "an array of {} with shape {} is no index", info(x.dtype()).api_name,
                       str(x.type().dims))
          .why("an index is one whole number")
          .hint("take one element of an integer array, or convert with ig.astype");
    if (x.is_symbolic()) return PyLong_FromLongLong(capture_of(x).to_int(x));
    return item_at(x, 0).release().ptr();
  });
}

PyObject* tensor_float(PyObject* self) {
  return guard([&]() -> PyObject* {
    Tensor x = single(asked(self), "the float value");
    if (x.is_symbolic()) return PyFloat_FromDouble(capture_of(x).to_float(x));
    nb::object number = item_at(x, 0);
    if (PyComplex_Check(number.ptr()))
      throw Error(ErrorKind::Type, "a complex array has no float value")
          .why("it would lose the imaginary part")
          .hint("take ig.real(x) first");
    return PyNumber_Float(number.ptr());
  });
}

PyObject* tensor_complex(PyObject* self, PyObject*) {
  return guard([&]() -> PyObject* {
    nb::object number = item_at(concrete(single(asked(self), "the complex value"), "the complex value"), 0);
    return PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyComplex_Type), number.ptr());
  });
}

Py_ssize_t tensor_len(PyObject* self) {
  return guard(
      [&]() -> Py_ssize_t {
        note_handle(self);
        Type type = tensor_of(self).type();
        if (type.dims.empty())
          throw Error(ErrorKind::Type, "an array of rank 0 has no length")
              .why("the length is the size of the first axis")
              .hint("x.size counts its elements: 1; x.item() gives the number");
        if (type.dims[0].is_constant()) return type.dims[0].constant();
        return capture_of(tensor_of(self)).to_size(type.dims[0], "the length");
      },
      -1);
}

Py_hash_t tensor_hash(PyObject* self) {
  if (is_number(self)) {
    nb::object value = guard([&] { return number_value(self); });
    return value.is_valid() ? PyObject_Hash(value.ptr()) : -1;
  }
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(self) >> 4);
}

PyObject* tensor_repr(PyObject* self) {
  return guard([&]() -> PyObject* {
    if (is_number(self)) {
      nb::object value = number_value(self);
      return PyObject_Repr(value.ptr());
    }
    return PyUnicode_FromString(repr(tensor_of(self)).c_str());
  });
}

PyObject* tensor_getitem(PyObject* self, PyObject* key) {
  return guard([&] { return get_item(self, key).release().ptr(); });
}

int tensor_setitem(PyObject* self, PyObject* key, PyObject* value) {
  return guard(
      [&]() -> int {
        if (!value)
          throw Error(ErrorKind::Type, "elements of an array cannot be deleted")
              .why("an array has a fixed shape")
              .hint("select what stays, as in x[mask]");
        set_item(self, key, value);
        return 0;
      },
      -1);
}

PyObject* tensor_item_slot(PyObject* self, Py_ssize_t i) {
  nb::object key = nb::steal(PyLong_FromSsize_t(i));
  return key.is_valid() ? tensor_getitem(self, key.ptr()) : nullptr;
}

PyObject* tensor_iter(PyObject* self) {
  Py_ssize_t n = tensor_len(self);
  return n < 0 ? nullptr : PySeqIter_New(self);
}

// --- attributes
// ----------------------------------------------------------------------------------------------------------------

PyObject* get_shape(PyObject* self, void*) {
  note_handle(self);
  return guard([&] { return shape_object(tensor_of(self)).release().ptr(); });
}
PyObject* get_dtype(PyObject* self, void*) {
  note_handle(self);
  return Py_NewRef(dtype_object(tensor_of(self).dtype()));
}
PyObject* get_ndim(PyObject* self, void*) {
  note_handle(self);
  return PyLong_FromLong(tensor_of(self).rank());
}
PyObject* get_size(PyObject* self, void*) {
  note_handle(self);
  return guard([&] { return dim_object(tensor_of(self).type().elements()).release().ptr(); });
}
PyObject* get_nbytes(PyObject* self, void*) {
  return guard([&] {
    const Tensor& x = tensor_of(self);
    return dim_object(x.type().elements() * Dim(static_cast<int64_t>(size_of(x.dtype())))).release().ptr();
  });
}
PyObject* get_device(PyObject*, void*) { return PyUnicode_InternFromString("cpu"); }
PyObject* get_symbolic(PyObject* self, void*) { return PyBool_FromLong(tensor_of(self).is_symbolic()); }
// The last two axes exchanged.
PyObject* exchanged(const Tensor& x) {
  Ints permutation;
  for (int i = 0; i < x.rank(); ++i) permutation.push_back(i);
  std::swap(permutation[static_cast<size_t>(x.rank()) - 1], permutation[static_cast<size_t>(x.rank()) - 2]);
  Tensor operands[] = {x};
  return wrap_all(apply(ops::get("transpose"), operands, make_attrs({ops::kPermutation % permutation})));
}
PyObject* get_mt(PyObject* self, void*) {
  return guard([&] {
    note_handle(self);
    const Tensor& x = tensor_of(self);
    if (x.rank() < 2)
      throw make_error(ErrorKind::Shape, "x.mT of an array of rank {}, which holds no matrices", x.rank())
          .why("it swaps the last two axes")
          .hint("reshape it, or use ig.permute_dims");
    return exchanged(x);
  });
}

// The real part of a real array is the array itself.
PyObject* part_of_handle(PyObject* self, const char* op, bool itself) {
  return guard([&]() -> PyObject* {
    note_handle(self);
    const Tensor& x = tensor_of(self);
    if (itself && !is_complex(x.dtype())) return Py_NewRef(self);
    Tensor operands[] = {x};
    return wrap_all(apply(ops::get(op), operands, {}));
  });
}
PyObject* get_real(PyObject* self, void*) { return part_of_handle(self, "real", true); }
PyObject* get_imag(PyObject* self, void*) { return part_of_handle(self, "imag", false); }

PyObject* get_t(PyObject* self, void*) {
  return guard([&]() -> PyObject* {
    note_handle(self);
    const Tensor& x = tensor_of(self);
    if (x.rank() > 2)
      throw make_error(ErrorKind::Shape, "x.T is for arrays of rank 2, not {}", x.rank())
          .why("the array API leaves it undefined for others")
          .hint("use x.mT for stacks of matrices, or ig.permute_dims(x, axes)");
    return x.rank() < 2 ? Py_NewRef(self) : exchanged(x);
  });
}

PyObject* tensor_item(PyObject* self, PyObject*) {
  return guard([&]() -> PyObject* {
    Tensor x = single(asked(self), "the value");
    if (!x.is_symbolic()) return item_at(x, 0).release().ptr();
    Capture& capture = capture_of(x);
    if (x.dtype() == DType::Bool) return PyBool_FromLong(capture.to_bool(x));
    if (is_integer(x.dtype())) return PyLong_FromLongLong(capture.to_int(x));
    return PyFloat_FromDouble(capture.to_float(x));
  });
}

PyObject* tensor_tolist(PyObject* self, PyObject*) {
  return guard([&] { return to_list(concrete(asked(self), "the list of the values")).release().ptr(); });
}

PyObject* tensor_to_device(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"device", "stream", nullptr};
  PyObject *device, *stream = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$O", const_cast<char**>(names), &device, &stream))
    return nullptr;
  return guard([&]() -> PyObject* {
    const char* text = PyUnicode_Check(device) ? PyUnicode_AsUTF8(device) : nullptr;
    if (!text || std::string_view(text) != "cpu")
      throw Error(ErrorKind::Value, "the only device of this build is \"cpu\"")
          .why("no backend for another device was built in")
          .hint("leave `device` out");
    return Py_NewRef(self);
  });
}

// A format with a specification is a number's, so the array must be one.
PyObject* tensor_format(PyObject* self, PyObject* spec) {
  nb::object value;
  if (is_number(self) || (PyUnicode_Check(spec) && PyUnicode_GET_LENGTH(spec) > 0)) {
    value = nb::steal(tensor_item(self, nullptr));
    return value.is_valid() ? PyObject_Format(value.ptr(), spec) : nullptr;
  }
  return PyObject_Str(self);
}

PyObject* tensor_round(PyObject* self, PyObject* args) {
  PyObject* digits = Py_None;
  if (!PyArg_ParseTuple(args, "|O", &digits)) return nullptr;
  if (!is_number(self))
    return digits == Py_None ? PyObject_CallMethod(self, "round", nullptr)
                             : PyObject_CallMethod(self, "round", "O", digits);
  nb::object number = nb::steal(tensor_item(self, nullptr));
  return number.is_valid() ? PyObject_CallMethod(number.ptr(), "__round__", "O", digits) : nullptr;
}

// A symbolic Python number passes for one.
PyObject* get_class(PyObject* self, void*) {
  PyTypeObject* type = Py_TYPE(self);
  if (is_number(self)) {
    DType dtype = tensor_of(self).dtype();
    type = dtype == DType::Bool ? &PyBool_Type : is_integer(dtype) ? &PyLong_Type : &PyFloat_Type;
  }
  return Py_NewRef(reinterpret_cast<PyObject*>(type));
}

// `deepcopy` and `copy` give an own handle of the same value. While a function is recorded it is a value of
// the recording, so that later calls read the handle that was copied.
PyObject* tensor_copy(PyObject* self, PyObject*) {
  return guard([&] {
    Tensor x = asked(self);
    const Tensor held = tensor_of(self);
    if (!held.link()) return wrap(std::move(x));
    if (!tape::is_leaf(held)) {
      x.set_link(held.link());
      return wrap(std::move(x));
    }
    if (x.is_symbolic()) x = capture_of(x).record(ops::get("stop_gradient"), std::span(&x, 1), {})[0];
    return wrap(tape::mode().inference ? x.unlinked() : tape::as_leaf(x));  // with a gradient of its own
  });
}

// Binds the handle to the value of another array, of the same dtype and shape, which nothing computes.
void bind(nb::handle handle, nb::handle value) {
  PyObject *self = handle.ptr(), *other = value.ptr();
  for (PyObject* object : {self, other})
    if (!is_tensor(object) || is_number(object))
      throw make_error(ErrorKind::Type, "a handle is bound to an array, not to '{}'",
                       Py_TYPE(object)->tp_name)
          .why("it keeps its dtype and shape, so that all who hold it can go on")
          .hint("convert the value with ig.asarray");
  Tensor now = tensor_of(other);
  const Tensor& old = tensor_of(self);
  if (now.dtype() != old.dtype() || now.type().dims != old.type().dims)
    throw make_error(now.dtype() != old.dtype() ? ErrorKind::Type : ErrorKind::Shape,
                     "a handle of {} cannot be bound to a value of {}", old.type().str(), now.type().str())
        .why("it keeps its dtype and shape, so that all who hold it can go on")
        .hint("convert or reshape the value");
  if (self != other) bind_raw(self, std::move(now));
}

PyMethodDef methods[] = {
    {"__round__", tensor_round, METH_VARARGS, "The nearest numbers of so many decimal digits."},
    {"item", tensor_item, METH_NOARGS, "The one element, as a Python number."},
    {"__format__", tensor_format, METH_O, nullptr},
    {"tolist", tensor_tolist, METH_NOARGS, "The elements as nested lists of Python numbers."},
    {"__complex__", tensor_complex, METH_NOARGS, nullptr},
    {"__copy__", tensor_copy, METH_NOARGS, nullptr},
    {"__deepcopy__", tensor_copy, METH_O, nullptr},
    {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(tensor_dlpack)),
     METH_VARARGS | METH_KEYWORDS, "The array as a DLPack capsule, without a copy."},
    {"__dlpack_device__", tensor_dlpack_device, METH_NOARGS, nullptr},
    {"to_device", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(tensor_to_device)),
     METH_VARARGS | METH_KEYWORDS, "The array on a device; this build has the CPU alone."},
    {},
};
PyGetSetDef getset[] = {
    {"__class__", get_class, nullptr, nullptr, nullptr},
    {"shape", get_shape, nullptr, "The sizes: ints, and Dim objects where they are symbolic.", nullptr},
    {"dtype", get_dtype, nullptr, "The element type.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of axes.", nullptr},
    {"size", get_size, nullptr, "The number of elements.", nullptr},
    {"nbytes", get_nbytes, nullptr, "The number of bytes of all elements.", nullptr},
    {"device", get_device, nullptr, "The device that holds the array.", nullptr},
    {"is_symbolic", get_symbolic, nullptr, "Whether the array is a value of a graph being captured.",
     nullptr},
    {"T", get_t, nullptr, "The transposed matrix.", nullptr},
    {"real", get_real, nullptr, "The real parts; of a real array, the array itself.", nullptr},
    {"imag", get_imag, nullptr, "The imaginary parts; of a real array, zeros.", nullptr},
    {"mT", get_mt, nullptr, "The array with its last two axes exchanged.", nullptr},
    {},
};
PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weak), READONLY, nullptr},
    {},
};

template <typename F>
PyType_Slot slot(int id, F* function) {
  return {id, reinterpret_cast<void*>(function)};
}

}  // namespace

PyObject* wrap(Tensor tensor) {
  PyTensor* self = allocate();
  new (&self->tensor) Tensor(std::move(tensor));
  return reinterpret_cast<PyObject*>(self);
}

PyObject* wrap_all(std::vector<Tensor> tensors) {
  if (tensors.size() == 1) return wrap(std::move(tensors[0]));
  nb::object out = own(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t i = 0; i < tensors.size(); ++i)
    PyTuple_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(i), wrap(std::move(tensors[i])));
  return out.release().ptr();
}

Capture& capture_of(const Tensor& tensor) {
  Capture* capture = Capture::current();
  if (!capture || !capture->reaches(tensor)) Capture::leaked(tensor, capture);
  return *capture;
}

Tensor concrete(const Tensor& tensor, std::string_view why) {
  return tensor.is_symbolic() ? capture_of(tensor).to_concrete(tensor, why) : tensor;
}

void init_tensor(nb::module_& m) {
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("An array: concrete, or a value of a graph that is being captured.")},
      slot(Py_tp_dealloc, tensor_dealloc),
      slot(Py_tp_new, tensor_new),
      slot(Py_tp_repr, tensor_repr),
      slot(Py_tp_hash, tensor_hash),
      slot(Py_tp_richcompare, compare),
      slot(Py_tp_iter, tensor_iter),
      {Py_tp_methods, methods},
      {Py_tp_getset, getset},
      {Py_tp_members, members},
      slot(Py_nb_add, binary_slot<Binary::Add>),
      slot(Py_nb_subtract, binary_slot<Binary::Subtract>),
      slot(Py_nb_multiply, binary_slot<Binary::Multiply>),
      slot(Py_nb_true_divide, binary_slot<Binary::Divide>),
      slot(Py_nb_floor_divide, binary_slot<Binary::FloorDivide>),
      slot(Py_nb_remainder, binary_slot<Binary::Remainder>),
      slot(Py_nb_divmod, divmod_slot),
      slot(Py_sq_contains, tensor_contains),
      slot(Py_nb_matrix_multiply, binary_slot<Binary::Matmul>),
      slot(Py_nb_and, binary_slot<Binary::And>),
      slot(Py_nb_or, binary_slot<Binary::Or>),
      slot(Py_nb_xor, binary_slot<Binary::Xor>),
      slot(Py_nb_lshift, binary_slot<Binary::LeftShift>),
      slot(Py_nb_rshift, binary_slot<Binary::RightShift>),
      slot(Py_nb_power, power_slot),
      slot(Py_nb_inplace_add, inplace_slot<Binary::Add>),
      slot(Py_nb_inplace_subtract, inplace_slot<Binary::Subtract>),
      slot(Py_nb_inplace_multiply, inplace_slot<Binary::Multiply>),
      slot(Py_nb_inplace_true_divide, inplace_slot<Binary::Divide>),
      slot(Py_nb_inplace_floor_divide, inplace_slot<Binary::FloorDivide>),
      slot(Py_nb_inplace_remainder, inplace_slot<Binary::Remainder>),
      slot(Py_nb_inplace_matrix_multiply, inplace_slot<Binary::Matmul>),
      slot(Py_nb_inplace_and, inplace_slot<Binary::And>),
      slot(Py_nb_inplace_or, inplace_slot<Binary::Or>),
      slot(Py_nb_inplace_xor, inplace_slot<Binary::Xor>),
      slot(Py_nb_inplace_lshift, inplace_slot<Binary::LeftShift>),
      slot(Py_nb_inplace_rshift, inplace_slot<Binary::RightShift>),
      slot(Py_nb_inplace_power, inplace_power_slot),
      slot(Py_nb_negative, unary_slot<Unary::Negative>),
      slot(Py_nb_positive, unary_slot<Unary::Positive>),
      slot(Py_nb_absolute, unary_slot<Unary::Abs>),
      slot(Py_nb_invert, unary_slot<Unary::Invert>),
      slot(Py_nb_bool, tensor_bool),
      slot(Py_nb_int, tensor_int),
      slot(Py_nb_float, tensor_float),
      slot(Py_nb_index, tensor_index),
      slot(Py_mp_length, tensor_len),
      slot(Py_sq_length, tensor_len),
      slot(Py_sq_item, tensor_item_slot),
      slot(Py_mp_subscript, tensor_getitem),
      slot(Py_mp_ass_subscript, tensor_setitem),
      slot(Py_bf_getbuffer, tensor_getbuffer),
      slot(Py_bf_releasebuffer, tensor_releasebuffer),
      {0, nullptr},
  };
  static PyType_Spec spec = {"intaglio.Tensor", sizeof(PyTensor), 0, Py_TPFLAGS_DEFAULT, slots};
  tensor_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!tensor_type) nb::raise_python_error();
  m.attr("Tensor") = nb::borrow(reinterpret_cast<PyObject*>(tensor_type));
  m.def("_bind", &bind, nb::arg("handle"), nb::arg("value"),
        "Binds a handle to the value of another array, of the same dtype and shape.");
  m.def(
      "_same_value",
      [](nb::handle a, nb::handle b) {
        const Tensor &x = tensor_of(a.ptr()), &y = tensor_of(b.ptr());
        return x.is_symbolic() && y.is_symbolic()
                   ? x.value() == y.value()
                   : x.is_symbolic() == y.is_symbolic() && x.data() == y.data();
      },
      "Whether two handles hold one array: the same memory, or the same value of a capture.");
  m.def(
      "_held", [](nb::handle x) { return nb::steal(wrap(tensor_of(x.ptr()))); }, nb::arg("x"),
      "What a handle holds at the moment, as it is and unnoted: to be bound to it again.");
  m.def(
      "_handle", [](nb::handle x) { return nb::steal(wrap(asked(x.ptr()))); }, nb::arg("x"),
      "A handle of its own to the value of an array.");
}

}  // namespace ig::py
