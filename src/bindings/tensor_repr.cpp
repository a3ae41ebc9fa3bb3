// How arrays print, `Tensor([[1., 2.]], dtype=float32)`, and their elements as Python numbers.
#include <charconv>
#include <cmath>

#include "bindings/common.h"

namespace ig::py {
namespace {

constexpr int64_t kSummariseAbove = 1000;
constexpr int64_t kEdge = 3;

// The shortest text that reads back as the same number of this dtype; NumPy's "1." for whole floats.
template <typename T>
std::string float_text(T value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[64];
  auto plain = std::to_chars(buffer, buffer + sizeof buffer, value);
  std::string out(buffer, plain.ptr);
  if (out.find_first_of(".e") == std::string::npos) out += '.';
  return out;
}

// 16-bit floats have few digits: the fewest that round back to the same bits.
std::string half_text(float value, DType dtype) {
  if (!std::isfinite(value)) return float_text(value);
  for (int digits = 1; digits < 9; ++digits) {
    std::string text = fmt::format("{:.{}g}", value, digits);
    float back = std::strtof(text.c_str(), nullptr);
    bool same =
        dtype == DType::F16 ? f32_to_f16(back) == f32_to_f16(value) : f32_to_bf16(back) == f32_to_bf16(value);
    if (!same) continue;
    return text.find_first_of(".e") == std::string::npos ? text + "." : text;
  }
  return float_text(value);
}

template <typename T>
std::string complex_text(const T* parts) {
  std::string real = float_text(parts[0]), imaginary = float_text(parts[1]);
  return real + (imaginary[0] == '-' ? "" : "+") + imaginary + "j";
}

std::string element_text(const Tensor& x, const Literal& literal, int64_t i) {
  const char* at = static_cast<const char*>(x.data()) + static_cast<size_t>(i) * size_of(x.dtype());
  switch (x.dtype()) {
    case DType::Bool: return literal.as_int(i) ? "True" : "False";
    case DType::F16:
    case DType::BF16: return half_text(static_cast<float>(literal.as_double(i)), x.dtype());
    case DType::F32: return float_text(static_cast<float>(literal.as_double(i)));
    case DType::F64: return float_text(literal.as_double(i));
    case DType::C64: return complex_text(reinterpret_cast<const float*>(at));
    case DType::C128: return complex_text(reinterpret_cast<const double*>(at));
    case DType::U64: return fmt::format("{}", static_cast<uint64_t>(literal.as_int(i)));
    case DType::Key: return "key";
    default: return fmt::format("{}", literal.as_int(i));
  }
}

void render(const Tensor& x, const Literal& literal, int axis, int64_t base, bool summarise, size_t width,
            std::string& out) {
  const Shape& shape = x.shape();
  if (axis == shape.rank()) {
    std::string text = element_text(x, literal, base);
    out.append(width > text.size() ? width - text.size() : 0, ' ');
    out += text;
    return;
  }
  int64_t step = 1;
  for (int a = axis + 1; a < shape.rank(); ++a) step *= shape[a];
  out += '[';
  bool last = axis + 1 == shape.rank();
  for (int64_t i = 0; i < shape[axis]; ++i) {
    if (i > 0) {
      out += ',';
      if (last)
        out += ' ';
      else
        out += std::string(static_cast<size_t>(std::max(1, shape.rank() - axis - 1)), '\n') +
               std::string(static_cast<size_t>(axis) + 8, ' ');
    }
    if (summarise && shape[axis] > 2 * kEdge && i == kEdge) {
      out += "...";
      i = shape[axis] - kEdge - 1;
      continue;
    }
    render(x, literal, axis + 1, base + i * step, summarise, width, out);
  }
  out += ']';
}

size_t widest(const Tensor& x, const Literal& literal) {
  size_t width = 0;
  for (int64_t i = 0; i < x.elements(); ++i) width = std::max(width, element_text(x, literal, i).size());
  return width;
}

nb::object list_of(const Tensor& x, int axis, int64_t base) {
  if (axis == x.shape().rank()) return item_at(x, base);
  int64_t step = 1;
  for (int a = axis + 1; a < x.shape().rank(); ++a) step *= x.shape()[a];
  nb::object out = own(PyList_New(x.shape()[axis]));
  for (int64_t i = 0; i < x.shape()[axis]; ++i)
    PyList_SET_ITEM(out.ptr(), i, list_of(x, axis + 1, base + i * step).release().ptr());
  return out;
}

}  // namespace

std::string repr(const Tensor& tensor) {
  if (tensor.is_symbolic())
    return fmt::format("Tensor(traced, shape={}, dtype={})", str(tensor.type().dims),
                       info(tensor.dtype()).api_name);
  Literal literal = tensor.literal();
  std::string out = "Tensor(";
  if (tensor.elements() == 0 && tensor.rank() != 1) {
    out += fmt::format("[], shape=({}{})", fmt::join(tensor.shape(), ", "), tensor.rank() == 1 ? "," : "");
  } else {
    bool summarise = tensor.elements() > kSummariseAbove;
    render(tensor, literal, 0, 0, summarise, summarise || tensor.rank() == 0 ? 0 : widest(tensor, literal),
           out);
  }
  return out + fmt::format(", dtype={})", info(tensor.dtype()).api_name);
}

nb::object item_at(const Tensor& tensor, int64_t flat) {
  const char* at =
      static_cast<const char*>(tensor.data()) + static_cast<size_t>(flat) * size_of(tensor.dtype());
  switch (tensor.dtype()) {
    case DType::C64: {
      auto* parts = reinterpret_cast<const float*>(at);
      return own(PyComplex_FromDoubles(static_cast<double>(parts[0]), static_cast<double>(parts[1])));
    }
    case DType::C128: {
      auto* parts = reinterpret_cast<const double*>(at);
      return own(PyComplex_FromDoubles(parts[0], parts[1]));
    }
    case DType::Key:
      throw Error(ErrorKind::Type, "a random key is no number")
          .why("a key names a stream of random numbers and has no value of its own")
          .hint("draw with it: ig.random.uniform(key)");
    default: break;
  }
  Literal literal = tensor.literal();
  if (tensor.dtype() == DType::Bool) return own(PyBool_FromLong(literal.as_int(flat) != 0));
  if (is_float(tensor.dtype())) return own(PyFloat_FromDouble(literal.as_double(flat)));
  if (tensor.dtype() == DType::U64)
    return own(PyLong_FromUnsignedLongLong(static_cast<uint64_t>(literal.as_int(flat))));
  return own(PyLong_FromLongLong(literal.as_int(flat)));
}

nb::object to_list(const Tensor& tensor) { return list_of(tensor, 0, 0); }

}  // namespace ig::py
