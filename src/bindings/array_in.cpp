// From other libraries' arrays, and from Python's numbers and lists, to ours. NumPy arrays and lists are
// copied in; `from_dlpack` adopts the memory.
#include <algorithm>
#include <cstring>

#include "bindings/common.h"
#include "bindings/dlpack.h"
#include "frontends/tape/tape.h"
#include "tensor/strided.h"

namespace ig::py {
namespace {

bool has(PyObject* object, const char* name) {
  // Looked up on the type: instances of classes that answer every name are no arrays.
  return PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), name) != 0;
}

Tensor made(Tensor tensor) {
  if (Capture* capture = Capture::current()) capture->note_made_here(tensor);
  return tensor;
}

// --- buffers
// ---------------------------------------------------------------------------------------------------------------

class Buffer {
 public:
  explicit Buffer(PyObject* object) : ok(PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) == 0) {}
  ~Buffer() {
    if (ok) PyBuffer_Release(&view);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Py_buffer view{};
  bool ok;  // else Python's error says why not
};

std::optional<DType> dtype_of_format(const char* format, Py_ssize_t size) {
  std::string_view text = format ? format : "B";
  if (!text.empty() && (text[0] == '@' || text[0] == '=' || text[0] == '<')) text.remove_prefix(1);
  if (text == "?") return DType::Bool;
  if (text == "e") return DType::F16;
  if (text == "f") return DType::F32;
  if (text == "d") return DType::F64;
  if (text == "Zf") return DType::C64;
  if (text == "Zd") return DType::C128;
  if (text.size() != 1) return std::nullopt;
  bool is_signed = std::string_view("bhilqn").find(text[0]) != std::string_view::npos;
  bool is_unsigned = std::string_view("BHILQN").find(text[0]) != std::string_view::npos;
  if (!is_signed && !is_unsigned) return std::nullopt;
  switch (size) {
    case 1: return is_signed ? DType::I8 : DType::U8;
    case 2: return is_signed ? DType::I16 : DType::U16;
    case 4: return is_signed ? DType::I32 : DType::U32;
    case 8: return is_signed ? DType::I64 : DType::U64;
    default: return std::nullopt;
  }
}

Tensor from_view(const Py_buffer& view, std::optional<DType> as) {
  std::optional<DType> dtype = as ? as : dtype_of_format(view.format, view.itemsize);
  if (!dtype || static_cast<size_t>(view.itemsize) != size_of(*dtype))
    throw make_error(ErrorKind::Type, "an array with elements of the format '{}' cannot be taken in",
                     view.format ? view.format : "")
        .why(
            "the dtypes are bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32, float64, "
            "complex64 and "
            "complex128, in the machine's byte order")
        .hint("convert it first, as in a.astype('float32')");
  std::vector<int64_t> shape(view.shape, view.shape + view.ndim);
  Tensor out = Tensor::empty(*dtype, Shape(shape));
  if (out.elements() == 0) return out;
  if (PyBuffer_IsContiguous(&view, 'C')) {
    std::memcpy(out.data(), view.buf, out.bytes());
    return out;
  }
  // Strides in bytes need not be whole elements (fields of records), so bytes are walked.
  char* to = static_cast<char*>(out.data());
  std::vector<int64_t> index(shape.size(), 0);
  const char* at = static_cast<const char*>(view.buf);
  auto width = static_cast<size_t>(view.itemsize);
  for (int64_t flat = 0, n = out.elements(); flat < n; ++flat, to += width) {
    std::memcpy(to, at, width);
    for (int i = view.ndim - 1; i >= 0; --i) {
      at += view.strides[i];
      if (++index[i] < shape[i]) break;
      at -= view.strides[i] * shape[i];
      index[i] = 0;
    }
  }
  return out;
}

Tensor from_buffer(PyObject* object, std::optional<DType> as) {
  Buffer buffer(object);
  check(buffer.ok ? 0 : -1);
  return from_view(buffer.view, as);
}

// --- DLPack
// ----------------------------------------------------------------------------------------------------------------

DType dtype_of_dlpack(const dlpack::DataType& type) {
  if (type.lanes == 1) {
    switch (type.code) {
      case 0:
        if (type.bits == 8) return DType::I8;
        if (type.bits == 16) return DType::I16;
        if (type.bits == 32) return DType::I32;
        if (type.bits == 64) return DType::I64;
        break;
      case 1:
        if (type.bits == 8) return DType::U8;
        if (type.bits == 16) return DType::U16;
        if (type.bits == 32) return DType::U32;
        if (type.bits == 64) return DType::U64;
        break;
      case 2:
        if (type.bits == 16) return DType::F16;
        if (type.bits == 32) return DType::F32;
        if (type.bits == 64) return DType::F64;
        break;
      case 4:
        if (type.bits == 16) return DType::BF16;
        break;
      case 5:
        if (type.bits == 64) return DType::C64;
        if (type.bits == 128) return DType::C128;
        break;
      case 6:
        if (type.bits == 8) return DType::Bool;
        break;
      default: break;
    }
  }
  throw make_error(ErrorKind::Type,
                   "from_dlpack: the element type (code {}, {} bits, {} lanes) is not known here", type.code,
                   type.bits, type.lanes)
      .why("the array API has no such type")
      .hint("convert the array in the other library first");
}

Tensor adopt(const dlpack::TensorView& view, std::function<void()> release, bool copy) {
  struct Once {  // the release must run also where the array is refused
    std::function<void()> run;
    ~Once() {
      if (run) run();
    }
  } once{std::move(release)};
  if (view.device.type != dlpack::kCpu)
    throw Error(ErrorKind::Unsupported, "from_dlpack: the array is not in the memory of the CPU")
        .why("it lies on another device, and nothing is copied here")
        .hint("copy it to the CPU first, as in t.cpu()");
  DType dtype = dtype_of_dlpack(view.dtype);
  std::vector<int64_t> dims(view.shape, view.shape + view.ndim);
  Shape shape(dims);
  char* data = static_cast<char*>(view.data) + view.byte_offset;
  StridedView whole = StridedView::whole(shape);
  bool contiguous = true;
  if (view.strides)
    for (int i = 0; i < view.ndim; ++i) contiguous &= dims[i] == 1 || view.strides[i] == whole.strides[i];
  if (shape.elements() == 0) return Tensor::empty(dtype, shape);
  if (contiguous && !copy) {
    size_t bytes = static_cast<size_t>(shape.elements()) * size_of(dtype);
    return Tensor(dtype, shape, Storage::adopt(data, bytes, std::exchange(once.run, nullptr), true));
  }
  StridedView strided = whole;
  if (view.strides) strided.strides.assign(view.strides, view.strides + view.ndim);
  return copy_strided(Tensor(dtype, shape, Storage::adopt(data, 0, [] {}, true)), strided);
}

Tensor from_capsule(PyObject* capsule, bool copy) {
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    auto* managed =
        static_cast<dlpack::ManagedVersioned*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    PyCapsule_SetName(capsule, "used_dltensor_versioned");
    return adopt(
        managed->tensor,
        [managed] {
          PyGILState_STATE state = PyGILState_Ensure();
          if (managed->deleter) managed->deleter(managed);
          PyGILState_Release(state);
        },
        copy);
  }
  if (PyCapsule_IsValid(capsule, "dltensor")) {
    auto* managed = static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule, "dltensor"));
    PyCapsule_SetName(capsule, "used_dltensor");
    return adopt(
        managed->tensor,
        [managed] {
          PyGILState_STATE state = PyGILState_Ensure();
          if (managed->deleter) managed->deleter(managed);
          PyGILState_Release(state);
        },
        copy);
  }
  throw Error(ErrorKind::Type, "from_dlpack: __dlpack__ gave no DLPack capsule, or one that was used before")
      .why("a capsule is taken over once; its second taker would free the same memory")
      .hint("call ig.from_dlpack on the array itself, each time anew");
}

Tensor from_dlpack(PyObject* object, bool copy) {
  if (PyCapsule_CheckExact(object)) return from_capsule(object, copy);
  nb::object method = nb::steal(PyObject_GetAttrString(object, "__dlpack__"));
  if (!method.is_valid()) {
    PyErr_Clear();
    throw make_error(ErrorKind::Type, "from_dlpack: {} has no __dlpack__", Py_TYPE(object)->tp_name)
        .why("DLPack is how libraries share memory")
        .hint("ig.asarray takes anything that is an array in some way");
  }
  nb::object empty = own(PyTuple_New(0));
  nb::object options = own(Py_BuildValue("{s:(ii)}", "max_version", 1, 0));
  nb::object capsule = nb::steal(PyObject_Call(method.ptr(), empty.ptr(), options.ptr()));
  if (!capsule.is_valid()) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError{};
    PyErr_Clear();  // a library from before DLPack 1.0
    capsule = own(PyObject_CallNoArgs(method.ptr()));
  }
  return from_capsule(capsule.ptr(), copy);
}

// --- lists
// -------------------------------------------------------------------------------------------------------------------

struct Nested {
  std::vector<int64_t> shape;
  std::vector<front::Scalar> scalars;
  std::vector<Tensor> tensors;  // in place of scalars, where the leaves are arrays
};

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::vector<int64_t> gather_nested(PyObject* object, Nested& out, int depth) {
  if (depth > 64)
    throw Error(ErrorKind::Value, "asarray: the lists are nested more than 64 deep")
        .why("each level is an axis, and arrays have at most 64")
        .hint("give flatter lists, or look whether one contains itself");
  if (PyList_Check(object) || PyTuple_Check(object)) {
    Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
    std::vector<int64_t> inner;
    for (Py_ssize_t i = 0; i < n; ++i) {
      std::vector<int64_t> own = gather_nested(PySequence_Fast_GET_ITEM(object, i), out, depth + 1);
      if (i == 0)
        inner = own;
      else if (own != inner)
        throw make_error(ErrorKind::Shape,
                         "asarray: the nested lists are ragged: {} beside {} at position {}", shape_text(own),
                         shape_text(inner), i)
            .why("all lists of one depth must have the same length, the size of that axis")
            .hint("fill the short ones up, for example with 0");
    }
    inner.insert(inner.begin(), n);
    return inner;
  }
  if (std::optional<front::Scalar> scalar = as_scalar(object)) {
    out.scalars.push_back(*scalar);
    return {};
  }
  Tensor leaf = as_tensor(object, std::nullopt, "asarray");
  out.tensors.push_back(leaf);
  std::optional<Ints> dims = constant_dims(leaf.type().dims);
  if (!dims)
    throw Error(ErrorKind::Capture, "asarray: a list of arrays of symbolic size")
        .why("its sizes are not known while the function is captured")
        .hint("use ig.stack");
  return *dims;
}

Tensor from_list(PyObject* object, std::optional<DType> dtype) {
  Nested nested;
  nested.shape = gather_nested(object, nested, 0);
  if (!nested.tensors.empty()) {
    for (const front::Scalar& scalar : nested.scalars)
      nested.tensors.push_back(front::scalar_tensor(scalar, front::default_dtype(scalar)));
    if (!nested.scalars.empty() && nested.tensors.size() > nested.scalars.size() + 0 &&
        nested.shape.size() > 1)
      throw Error(ErrorKind::Type, "asarray: a list mixes arrays and numbers")
          .why("its parts must be all arrays of one shape, or all numbers")
          .hint("use ig.stack on arrays alone");
    nb::object list = own(PySequence_List(object));
    nb::object stacked = call_function("stack_nested", {list.ptr()});
    Tensor out = tensor_of(stacked.ptr());
    return dtype ? front::convert(out, *dtype) : out;
  }
  if (!dtype) {
    std::vector<front::Operand> operands(nested.scalars.begin(), nested.scalars.end());
    dtype = operands.empty() ? DType::F32 : front::result_type(operands, "asarray");
  }
  Tensor out = Tensor::empty(*dtype, Shape(nested.shape));
  char* to = static_cast<char*>(out.data());
  size_t width = size_of(*dtype);
  for (const front::Scalar& scalar : nested.scalars) {
    if (*dtype == DType::F32 && scalar.kind == DKind::Float) {
      auto value = static_cast<float>(scalar.real);
      std::memcpy(to, &value, sizeof value);
    } else if (*dtype == DType::I64 && scalar.kind == DKind::Signed) {
      std::memcpy(to, &scalar.integer, sizeof scalar.integer);
    } else {
      Tensor element = front::scalar_tensor(scalar, *dtype);
      std::memcpy(to, element.data(), width);
    }
    to += width;
  }
  return out;
}

}  // namespace

std::optional<front::Scalar> as_scalar(PyObject* object) {
  if (PyBool_Check(object)) return front::Scalar{.kind = DKind::Bool, .integer = object == Py_True};
  if (PyLong_Check(object)) {
    int overflow = 0;
    int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (!overflow) return front::Scalar{.kind = DKind::Signed, .integer = value};
    uint64_t wide = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : 0;
    if (overflow < 0 || PyErr_Occurred()) {
      PyErr_Clear();
      throw Error(ErrorKind::Value, "a Python integer does not fit in 64 bits")
          .why("int64 and uint64 are the widest integer dtypes")
          .hint("make it a float where its last digits do not matter");
    }
    return front::Scalar{.kind = DKind::Unsigned, .integer = static_cast<int64_t>(wide)};
  }
  if (PyFloat_Check(object)) return front::Scalar{.kind = DKind::Float, .real = PyFloat_AS_DOUBLE(object)};
  if (PyComplex_Check(object)) {
    Py_complex value = PyComplex_AsCComplex(object);
    return front::Scalar{.kind = DKind::Complex, .real = value.real, .imaginary = value.imag};
  }
  return std::nullopt;
}

bool is_array_like(PyObject* object) {
  if (PyUnicode_Check(object) || PyBytes_Check(object) || PyType_Check(object)) return false;
  return PyObject_CheckBuffer(object) || has(object, "__dlpack__") || has(object, "__array__");
}

std::optional<front::Operand> as_operand(PyObject* object) {
  if (is_tensor(object)) {
    note_handle(object);
    return tensor_of(object);
  }
  if (std::optional<front::Scalar> scalar = as_scalar(object)) return *scalar;
  if (std::optional<Dim> dim = as_dim(object)) {
    if (dim->is_constant()) return front::Scalar{.kind = DKind::Signed, .integer = dim->constant()};
    Capture* capture = Capture::current();
    if (!capture)
      throw make_error(ErrorKind::Capture, "the symbolic size {} has no value here", dim->str())
          .why("it stands for any size until the graph runs")
          .hint("use the size inside of the captured function, in shapes and arithmetic");
    return capture->size_value(*dim);
  }
  if (is_array_like(object)) return as_tensor(object, std::nullopt, "an operation");
  return std::nullopt;
}

front::Operand require_operand(PyObject* object, std::string_view op, std::string_view name) {
  if (std::optional<front::Operand> operand = as_operand(object)) return *operand;
  throw make_error(ErrorKind::Type, "{}: {} must be an array or a number, not {}", op, name,
                   Py_TYPE(object)->tp_name)
      .why("the functions compute on arrays; other objects are not converted unasked")
      .hint(PyList_Check(object) || PyTuple_Check(object) ? "make an array of it first: ig.asarray([...])"
                                                          : "ig.asarray makes an array of most data");
}

Tensor as_tensor(PyObject* object, std::optional<DType> dtype, std::string_view who) {
  if (is_tensor(object)) {
    note_handle(object);
    return dtype ? front::convert(tensor_of(object), *dtype) : tensor_of(object);
  }
  // NumPy's float64 and complex128 are Python numbers too, but made an array of they keep their dtype.
  bool has_dtype = !PyFloat_CheckExact(object) && !PyComplex_CheckExact(object) &&
                   (PyFloat_Check(object) || PyComplex_Check(object)) && has(object, "dtype");
  if (std::optional<front::Scalar> scalar = as_scalar(object); scalar && !has_dtype)
    return front::scalar_tensor(*scalar, dtype.value_or(front::default_dtype(*scalar)));
  if (PyList_Check(object) || PyTuple_Check(object)) return made(from_list(object, dtype));
  Tensor out;
  if (is_array_like(object)) {
    // ml_dtypes' bfloat16 has no buffer format; its bits have.
    nb::object kind = nb::steal(PyObject_GetAttrString(object, "dtype"));
    if (!kind.is_valid()) PyErr_Clear();
    if (kind.is_valid() && dtype_of(kind.ptr()) == DType::BF16 &&
        PyObject_HasAttrString(object, "__array_interface__") != 0) {
      nb::object bits = own(PyObject_CallMethod(object, "view", "s", "uint16"));
      out = from_buffer(bits.ptr(), DType::BF16);
    } else if (PyObject_CheckBuffer(object)) {
      out = from_buffer(object, std::nullopt);
    } else if (has(object, "__dlpack__")) {
      out = from_dlpack(object, true);
    } else {
      nb::object array = own(PyObject_CallMethod(object, "__array__", nullptr));
      if (!PyObject_CheckBuffer(array.ptr()))
        throw make_error(ErrorKind::Type, "{}: __array__ of {} gave no array", who, Py_TYPE(object)->tp_name)
            .why("the protocol promises a NumPy array")
            .hint("convert the object with numpy.asarray first");
      out = from_buffer(array.ptr(), std::nullopt);
    }
    // What may be written later by its owner is an input of a trace; a scalar of NumPy's is a constant.
    bool written = PyObject_HasAttrString(object, "__setitem__") && out.elements() > 0;
    if (!written || !note_foreign(object, out)) made(out);
    return dtype ? front::convert(out, *dtype) : out;
  }
  throw make_error(ErrorKind::Type, "{}: {} is no array and no number", who, Py_TYPE(object)->tp_name)
      .why("an array holds numbers or bools of one dtype")
      .hint(
          "pass a number, nested lists, a NumPy array, or an object with a buffer, __dlpack__ or __array__");
}

std::optional<Tensor> lent(PyObject* object) {
  constexpr Py_ssize_t kWorthIt = 16384;  // bytes
  if (!PyObject_CheckBuffer(object)) return std::nullopt;
  Buffer buffer(object);
  if (!buffer.ok) {
    PyErr_Clear();
    return std::nullopt;
  }
  const Py_buffer& view = buffer.view;
  const std::optional<DType> dtype = dtype_of_format(view.format, view.itemsize);
  if (!dtype || static_cast<size_t>(view.itemsize) != size_of(*dtype) || !PyBuffer_IsContiguous(&view, 'C'))
    return std::nullopt;
  // Whole numbers may say where to read: what has been checked must still hold when it is used, whatever
  // another thread writes.
  const bool may_lend = (is_float(*dtype) || is_complex(*dtype)) &&
                        reinterpret_cast<uintptr_t>(view.buf) % static_cast<size_t>(view.itemsize) == 0;
  if (!may_lend || view.len < kWorthIt) return from_view(view, dtype);
  auto release = [held = view]() mutable {
    PyGILState_STATE state = PyGILState_Ensure();
    PyBuffer_Release(&held);
    PyGILState_Release(state);
  };
  buffer.ok = false;  // released when the call is over
  return Tensor(*dtype, Shape(std::vector<int64_t>(view.shape, view.shape + view.ndim)),
                Storage::adopt(view.buf, static_cast<size_t>(view.len), std::move(release)));
}

Tensor as_it_is(PyObject* object, const Tensor& last, std::string_view who) {
  if (PyObject_CheckBuffer(object) != 0) {
    const Buffer buffer(object);
    if (!buffer.ok) PyErr_Clear();
    const Py_buffer& view = buffer.view;
    const bool same =
        buffer.ok && static_cast<size_t>(view.len) == last.bytes() &&
        dtype_of_format(view.format, view.itemsize) == last.dtype() &&
        PyBuffer_IsContiguous(&view, 'C') != 0 &&
        std::ranges::equal(std::span(view.shape, static_cast<size_t>(view.ndim)), last.shape()) &&
        std::memcmp(view.buf, last.data(), last.bytes()) == 0;
    if (same) return last;
  }
  Tensor now = as_tensor(object, std::nullopt, who);  // which may have gathered its elements
  const bool same = now.dtype() == last.dtype() && now.shape() == last.shape() &&
                    std::memcmp(now.data(), last.data(), now.bytes()) == 0;
  return same ? last : now;
}

void init_array_in(nb::module_& m) {
  m.def(
      "asarray",
      [](nb::handle data, nb::handle dtype, nb::handle device, nb::handle copy, bool requires_grad) {
        if (!device.is_none() &&
            (!PyUnicode_Check(device.ptr()) || nb::cast<std::string>(nb::str(device)) != "cpu"))
          throw Error(ErrorKind::Value, "the only device of this build is \"cpu\"")
              .why("no backend for another device was built in")
              .hint("leave `device` out");
        std::optional<DType> wanted;
        if (!dtype.is_none()) wanted = require_dtype(dtype.ptr(), "asarray");
        bool foreign = !is_tensor(data.ptr()) && is_array_like(data.ptr());
        if (copy.ptr() == Py_False &&
            (foreign || (!is_tensor(data.ptr())) || (wanted && tensor_of(data.ptr()).dtype() != *wanted)))
          throw Error(ErrorKind::Value, "asarray: copy=False, and a copy is needed")
              .why("arrays are values: data of others is copied in, and so is what changes its dtype")
              .hint("use ig.from_dlpack(x) to share memory, or leave copy out");
        if (requires_grad) {
          Tensor value = as_tensor(data.ptr(), wanted, "asarray");
          if (Capture* capture = Capture::current(); capture && !capture->made_here(value))
            value = apply(ops::get("stop_gradient"), std::span(&value, 1), {})[0];  // an array of its own
          return nb::steal(wrap(tape::as_leaf(value)));
        }
        if (is_tensor(data.ptr()) && copy.ptr() != Py_True &&
            (!wanted || *wanted == tensor_of(data.ptr()).dtype()))
          return nb::borrow(data);
        return nb::steal(wrap(as_tensor(data.ptr(), wanted, "asarray")));
      },
      nb::arg("data").none(), nb::arg("dtype") = nb::none(), nb::kw_only(), nb::arg("device") = nb::none(),
      nb::arg("copy") = nb::none(), nb::arg("requires_grad") = false,
      "An array from a number, nested lists, or another library's array (copied). With requires_grad it is a "
      "new leaf of eager autograd: x.grad takes the gradient of y.backward().",
      nb::sig("def asarray(data: ArrayLike, dtype: DTypeLike | None = None, *, device: str | None = None, "
              "copy: bool | None = None, requires_grad: bool = False) -> Tensor"));
  m.def(
      "from_dlpack",
      [](nb::handle x, nb::handle device, nb::handle copy) {
        if (!device.is_none() && nb::cast<std::string>(nb::str(device)) != "cpu")
          throw Error(ErrorKind::Value, "the only device of this build is \"cpu\"")
              .why("no backend for another device was built in")
              .hint("leave `device` out");
        if (is_tensor(x.ptr())) return nb::borrow(x);
        return nb::steal(wrap(made(from_dlpack(x.ptr(), copy.ptr() == Py_True))));
      },
      nb::arg("x"), nb::kw_only(), nb::arg("device") = nb::none(), nb::arg("copy") = nb::none(),
      "An array that shares the memory of another library's, where its elements lie in row-major order.",
      nb::sig(
          "def from_dlpack(x: object, /, *, device: str | None = None, copy: bool | None = None) -> Tensor"));
}

}  // namespace ig::py
