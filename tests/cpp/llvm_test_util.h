// Helpers of the code generation tests: buffers between guard pages, and calls of compiled loop functions.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "codegen/jit.h"
#include "loop/loop.h"

namespace ig::codegen::test {

// `bytes` bytes that end (or start) exactly at a page that may not be touched, with another such page on the
// far side.
class Guarded {
 public:
  Guarded(size_t bytes, bool at_end) : bytes_(bytes) {
    auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_t inside = (bytes + page - 1) / page * page;
    total_ = inside + 2 * page;
    base_ = static_cast<char*>(mmap(nullptr, total_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (inside != 0) mprotect(base_ + page, inside, PROT_READ | PROT_WRITE);
    data_ = at_end ? base_ + page + inside - bytes : base_ + page;
  }
  Guarded(const Guarded&) = delete;
  ~Guarded() { munmap(base_, total_); }
  void* data() const { return data_; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_, total_ = 0;
  char *base_ = nullptr, *data_ = nullptr;
};

struct Kernel {
  std::unique_ptr<loop::Function> function;
  Compiled compiled;

  Kernel(std::unique_ptr<loop::Function> f, const Target& target) : function(std::move(f)) {
    const loop::Function* list[] = {function.get()};
    compiled = compile(list, target, 1)[0];
  }
  int32_t operator()(std::vector<void*> buffers, std::vector<int64_t> dims = {}, int64_t blocks = 1,
                     int64_t* error = nullptr, void* scratch = nullptr) const {
    rt::KernelArgs args;
    args.buffers = buffers.data();
    args.dims = dims.data();
    args.error = error;
    args.scratch = scratch;
    return compiled.fn(&args, 0, blocks);
  }
};

// The targets that this machine runs.
inline std::vector<Target> runnable() {
  std::vector<Target> out;
  for (const char* name : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "native"})
    if (Target t = Target::named(name); t.runs_here()) out.push_back(t);
  return out;
}

}  // namespace ig::codegen::test
