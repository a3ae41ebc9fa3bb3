// Concrete arrays inside the IR: allocation, element access, exact text, hash.
#include "ir/literal.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace ig {
namespace {

int64_t count(const std::vector<int64_t>& dims) { return product(Dims(dims.begin(), dims.end())).constant(); }

template <typename T>
T read(const void* data, int64_t i) {
  T out;
  std::memcpy(&out, static_cast<const char*>(data) + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return out;
}

// Of `width` bytes of one float, widened to v. A NaN with other bits than the plain ones is written with its
// bits.
std::string float_text(double v, DType dtype, const void* bytes) {
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  if (!std::isnan(v)) return fmt::format("{:a}", v);
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, size_of(dtype));
  uint64_t plain = Literal::plain_nan(dtype), sign = uint64_t{1} << (8 * size_of(dtype) - 1);
  if (bits == plain) return "nan";
  return bits == (plain | sign) ? "-nan" : fmt::format("nan(0x{:x})", bits);
}

}  // namespace

Literal::Literal(DType dtype, std::vector<int64_t> dims, Storage storage)
    : dtype_(dtype), dims_(std::move(dims)), storage_(std::move(storage)) {
  IG_CHECK(storage_.bytes() >= bytes(), "a literal of {} bytes over {} bytes", bytes(), storage_.bytes());
}

Literal Literal::allocate(DType dtype, std::vector<int64_t> dims) {
  int64_t n = count(dims);
  int64_t size;
  if (__builtin_mul_overflow(n, static_cast<int64_t>(size_of(dtype)), &size))
    product({Dim(n), Dim(int64_t{16})});
  Storage storage = Storage::allocate(static_cast<size_t>(size));
  if (size) std::memset(storage.data(), 0, static_cast<size_t>(size));
  return Literal(dtype, std::move(dims), std::move(storage));
}

uint64_t Literal::plain_nan(DType dtype) {
  switch (dtype) {
    case DType::F16: return 0x7e00;
    case DType::BF16: return 0x7fc0;
    case DType::F32: return 0x7fc00000;
    default: return 0x7ff8000000000000;
  }
}

Literal Literal::scalar(DType dtype, double value) {
  if (is_integer(dtype)) return scalar_int(dtype, static_cast<int64_t>(value));
  Literal out = allocate(dtype, {});
  auto put = [&](auto v) { std::memcpy(out.mutable_data(), &v, sizeof v); };
  switch (dtype) {
    case DType::Bool: put(static_cast<uint8_t>(value != 0)); break;
    case DType::F16: put(f32_to_f16(static_cast<float>(value))); break;
    case DType::BF16: put(f32_to_bf16(static_cast<float>(value))); break;
    case DType::F32:
    case DType::C64: put(static_cast<float>(value)); break;
    default: put(value); break;
  }
  return out;
}

Literal Literal::scalar_int(DType dtype, int64_t value) {
  if (!is_integer(dtype) && dtype != DType::Key) return scalar(dtype, static_cast<double>(value));
  Literal out = allocate(dtype, {});
  std::memcpy(out.mutable_data(), &value, size_of(dtype));  // little-endian: the low bytes
  return out;
}

int64_t Literal::elements() const { return count(dims_); }

Type Literal::type() const { return Type::tensor(dtype_, Dims(dims_.begin(), dims_.end())); }

double Literal::as_double(int64_t i) const {
  switch (dtype_) {
    case DType::F16: return f16_to_f32(read<uint16_t>(data(), i));
    case DType::BF16: return bf16_to_f32(read<uint16_t>(data(), i));
    case DType::F32: return read<float>(data(), i);
    case DType::F64: return read<double>(data(), i);
    case DType::C64: return read<float>(data(), 2 * i);
    case DType::C128: return read<double>(data(), 2 * i);
    case DType::U64: return static_cast<double>(read<uint64_t>(data(), i));
    default: return static_cast<double>(as_int(i));
  }
}

std::complex<double> Literal::as_complex(int64_t i) const {
  if (dtype_ == DType::C64) return {read<float>(data(), 2 * i), read<float>(data(), 2 * i + 1)};
  if (dtype_ == DType::C128) return {read<double>(data(), 2 * i), read<double>(data(), 2 * i + 1)};
  return {is_float(dtype_) ? as_double(i) : static_cast<double>(as_int(i)), 0};
}

int64_t Literal::as_int(int64_t i) const {
  switch (dtype_) {
    case DType::Bool: return read<uint8_t>(data(), i) != 0;
    case DType::I8: return read<int8_t>(data(), i);
    case DType::I16: return read<int16_t>(data(), i);
    case DType::I32: return read<int32_t>(data(), i);
    case DType::U8: return read<uint8_t>(data(), i);
    case DType::U16: return read<uint16_t>(data(), i);
    case DType::U32: return read<uint32_t>(data(), i);
    case DType::I64:
    case DType::U64:
    case DType::Key: return read<int64_t>(data(), i);
    default: return static_cast<int64_t>(as_double(i));
  }
}

Hash128 Literal::hash() const {
  Hash128 content = hash128({static_cast<const char*>(data()), bytes()});
  std::string head = type().str() + content.hex();
  return hash128(head);
}

bool Literal::operator==(const Literal& other) const {
  return dtype_ == other.dtype_ && dims_ == other.dims_ &&
         (data() == other.data() || bytes() == 0 || std::memcmp(data(), other.data(), bytes()) == 0);
}

std::string Literal::str() const {
  std::string out = type().str() + " {";
  for (int64_t i = 0, n = elements(); i < n; ++i) {
    if (i) out += ", ";
    if (is_complex(dtype_)) {
      bool narrow = dtype_ == DType::C64;
      double re = narrow ? read<float>(data(), 2 * i) : read<double>(data(), 2 * i);
      double im = narrow ? read<float>(data(), 2 * i + 1) : read<double>(data(), 2 * i + 1);
      DType part = narrow ? DType::F32 : DType::F64;
      const char* at = static_cast<const char*>(data()) + static_cast<size_t>(i) * size_of(dtype_);
      out += fmt::format("({}, {})", float_text(re, part, at), float_text(im, part, at + size_of(part)));
    } else if (is_float(dtype_)) {
      out += float_text(as_double(i), dtype_,
                        static_cast<const char*>(data()) + static_cast<size_t>(i) * size_of(dtype_));
    } else if (dtype_ == DType::Bool) {
      out += as_int(i) ? "true" : "false";
    } else if (dtype_ == DType::U64 || dtype_ == DType::Key) {
      out += std::to_string(read<uint64_t>(data(), i));
    } else {
      out += std::to_string(as_int(i));
    }
  }
  return out + "}";
}

}  // namespace ig
