// Which processor LLVM makes code for, in LLVM's own words.
#pragma once

#include <string>

#include "codegen/target.h"

namespace ig::codegen {

struct Cpu {
  std::string name;      // "x86-64-v3", or the host's ("znver4")
  std::string features;  // "+avx2,-avx512f,…": all that LLVM knows of, where it is the host's
};
Cpu cpu_of(const Target& target);

}  // namespace ig::codegen
