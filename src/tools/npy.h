// NumPy's .npy files (format versions 1 to 3). bfloat16 stands as two raw bytes ("<V2"), as other libraries
// write it, and keys as uint64, since NumPy has neither.
#pragma once

#include <string>
#include <string_view>

#include "ir/literal.h"

namespace ig::tools {

// Error(IO); trusts nothing. `wanted` decides where two element types are stored alike (uint64 and keys).
Literal parse_npy(std::string_view bytes, std::string_view file, DType wanted = DType::F32);
std::string format_npy(const Literal& array);

}  // namespace ig::tools
