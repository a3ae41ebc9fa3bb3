// Matrices turned over in memory, for kernels and for copies. Any bits are moved as they are.
#pragma once

#include <cstdint>

#include "runtime/kernel_abi.h"
#include "runtime/strided_copy.h"
#include "support/hash.h"

namespace ig::rt {

// Where the kernel that kTurnOver calls stands in the prebuilt tables: it reads its first buffer and writes
// its second one, and its sizes are rows, columns, from_step, to_step. Where there is none, registers do it.
Hash128 prebuilt_key_of_turn_over(int64_t width);

// `rows` is the axis that is read in order, `columns` the one that is written in order. `width` as for
// copy_strided.
void turn_over_by_registers(int64_t width, const void* from, void* to, const CopyAxis& rows,
                            const CopyAxis& columns);

}  // namespace ig::rt
