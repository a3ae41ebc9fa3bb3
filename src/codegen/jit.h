// Loop functions to machine code, in the process. LLVM is asked only for what is neither prebuilt nor
// compiled before, in this process or in another one (codegen/compiler_library.h).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/target.h"
#include "loop/loop.h"
#include "runtime/kernel_abi.h"

namespace ig::codegen {

// These open LLVM's library. Error(Unsupported) where it is missing.
std::string_view llvm_version();  // "19.1.7", of the LLVM inside
// One object file (ELF, position independent) with one exported symbol for each function, named `symbols[i]`.
// `entry` has the signature of rt::KernelFn.
std::string compile_object(std::span<const loop::Function* const> functions,
                           std::span<const std::string> symbols, const Target& target);
std::string compile_assembly(const loop::Function& function, const Target& target);  // to read and to test
std::string compile_ir(const loop::Function& function, const Target& target, bool optimised);

// The code of an object, loaded for as long as this lives.
class Code {
 public:
  explicit Code(std::string_view object);  // Error(Internal) where it is none that compile_object wrote
  rt::KernelFn find(std::string_view symbol) const;
  size_t bytes() const { return bytes_; }

 private:
  struct Unmap {
    size_t bytes;
    void operator()(char* memory) const;
  };
  std::unique_ptr<char, Unmap> memory_;
  size_t bytes_ = 0;
  std::vector<std::pair<std::string, rt::KernelFn>> kernels_;
};

// Compiles each distinct function once in the process (by content and target), in parallel on up to
// `threads`, or loads it from the cache on disk (codegen/object_cache.h); the result stands in the order of
// the argument. Thread-safe. Where `stop` asks for it, it throws Stopped once the kernels that it is at are
// done; these are kept.
struct Compiled {
  rt::KernelFn fn = nullptr;
  std::shared_ptr<const Code> code;
  bool fresh = false;       // false: it was in the process before, or is prebuilt
  bool prebuilt = false;    // made while the library was built
  bool cached = false;      // loaded from the cache on disk
  double milliseconds = 0;  // of its own compile, or of loading it
};
std::vector<Compiled> compile(std::span<const loop::Function* const> functions, const Target& target,
                              int threads, const std::stop_token& stop = {});
// The same of functions that need no LLVM: they are prebuilt, in the process, or in the cache on disk.
// Nothing where one of them is not.
std::optional<std::vector<Compiled>> find_compiled(std::span<const loop::Function* const> functions,
                                                   const Target& target);

}  // namespace ig::codegen
