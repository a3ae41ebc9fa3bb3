// The way to LLVM. Its 28 MB lie in a library of their own, which is opened when a function must be compiled,
// or shown as assembly or LLVM IR: a program whose kernels are prebuilt or in the cache never needs it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "codegen/target.h"
#include "loop/loop.h"

namespace ig::codegen {

enum class Form : uint8_t { Object, Assembly, Ir, OptimisedIr };

// What the library offers.
struct CompilerLibrary {
  const char* llvm_version;
  // All functions as one object file or one text, each under its symbol. Thread-safe.
  std::string (*generate)(std::span<const loop::Function* const> functions,
                          std::span<const std::string> symbols, const Target& target, Form form);
};
// The one symbol of the library, and its type.
inline constexpr const char* kCompilerSymbol = "intaglio_compiler";
using CompilerEntry = const CompilerLibrary* (*)();

// Opens it, once. Error(Unsupported) where it is missing. Thread-safe.
const CompilerLibrary& compiler_library();
bool has_compiler_library();  // opens it to see
std::string compiler_library_path();
// The build id of the library: of the file as long as it is not open. "" where that is not known.
std::string compiler_build_id();

}  // namespace ig::codegen
