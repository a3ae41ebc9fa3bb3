// A file is: a magic word, the version of the form, the kernel's key, the object's length, the object, and
// the signature of all of these.
#include "codegen/object_cache.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "codegen/compiler_library.h"
#include "loop/canonical.h"
#include "runtime/kernel_abi.h"
#include "support/processor.h"
#include "support/shared_object.h"

namespace ig::codegen {
namespace {

namespace kc = rt::kernel_cache;

struct Header {
  char magic[8];
  uint64_t version;
  Digest key;
  uint64_t length;
};
static_assert(sizeof(Header) == 56 && std::is_trivially_copyable_v<Header>);
constexpr char kMagic[9] = "IGKERNEL";
constexpr uint64_t kVersion = 1;

// The build of LLVM and of what asks it, as it was when the cache was first asked.
const std::string& compiler_build() {
  static const std::string build = compiler_build_id();
  return build;
}

// The builds whose code decides what a kernel becomes; "" where one of them cannot be told.
const std::string& builds() {
  static const std::string all = [] {
    std::string loops = loop::build_id(), runtime = ig::build_id();
    if (compiler_build().empty() || loops.empty() || runtime.empty()) return std::string();
    return fmt::format("compiler {}\nloops {}\nruntime {}\nkernel ABI {}\n", compiler_build(), loops, runtime,
                       rt::kKernelAbiVersion);
  }();
  return all;
}

}  // namespace

std::string seal(const Digest& key, std::string_view object, const rt::CacheFolder::Secret& secret) {
  Header header{{}, kVersion, key, object.size()};
  std::memcpy(header.magic, kMagic, sizeof header.magic);
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  file += object;
  Digest signed_by = signature(secret, file);
  file.append(reinterpret_cast<const char*>(signed_by.data()), signed_by.size());
  return file;
}

std::optional<std::string> unseal(const Digest& key, std::string_view file,
                                  const rt::CacheFolder::Secret& secret) {
  Header header;
  Digest claimed;
  if (file.size() < sizeof header + sizeof claimed) return std::nullopt;
  std::memcpy(&header, file.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof header.magic) != 0 || header.version != kVersion ||
      header.key != key || header.length != file.size() - sizeof header - sizeof claimed)
    return std::nullopt;
  std::string_view content = file.substr(0, file.size() - sizeof claimed);
  std::memcpy(claimed.data(), file.data() + content.size(), sizeof claimed);
  if (!same(claimed, signature(secret, content))) return std::nullopt;
  return std::string(content.substr(sizeof header));
}

ObjectCache::ObjectCache(const Target& target) : target_(target), settings_(kc::settings()) {}

void ObjectCache::open() {
  // Without the builds' names old code could be taken for new.
  if (!settings_.enabled || settings_.folder.empty() || builds().empty()) return;
  origin_ = fmt::format("{}target {} {}\nvectors {} registers {} fma {}\n", builds(), target_.name,
                        target_.native() ? processor_fingerprint() : "", target_.vector_bytes,
                        target_.registers, target_.fma);
  try {
    folder_.emplace(settings_.folder, true);
    secret_ = folder_->secret();
  } catch (const Error& error) {
    folder_.reset();
    kc::report(error);
  }
}

bool ObjectCache::enabled() {
  std::call_once(once_, [this] { open(); });
  return folder_.has_value();
}

Digest ObjectCache::key(std::string_view text) const { return digest(fmt::format("{}{}", origin_, text)); }

std::optional<std::string> ObjectCache::find(const Digest& key) {
  if (!enabled()) return std::nullopt;
  auto [found, bytes] = folder_->read(hex(key) + std::string(rt::CacheFolder::kSuffix));
  std::optional<std::string> object;
  if (found == rt::CacheFolder::Found::Whole) object = unseal(key, bytes, secret_);
  std::lock_guard lock(mutex_);
  counts_.hits += object.has_value();
  counts_.misses += !object;
  counts_.rejected += !object && found != rt::CacheFolder::Found::Absent;
  return object;
}

void ObjectCache::reject() {
  std::lock_guard lock(mutex_);
  --counts_.hits;
  ++counts_.misses;
  ++counts_.rejected;
}

void ObjectCache::store(const Digest& key, std::string_view object) {
  // A compiler that took the other's place on disk meanwhile has no name here.
  if (!enabled() || compiler_build_id() != compiler_build()) return;
  std::string file = seal(key, object, secret_);
  // Not what would push out half of all others.
  if (file.size() > std::min(settings_.limit / 2, rt::CacheFolder::kMostBytes)) return;
  {
    std::lock_guard lock(mutex_);
    if (full_) return;
  }
  auto problem = folder_->write(hex(key) + std::string(rt::CacheFolder::kSuffix), file);
  std::lock_guard lock(mutex_);
  if (problem) {
    full_ = true;
    kc::report(*problem);
    return;
  }
  ++counts_.stored;
  written_ += file.size();
}

ObjectCache::~ObjectCache() {
  try {
    if (written_ > 0) counts_.removed += folder_->grew(written_, settings_.limit).removed;
  } catch (const std::bad_alloc&) {
    // The next process keeps it.
  }
  kc::count(counts_);
}

}  // namespace ig::codegen
