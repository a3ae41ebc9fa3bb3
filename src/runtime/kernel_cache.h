// The cache of compiled kernels on disk, as its user sees it: where it lies, how large it may grow, what it
// did. The compiler fills it (codegen/object_cache.h). Whatever goes wrong with it, programs run: they
// compile what they cannot load, and one warning says why.
#pragma once

#include <cstdint>
#include <string>

#include "support/error.h"

namespace ig::rt::kernel_cache {

inline constexpr uint64_t kDefaultLimit = uint64_t{256} << 20;

struct Settings {
  bool enabled = true;
  std::string folder;              // absolute; "" where there is no place for one
  uint64_t limit = kDefaultLimit;  // bytes of all files
};

// At first those of the environment: INTAGLIO_CACHE (0 or 1), INTAGLIO_CACHE_DIR (else intaglio/ in
// XDG_CACHE_HOME, else in ~/.cache), INTAGLIO_CACHE_BYTES. Error(Value) where one of them says nothing
// sensible.
Settings settings();
void configure(Settings settings);

// What this process did.
struct Counts {
  uint64_t hits = 0;      // kernels loaded
  uint64_t misses = 0;    // kernels that were not there, and were compiled
  uint64_t rejected = 0;  // files that were there but damaged, foreign or forged; compiled anew
  uint64_t stored = 0;    // kernels written
  uint64_t removed = 0;   // kernels removed to keep the limit
};
Counts counts();
void count(const Counts& more);

struct Info {
  Settings settings;
  std::string problem;  // why it is not used, or only read; "" where all is well
  uint64_t entries = 0, bytes = 0;
  Counts counts;
};
Info info();

// Removes all kernels; how many. Error(IO) where the folder cannot be used.
uint64_t clear();

// Notes why the cache cannot be used, and tells the user, once in a process: by `set_warner`'s function, else
// on standard error. Thread-safe.
void report(const Error& problem);
using Warner = void (*)(const char* text);
void set_warner(Warner warner);

}  // namespace ig::rt::kernel_cache
