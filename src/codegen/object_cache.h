// Objects of compiled kernels on disk, for the next process. A kernel is known by a hash of all that its code
// depends on: its text, the target with every feature of the processor, the builds of our libraries, LLVM
// within one of them. A file is taken only where it is signed, as a whole and for that very kernel, with this
// user's secret; so a torn, damaged, foreign or forged one is compiled anew, and replaced.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "codegen/digest.h"
#include "codegen/jit.h"
#include "runtime/cache_folder.h"
#include "runtime/kernel_cache.h"

namespace ig::codegen {

// What one batch of kernels does with the folder, which is opened when the first of them asks. Thread-safe.
// Settings that say nothing sensible are Error(Value) when it is made; from then on nothing is thrown: a
// folder that cannot be used is an empty one, with a warning.
class ObjectCache {
 public:
  explicit ObjectCache(const Target& target);
  ~ObjectCache();  // keeps the limit, where something was written
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;

  bool enabled();                           // opens the folder
  Digest key(std::string_view text) const;  // of a kernel by its canonical text, once it is enabled
  std::optional<std::string> find(const Digest& key);
  void store(const Digest& key, std::string_view object);
  // One that `find` gave could not be linked.
  void reject();

 private:
  void open();

  const Target target_;
  rt::kernel_cache::Settings settings_;
  std::once_flag once_;
  std::string origin_;  // what all keys of this target have in common
  std::optional<rt::CacheFolder> folder_;
  rt::CacheFolder::Secret secret_;
  std::mutex mutex_;
  rt::kernel_cache::Counts counts_;
  uint64_t written_ = 0;
  bool full_ = false;  // it could not be written
};

// The bytes of a file, and back; nothing where they are not signed for this kernel.
std::string seal(const Digest& key, std::string_view object, const rt::CacheFolder::Secret& secret);
std::optional<std::string> unseal(const Digest& key, std::string_view file,
                                  const rt::CacheFolder::Secret& secret);

}  // namespace ig::codegen
