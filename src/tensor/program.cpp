// The way to the compiler. Its library holds LLVM, so it is opened at the first compile only, from the folder
// in which this library lies, and announces itself by setting the hook.
#include "tensor/program.h"

#include <dlfcn.h>

#include <atomic>
#include <mutex>

namespace ig {
namespace {

std::atomic<CompileHook> hook{nullptr};

std::string own_folder() {
  Dl_info self;
  if (!dladdr(reinterpret_cast<const void*>(&set_compile_hook), &self) || !self.dli_fname) return "";
  std::string path = self.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// The reason why the compiler cannot be had, or "".
const std::string& open_compiler() {
  static const std::string failure = [] {
    std::string path = own_folder() + "libintaglio_compiler.so";
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) return std::string(dlerror());
    auto announce = reinterpret_cast<void (*)()>(dlsym(library, "intaglio_compiler_register"));
    if (!announce) return path + " has no intaglio_compiler_register";
    announce();
    return std::string(hook.load() ? "" : path + " set no compile hook");
  }();
  return failure;
}

}  // namespace

void set_compile_hook(CompileHook value) { hook.store(value); }

bool compiler_available() { return hook.load() || open_compiler().empty(); }

std::shared_ptr<Program> compile(const Graph& graph, const CompileOptions& options) {
  CompileHook go = hook.load();
  if (!go) {
    const std::string& failure = open_compiler();
    go = hook.load();
    if (!go)
      throw Error(ErrorKind::Unsupported, "this installation has no compiler")
          .why(failure)
          .hint("install the whole package; graphs still run slowly by graph.evaluate(...)");
  }
  return go(graph, options);
}

}  // namespace ig
