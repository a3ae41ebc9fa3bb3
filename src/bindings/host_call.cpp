// Functions of Python that graphs call: places of them in the registry (ops/host_call.h), which hold an
// object of intaglio._callbacks, and calling one from whatever thread a program runs in.
#include "bindings/effects.h"

#include <algorithm>
#include <cstring>

#include "ops/host_call.h"
#include "tensor/effects.h"

namespace ig::py {
namespace {

thread_local const ops::HostCall* in_call = nullptr;

// Drops its reference wherever the last graph goes: in any thread, also without the interpreter's lock.
class Held {
 public:
  explicit Held(nb::handle object) : object_(object.inc_ref()) {}
  ~Held() {
    if (!nb::is_alive() || !Py_IsInitialized()) return;
    nb::gil_scoped_acquire gil;
    object_.dec_ref();
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  nb::handle get() const { return object_; }

 private:
  nb::handle object_;
};

// The interpreter's tracing of this thread, off for a scope: what a callback reads while a function is being
// recorded is no business of the recording.
class Untraced {
 public:
  explicit Untraced(bool recording) : state_(recording ? PyThreadState_Get() : nullptr) {
    if (state_) PyThreadState_EnterTracing(state_);
  }
  ~Untraced() {
    if (state_) PyThreadState_LeaveTracing(state_);
  }
  Untraced(const Untraced&) = delete;
  Untraced& operator=(const Untraced&) = delete;

 private:
  PyThreadState* state_;
};

std::string name_of(const ops::HostCall& call) { return std::string(ops::host_label(call.function)); }

std::string type_text(DType dtype, std::span<const int64_t> shape) {
  return fmt::format("{}[{}]", info(dtype).api_name, fmt::join(shape, ", "));
}

// A number of Python's takes the declared dtype, where that loses nothing of its kind.
bool fits(const front::Scalar& scalar, DType dtype) {
  switch (scalar.kind) {
    case DKind::Bool: return dtype == DType::Bool;
    case DKind::Signed:
    case DKind::Unsigned: return dtype != DType::Bool && dtype != DType::Key;
    case DKind::Float: return is_float(dtype) || is_complex(dtype);
    default: return is_complex(dtype);
  }
}

// A NumPy array of just this dtype and shape, copied; none of any other object. (It is what callbacks mostly
// give, and a tenth of the way that serves all arrays.)
std::optional<Literal> copied(PyObject* object, DType dtype, const std::vector<int64_t>& shape) {
  if (std::string_view(Py_TYPE(object)->tp_name) != "numpy.ndarray") return std::nullopt;
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0) {
    PyErr_Clear();  // strided, or of a dtype without a format: the other way tells
    return std::nullopt;
  }
  struct Release {
    Py_buffer* view;
    ~Release() { PyBuffer_Release(view); }
  } release{&view};
  const std::string_view format = view.format;
  const bool named = (dtype == DType::F32 && format == "f") || (dtype == DType::F64 && format == "d") ||
                     (dtype == DType::Bool && format == "?") || (dtype == DType::I32 && format == "i") ||
                     (dtype == DType::I64 && format == "l");
  if (!named || !std::equal(view.shape, view.shape + view.ndim, shape.begin(), shape.end()))
    return std::nullopt;
  Literal out = Literal::allocate(dtype, shape);
  if (out.bytes()) std::memcpy(out.mutable_data(), view.buf, out.bytes());
  return out;
}

Literal result_of(const ops::HostCall& call, nb::handle module, nb::handle host, nb::handle leaf, size_t i) {
  const Type& want = call.results[i];
  std::vector<int64_t> shape = *constant_dims(want.dims);
  auto path = [&] {
    return nb::cast<std::string>(nb::object(module.attr("_result_path")(
        host, nb::str(call.structure.data(), call.structure.size()), call.results.size(), i)));
  };
  if (std::optional<Literal> copy = copied(leaf.ptr(), want.dtype, shape)) return *copy;
  Tensor value;
  if (std::optional<front::Scalar> scalar = as_scalar(leaf.ptr());
      scalar && shape.empty() && fits(*scalar, want.dtype))
    value = front::scalar_tensor(*scalar, want.dtype);
  else if (scalar || is_tensor(leaf.ptr()) || is_array_like(leaf.ptr()))
    value = as_tensor(leaf.ptr(), std::nullopt, name_of(call));
  else
    throw make_error(ErrorKind::Type, "the callback {} gave a {} for the result{}, and {} was declared",
                     name_of(call), Py_TYPE(leaf.ptr())->tp_name, path(), type_text(want.dtype, shape))
        .why("it is no array and no number")
        .hint("return a NumPy array, an array of ig, or a number");
  if (value.is_symbolic()) Capture::leaked(value, nullptr);
  const bool dtype = value.dtype() == want.dtype;
  if (dtype && value.shape() == Shape(shape)) return value.unlinked().literal();
  throw make_error(dtype ? ErrorKind::Shape : ErrorKind::Type,
                   "the callback {} gave {} for the result{}, and {} was declared", name_of(call),
                   type_text(value.dtype(), value.shape().span()), path(), type_text(want.dtype, shape))
      .why("what a callback gives is declared before it runs, and is never converted or broadcast")
      .hint(dtype
                ? "return an array of that shape, or declare the one that it has"
                : fmt::format("convert what it returns, as by numpy.asarray(y, \"{}\"), or declare the dtype "
                              "that it has",
                              info(want.dtype).api_name));
}

// Says where the compiled program called, in the user's own exception.
void note_place(nb::python_error& error, const ops::HostCall& call) {
  if (!call.where.known() || !PyErr_GivenExceptionMatches(error.type().ptr(), PyExc_BaseException)) return;
  std::string text = fmt::format("in the callback {} of {}", name_of(call), call.where.str());
  PyObject* done = PyObject_CallMethod(error.value().ptr(), "add_note", "s", text.c_str());
  if (!done) PyErr_Clear();
  Py_XDECREF(done);
}

std::vector<Literal> call_python(const Held& held, const ops::HostCall& call,
                                 std::span<const Literal> values) {
  nb::gil_scoped_acquire gil;
  Untraced untraced(Capture::current() != nullptr);
  Capture::Active outside(nullptr);
  struct Place {
    const ops::HostCall* before;
    ~Place() { in_call = before; }
  } place{std::exchange(in_call, &call)};
  try {
    nb::handle host = held.get();
    nb::object module = nb::module_::import_("intaglio._callbacks");
    nb::list arrays;
    for (const Literal& value : values) arrays.append(nb::steal(wrap(Tensor::from(value))));
    nb::object leaves = module.attr("_call")(host, nb::str(call.structure.data(), call.structure.size()),
                                             arrays, call.results.size());
    std::vector<Literal> out;
    for (nb::handle leaf : leaves) out.push_back(result_of(call, module, host, leaf, out.size()));
    return out;
  } catch (const PythonError&) {
    nb::python_error error;
    note_place(error, call);
    throw error;
  } catch (nb::python_error& error) {
    note_place(error, call);
    throw;
  }
}

ops::HostFunction function_of_host(nb::handle host) {
  return [held = std::make_shared<const Held>(host)](const ops::HostCall& call,
                                                     std::span<const Literal> values) {
    return call_python(*held, call, values);
  };
}

// The place of a host object: the one that its name tells, while a graph keeps it.
ops::HostRef entry_of(nb::handle host, const std::string& label) {
  nb::object name = host.attr("name");
  if (!name.is_none())
    if (ops::HostRef known = ops::find_host_function(nb::cast<std::string>(name))) return known;
  ops::HostRef made = ops::make_host_function(label, function_of_host(host));
  host.attr("name") = nb::str(made->name().c_str());
  return made;
}

nb::list host_call(nb::handle host, const std::string& label, nb::handle arguments, nb::handle results,
                   const std::string& structure, std::optional<std::string> vmap_method, bool effect) {
  std::vector<Tensor> operands;
  for (nb::handle argument : arguments) operands.push_back(tensor_of(argument.ptr()));
  std::vector<Type> types;
  for (nb::handle item : results) {
    Dims dims;
    for (nb::handle size : nb::object(item[nb::int_(1)])) {
      std::optional<Dim> dim = as_dim(size.ptr());
      if (!dim)
        throw make_error(ErrorKind::Type, "a callback's result has a size of type {}",
                         Py_TYPE(size.ptr())->tp_name)
            .why("it says how many elements an axis has")
            .hint("give whole numbers, or sizes of arrays: x.shape[0]");
      dims.push_back(*dim);
    }
    types.push_back(
        Type::tensor(require_dtype(nb::object(item[nb::int_(0)]).ptr(), "callback"), std::move(dims)));
  }
  ops::HostRef function = entry_of(host, label);
  std::vector<Tensor> out =
      effect ? effects::call_effect(function, operands, types, structure)
             : effects::call_pure(function, operands, types, vmap_method.value_or("none"), structure);
  nb::list list;
  for (Tensor& tensor : out) list.append(nb::steal(wrap(std::move(tensor))));
  return list;
}

}  // namespace

void init_host_call(nb::module_& m) {
  m.def("_host_call", &host_call, nb::arg("host"), nb::arg("label"), nb::arg("arguments"), nb::arg("results"),
        nb::arg("structure"), nb::arg("vmap_method").none(), nb::arg("effect"),
        "Calls the host object, or records that: its results' arrays.");
  m.def(
      "_register_host",
      [](const std::string& name, nb::handle host) {
        ops::register_host_function(name, function_of_host(host));
        host.attr("name") = nb::str(name.c_str());
      },
      nb::arg("name"), nb::arg("host"));
  m.def(
      "_host_place", [] { return in_call && in_call->where.known() ? in_call->where.str() : user_line(); },
      "Where the callback that runs in this thread was called in the user's program.");
}

}  // namespace ig::py
