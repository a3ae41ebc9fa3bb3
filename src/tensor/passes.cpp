// The way to the passes.
#include "tensor/passes.h"

#include <mutex>

#include "tensor/program.h"

namespace ig {
namespace {

std::mutex& hooks_mutex() {
  static std::mutex mutex;
  return mutex;
}
PassHooks& hooks_now() {
  static PassHooks hooks{};
  return hooks;
}

}  // namespace

void set_pass_hooks(const PassHooks& hooks) {
  std::lock_guard lock(hooks_mutex());
  hooks_now() = hooks;
}

PassHooks pass_hooks() {
  bool there = compiler_available();
  std::lock_guard lock(hooks_mutex());
  if (!there || !hooks_now().run)
    throw Error(ErrorKind::Unsupported, "this installation has no passes")
        .why("they are in the compiler's library, which is missing")
        .hint("install the whole package");
  return hooks_now();
}

}  // namespace ig
