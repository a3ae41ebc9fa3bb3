// Opens the library that holds LLVM, from the folder in which this one lies.
#include "codegen/compiler_library.h"

#include <dlfcn.h>

#include <atomic>

#include "runtime/background.h"
#include "support/error.h"
#include "support/shared_object.h"

namespace ig::codegen {
namespace {

std::atomic<const CompilerLibrary*> opened{nullptr};

// The reason why it cannot be had, or "".
const std::string& open_library() {
  static const std::string failure = [] {
    const std::string path = compiler_library_path();
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) return std::string(dlerror());
    auto entry = reinterpret_cast<CompilerEntry>(dlsym(library, kCompilerSymbol));
    if (!entry) return path + " has no " + kCompilerSymbol;
    opened.store(entry());
    rt::background::end_before_what_is_loaded();  // a compile may be going on there
    return std::string();
  }();
  return failure;
}

}  // namespace

std::string compiler_library_path() {
  return folder_at(reinterpret_cast<const void*>(&compiler_library_path)) + "libintaglio_compiler.so";
}

bool has_compiler_library() { return open_library().empty(); }

const CompilerLibrary& compiler_library() {
  if (const std::string& failure = open_library(); !failure.empty())
    throw Error(ErrorKind::Unsupported, "this installation has no compiler")
        .why(failure)
        .hint(
            "install the whole package; without it run only what is prebuilt, and graphs, slowly, by "
            "graph.evaluate(...)");
  return *opened.load();
}

std::string compiler_build_id() {
  const CompilerLibrary* library = opened.load();
  return library ? build_id_at(library) : build_id_of_file(compiler_library_path());
}

}  // namespace ig::codegen
