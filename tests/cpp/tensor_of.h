// A literal's elements as an array of the runtime.
#pragma once

#include <cstring>

#include "ir/literal.h"
#include "tensor/tensor.h"

namespace ig {

inline Tensor tensor_of(const Literal& literal) {
  Storage storage = Storage::allocate(literal.bytes());
  if (literal.bytes() != 0) std::memcpy(storage.data(), literal.data(), literal.bytes());
  return Tensor(literal.dtype(), Shape(std::vector<int64_t>(literal.dims().begin(), literal.dims().end())),
                storage);
}

}  // namespace ig
