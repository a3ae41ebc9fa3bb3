// The cache of compiled kernels on disk, for `intaglio.cache`. Its one warning becomes a Python warning.
#include "runtime/kernel_cache.h"

#include <cstdlib>
#include <cstring>

#include "bindings/common.h"
#include "bindings/kernel_cache.h"

namespace ig::py {
namespace {

namespace kc = rt::kernel_cache;

// Runs in the main thread, between two instructions of Python. Where warnings are errors it is printed: the
// cache fails no program.
int warn(void* data) {
  auto* text = static_cast<char*>(data);
  if (PyErr_WarnEx(PyExc_RuntimeWarning, text, 1) != 0) PyErr_WriteUnraisable(nullptr);
  std::free(text);
  return 0;
}

// Kernels are compiled on threads that Python does not know, while any thread may hold its lock.
void warn_later(const char* text) {
  char* copy = strdup(text);
  if (copy && Py_IsInitialized() && Py_AddPendingCall(warn, copy) == 0) return;
  std::fprintf(stderr, "intaglio: warning: %s\n", text);
  std::free(copy);
}

nb::dict info() {
  kc::Info now;
  {
    nb::gil_scoped_release no_gil;
    now = kc::info();
  }
  nb::dict out;
  out["enabled"] = now.settings.enabled;
  out["folder"] = now.settings.folder;
  out["limit"] = now.settings.limit;
  out["problem"] = now.problem;
  out["entries"] = now.entries;
  out["bytes"] = now.bytes;
  out["hits"] = now.counts.hits;
  out["misses"] = now.counts.misses;
  out["rejected"] = now.counts.rejected;
  out["stored"] = now.counts.stored;
  out["removed"] = now.counts.removed;
  return out;
}

}  // namespace

void init_kernel_cache(nb::module_& m) {
  kc::set_warner(&warn_later);
  m.def("_cache_info", &info, "Settings, contents and counts of the cache on disk.");
  m.def("_cache_clear", &kc::clear, nb::call_guard<nb::gil_scoped_release>(),
        "Removes the kernels on disk; how many.");
  m.def(
      "_cache_configure",
      [](bool enabled, std::string folder, uint64_t limit) {
        kc::configure({enabled, std::move(folder), limit});
      },
      nb::arg("enabled"), nb::arg("folder"), nb::arg("limit"), "Replaces the settings.");
}

}  // namespace ig::py
