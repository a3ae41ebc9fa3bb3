// The tables of prebuilt kernels: which level this process uses, and a search by key.
#include "runtime/prebuilt.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <tuple>

#include "support/processor.h"
#include "support/shared_object.h"

namespace ig::rt {
namespace {

const PrebuiltTable* open_table(int level) {
  if (level == 0) return nullptr;
  std::string path = folder_at(reinterpret_cast<const void*>(&find_prebuilt)) + "libintaglio_kernels.so";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return nullptr;  // an installation without them compiles everything
  auto tables = reinterpret_cast<PrebuiltTables>(dlsym(library, kPrebuiltSymbol));
  const PrebuiltTable* table = tables ? tables(level) : nullptr;
  return table && table->abi_version == kKernelAbiVersion ? table : nullptr;
}

const PrebuiltTable* table() {
  static const PrebuiltTable* const opened = open_table(prebuilt_level());
  return opened;
}

}  // namespace

int kernel_level() {
  static const int level = level_of_target(wanted_target());
  return level;
}

int prebuilt_level() {
  static const int level = [] {
    const char* wanted = std::getenv("INTAGLIO_PREBUILT");
    return wanted && std::string_view(wanted) == "0" ? 0 : kernel_level();
  }();
  return level;
}

const PrebuiltKernel* find_prebuilt(const Hash128& key) {
  const PrebuiltTable* all = table();
  if (!all) return nullptr;
  const PrebuiltKernel* end = all->kernels + all->count;
  auto wanted = std::tie(key.high, key.low);
  const PrebuiltKernel* at = std::lower_bound(
      all->kernels, end, wanted,
      [](const PrebuiltKernel& kernel, auto& value) { return std::tie(kernel.high, kernel.low) < value; });
  return at != end && std::tie(at->high, at->low) == wanted ? at : nullptr;
}

uint32_t prebuilt_count() { return table() ? table()->count : 0; }

Hash128 prebuilt_key_of_function(const Hash128& function) { return hash128("loop " + function.hex()); }

}  // namespace ig::rt
