// What code is made for: a level of the x86-64 ABI, or the processor that this runs on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ig::codegen {

constexpr int64_t kLineBytes = 64;  // of the caches

struct Target {
  std::string name;  // "x86-64-v2", "x86-64-v3", "x86-64-v4"; or "native": this processor, with all it has
  int vector_bytes = 16;  // widest register worth using: 16, 32 or 64
  int registers = 16;     // vector registers
  bool fma = false;

  static const Target& host();            // honours INTAGLIO_TARGET (a name as above)
  static Target named(std::string_view);  // Error(Unsupported) naming the choices
  bool native() const { return name == "native"; }
  bool runs_here() const;
  bool operator==(const Target&) const = default;
};

}  // namespace ig::codegen
