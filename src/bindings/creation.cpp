// Counted and spaced arrays, raw bytes, and the small helpers that the Python part of the package stands on.
#include <cmath>
#include <cstring>

#include "bindings/autograd.h"
#include "bindings/common.h"
#include "tensor/mode.h"
#include "tensor/strided.h"

namespace ig::py {
namespace {

Tensor made(Tensor tensor) {
  if (Capture* capture = Capture::current()) capture->note_made_here(tensor);
  return tensor;
}

bool whole(nb::handle value) { return PyLong_Check(value.ptr()) != 0; }

int64_t count_of(double start, double stop, double step) {
  double count = std::ceil((stop - start) / step);
  if (!(count < 9e15))
    throw make_error(ErrorKind::Value, "arange: the range from {} to {} by {} cannot be counted", start, stop,
                     step)
        .why(step == 0 ? "a step of 0 never ends" : "it has 9e15 elements or more, or a bound is no number")
        .hint("give finite bounds, and a step that is not 0");
  return count > 0 ? static_cast<int64_t>(count) : 0;
}

nb::object arange(nb::handle start, nb::handle stop, nb::handle step, nb::handle dtype_name) {
  DType dtype = require_dtype(dtype_name.ptr(), "arange");
  if (whole(start) && whole(stop) && whole(step)) {
    int64_t from = nb::cast<int64_t>(start), to = nb::cast<int64_t>(stop), by = nb::cast<int64_t>(step);
    int64_t count =
        by > 0 ? (to > from ? (to - from - 1) / by + 1 : 0) : (to < from ? (from - to - 1) / -by + 1 : 0);
    Tensor out = Tensor::empty(DType::I64, {count});
    auto* values = static_cast<int64_t*>(out.data());
    for (int64_t i = 0; i < count; ++i) values[i] = from + i * by;
    return nb::steal(wrap(front::convert(made(out), dtype)));
  }
  double from = nb::cast<double>(nb::float_(start)), by = nb::cast<double>(nb::float_(step));
  Tensor out = Tensor::empty(DType::F64, {count_of(from, nb::cast<double>(nb::float_(stop)), by)});
  auto* values = static_cast<double*>(out.data());
  for (int64_t i = 0; i < out.elements(); ++i) values[i] = from + static_cast<double>(i) * by;
  return nb::steal(wrap(front::convert(made(out), dtype)));
}

nb::object linspace(double start, double stop, int64_t count, bool endpoint, nb::handle dtype_name) {
  DType dtype = require_dtype(dtype_name.ptr(), "linspace");
  Tensor out = Tensor::empty(DType::F64, {count});
  auto* values = static_cast<double*>(out.data());
  double parts = static_cast<double>(endpoint ? count - 1 : count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = parts == 0 ? start : start + (stop - start) * (static_cast<double>(i) / parts);
  if (endpoint && count > 1) values[count - 1] = stop;
  return nb::steal(wrap(front::convert(made(out), dtype)));
}

// A shape as it is written most of the time, an int or a tuple of them; others, and those that no array can
// have, take the way of all shapes.
std::optional<std::vector<int64_t>> plain_shape(PyObject* object) {
  constexpr int64_t kWidest = 16;  // bytes of an element
  std::vector<int64_t> sizes;
  int64_t bytes = kWidest;
  auto take = [&](PyObject* item) {
    if (!PyLong_CheckExact(item)) return false;
    int overflow = 0;
    sizes.push_back(PyLong_AsLongLongAndOverflow(item, &overflow));
    return overflow == 0 && sizes.back() >= 0 &&
           !__builtin_mul_overflow(bytes, std::max<int64_t>(1, sizes.back()), &bytes);
  };
  if (!PyTuple_CheckExact(object)) return take(object) ? std::optional(std::move(sizes)) : std::nullopt;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    if (!take(PyTuple_GET_ITEM(object, i))) return std::nullopt;
  return sizes;
}

// The array of one number at all places, made at once where no capture and no mode wants to know; else None.
nb::object filled(nb::handle shape, nb::handle value, nb::handle dtype) {
  if (PyLong_CheckExact(dtype.ptr()))
    throw make_error(ErrorKind::Type, "{} is no dtype of an array", nb::cast<std::string>(nb::str(dtype)))
        .why("the sizes of a shape are one argument; what stands behind it is the dtype")
        .hint("give all sizes as one: ig.zeros((2, 3))");
  if (Capture::current() || OpMode::any()) return nb::none();
  const std::optional<std::vector<int64_t>> sizes = plain_shape(shape.ptr());
  if (!sizes || !as_scalar(value.ptr())) return nb::none();
  std::optional<DType> wanted;
  if (!dtype.is_none()) wanted = require_dtype(dtype.ptr(), "asarray");
  const Tensor one = as_tensor(value.ptr(), wanted, "asarray");
  return nb::steal(wrap(copy_strided(one, {Shape(*sizes), 0, std::vector<int64_t>(sizes->size(), 0)})));
}

}  // namespace

void init_creation(nb::module_& m) {
  m.def("_arange", &arange);
  m.def("_linspace", &linspace);
  m.def("_filled", &filled, nb::arg("shape"), nb::arg("value"), nb::arg("dtype").none());
  m.def("_convert", [](nb::handle x, nb::handle dtype) {
    const DType wanted = require_dtype(dtype.ptr(), "astype");
    if (is_tensor(x.ptr()) && tensor_of(x.ptr()).dtype() == wanted) return nb::borrow(x);
    return nb::steal(wrap(as_tensor(x.ptr(), wanted, "astype")));
  });
  m.def("_user_line", &user_line, "The user's line at hand, for errors that are raised in Python.");
  m.def(
      "_concrete", [](nb::handle x) { return nb::steal(wrap(concrete(asked(x.ptr()), "the NumPy array"))); },
      "The array itself, or what the capture gives for it.");
  m.def(
      "_bits",
      [](nb::handle x) {
        refuse_export(tensor_of(x.ptr()));
        Tensor values = concrete(asked(x.ptr()), "the NumPy array");
        return nb::steal(wrap(Tensor(DType::U16, values.shape(), values.storage())));
      },
      "The bits of 16-bit elements, as uint16, in the same memory.");
  m.def("_to_bytes", [](nb::handle x) {
    const Tensor& values = tensor_of(x.ptr());
    return nb::bytes(static_cast<const char*>(values.data()), values.bytes());
  });
  m.def("_from_bytes", [](const std::string& dtype, const std::vector<int64_t>& shape, nb::bytes data) {
    std::optional<DType> type = dtype_from_name(dtype);
    if (!type)
      throw make_error(ErrorKind::Type, "`{}` is no dtype", dtype)
          .why("the array was pickled by another version, or its bytes were changed")
          .hint("pickle it again with this version");
    Tensor out = Tensor::empty(*type, Shape(shape));
    if (out.bytes() != data.size())
      throw make_error(ErrorKind::IO, "the bytes of an array are {} long, and its type has {}", data.size(),
                       out.bytes())
          .why("the bytes were cut off or changed after they were written")
          .hint("pickle the array again");
    std::memcpy(out.data(), data.c_str(), out.bytes());
    return nb::steal(wrap(made(out)));
  });
}

}  // namespace ig::py
