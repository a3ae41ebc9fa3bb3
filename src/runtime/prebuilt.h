// Kernels that our own code generator made while the library was built. They lie in a shared object of their
// own, opened when one is first wanted, in a table for each level of the x86-64 ABI; so eager execution of
// the common ops and dtypes compiles nothing, and needs no compiler.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/kernel_abi.h"
#include "support/hash.h"

namespace ig::rt {

struct PrebuiltKernel {
  uint64_t low, high;          // of the key; a table is sorted by (high, low)
  int64_t elements_per_block;  // of a kernel over `n` elements; 0 for one that is known by its loop
                               // function's hash
  int64_t grain;               // blocks worth handing to a thread
  uint32_t order;              // four bits for each of the kernel's inputs: which of the op's it is
  uint32_t result;             // the dtype of the result
  // Where the code begins, in bytes from this member on: so a table holds no addresses, which would all have
  // to be written when the object is opened, and is read as it lies in the file.
  int32_t place;
  uint32_t unused;

  KernelFn kernel() const {
    return reinterpret_cast<KernelFn>(reinterpret_cast<uintptr_t>(&place) + static_cast<intptr_t>(place));
  }
};
static_assert(sizeof(PrebuiltKernel) == 48);  // as intaglio-prebuild writes it

struct PrebuiltTable {
  uint32_t abi_version;
  uint32_t count;
  const PrebuiltKernel* kernels;
};

// The hook of the shared object; level 2, 3 or 4. Null where it holds nothing for that level.
using PrebuiltTables = const PrebuiltTable* (*)(int level);
inline constexpr const char* kPrebuiltSymbol = "intaglio_prebuilt_kernels";

// The level of the ABI that the kernels of this process are made for: the highest that this processor has, or
// the one that INTAGLIO_TARGET names. From 3 on they fuse multiply-adds.
int kernel_level();
// The same, of those that are prebuilt: 0 where INTAGLIO_PREBUILT=0 asks for none.
int prebuilt_level();
// Null where there is none.
const PrebuiltKernel* find_prebuilt(const Hash128& key);
// How many kernels the table of this process has.
uint32_t prebuilt_count();

// Keys: what is run (an op with its attributes, dtypes and pattern), or the content of a loop function.
Hash128 prebuilt_key_of_function(const Hash128& function);

}  // namespace ig::rt
