// Helpers of the code generation tests: buffers between guard pages, calls of compiled loop functions, and
// what stands in their code.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/jit.h"
#include "loop/loop.h"

namespace ig::codegen::test {

// How often the part stands in the text.
inline int count(std::string_view text, std::string_view part) {
  int out = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++out;
  return out;
}

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

// The lines between the label that is jumped back to and that jump, of the loop with the most multiply-adds.
inline std::vector<std::string> innermost_loop(const std::string& assembly) {
  std::vector<std::string> lines, best;
  std::istringstream in(assembly);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  auto count = [](const std::vector<std::string>& body) {
    return std::count_if(body.begin(), body.end(),
                         [](auto& l) { return l.find("vfmadd") != std::string::npos; });
  };
  for (size_t i = 0; i < lines.size(); ++i) {
    std::smatch match;
    if (!std::regex_match(lines[i], match, std::regex(R"((\.LBB[0-9_]+):.*)"))) continue;
    for (size_t j = i + 1; j < lines.size() && lines[j].rfind(".LBB", 0) != 0; ++j)
      if (std::regex_match(lines[j], std::regex(R"(\s+j[a-z]+\s+)" + match[1].str()))) {
        std::vector<std::string> body(lines.begin() + static_cast<long>(i) + 1,
                                      lines.begin() + static_cast<long>(j));
        if (count(body) > count(best)) best = body;
      }
  }
  return best;
}

}  // namespace ig::codegen::test
