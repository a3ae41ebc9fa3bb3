// Arrays in the forms that kernels want them in: weights of matrix products and convolutions, whose elements
// are laid out in the order in which a kernel reads them.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/kernel.h"
#include "support/storage.h"

namespace ig::cpu {

// How a form of a constant is made.
struct Packing {
  Packing(const codegen::Kernel::Packing& packing, DType dtype, rt::KernelFn pack);
  bool operator==(const Packing&) const = default;

  rt::KernelFn pack;
  uint64_t function;           // the hash of what `pack` was compiled from
  std::vector<int64_t> sizes;  // of `pack`
  int64_t blocks;
  size_t bytes;  // of the form
};

// The form of an array, made once in the process for as long as somebody holds it; always anew for memory of
// another library, which may be written to behind our back.
Storage packed(const Storage& source, const Packing& packing);
// Made for the caller alone, who need not keep the array.
Storage pack(const Storage& source, const Packing& packing);

}  // namespace ig::cpu
