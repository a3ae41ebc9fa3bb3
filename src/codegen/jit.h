// Loop functions to machine code, in the process: the only door to LLVM. Everything behind it is in
// codegen/llvm.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loop/loop.h"
#include "runtime/kernel_abi.h"

namespace ig::codegen {

// What code is made for. Features are those of the x86-64 psABI levels, or of the host.
struct Target {
  std::string name;       // "x86-64-v2", "x86-64-v3", "x86-64-v4", or the host's CPU name ("znver5")
  std::string features;   // LLVM feature string
  int vector_bytes = 16;  // widest register worth using: 16, 32 or 64
  int registers = 16;     // vector registers
  bool fma = false;

  static const Target& host();            // honours INTAGLIO_TARGET (a name as above, or "native")
  static Target named(std::string_view);  // Error(Unsupported) naming the choices; and where the host lacks
                                          // it, if it is to run
  bool runs_here() const;
  bool operator==(const Target&) const = default;
};

std::string_view llvm_version();  // "19.1.7", of the LLVM inside

// One object file (ELF, position independent) with one exported symbol for each function, named `symbols[i]`.
// `entry` has the signature of rt::KernelFn.
std::string compile_object(std::span<const loop::Function* const> functions,
                           std::span<const std::string> symbols, const Target& target);
std::string compile_assembly(const loop::Function& function, const Target& target);  // to read and to test
std::string compile_ir(const loop::Function& function, const Target& target, bool optimised);

// Holds loaded code for as long as it lives.
class Code {
 public:
  virtual ~Code() = default;
  virtual rt::KernelFn find(std::string_view symbol) const = 0;
  virtual size_t bytes() const = 0;
};
std::shared_ptr<Code> load_object(std::string object);

// Compiles each distinct function once in the process (by content and target), in parallel on up to
// `threads`, or loads it from the cache on disk (codegen/object_cache.h); the result stands in the order of
// the argument. Thread-safe.
struct Compiled {
  rt::KernelFn fn = nullptr;
  std::shared_ptr<Code> code;
  bool fresh = false;       // false: it was in the process before, or is prebuilt
  bool prebuilt = false;    // made while the library was built
  bool cached = false;      // loaded from the cache on disk
  double milliseconds = 0;  // of its own compile, or of loading it
};
std::vector<Compiled> compile(std::span<const loop::Function* const> functions, const Target& target,
                              int threads);
// The same of functions that need no LLVM: they are prebuilt, in the process, or in the cache on disk.
// Nothing where one of them is not.
std::optional<std::vector<Compiled>> find_compiled(std::span<const loop::Function* const> functions,
                                                   const Target& target);

}  // namespace ig::codegen
