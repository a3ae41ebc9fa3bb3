// A concrete array inside the IR: the value of a `constant`, an operand of folding, a sample of a test.
// Row-major, immutable once shared.
#pragma once

#include <complex>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "ir/type.h"
#include "support/hash.h"
#include "support/storage.h"

namespace ig {

class Literal {
 public:
  Literal() = default;
  Literal(DType dtype, std::vector<int64_t> dims, Storage storage);
  static Literal allocate(DType dtype, std::vector<int64_t> dims);  // zero-filled

  template <typename T>  // of a C++ type that matches the dtype's storage
  static Literal from(DType dtype, std::vector<int64_t> dims, const std::vector<T>& values) {
    Literal out = allocate(dtype, std::move(dims));
    if (!values.empty()) std::memcpy(out.mutable_data(), values.data(), values.size() * sizeof(T));
    return out;
  }
  static Literal scalar(DType dtype, double value);  // converted to the dtype
  static Literal scalar_int(DType dtype, int64_t value);

  static uint64_t plain_nan(DType dtype);  // the bits of the NaN that text calls "nan"

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  int64_t elements() const;
  size_t bytes() const { return static_cast<size_t>(elements()) * size_of(dtype_); }
  const void* data() const { return storage_.data(); }
  void* mutable_data() { return storage_.data(); }
  const Storage& storage() const { return storage_; }
  Type type() const;
  bool valid() const { return static_cast<bool>(storage_); }

  // One element by flat index, widened: float kinds to double, integers and bools to int64 (u64 by bit
  // pattern).
  double as_double(int64_t flat) const;
  int64_t as_int(int64_t flat) const;
  std::complex<double> as_complex(int64_t flat) const;  // a real number with an imaginary part of 0

  Hash128 hash() const;                         // of dtype, dims and bytes
  bool operator==(const Literal& other) const;  // bit for bit
  std::string str() const;                      // "f32[2] {0x1p+0, -0x1.8p+1}", floats exact

 private:
  DType dtype_ = DType::F32;
  std::vector<int64_t> dims_;
  Storage storage_;
};

}  // namespace ig
