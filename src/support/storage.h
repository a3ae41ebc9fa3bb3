// A block of bytes with one owner count: the memory behind tensors, constants and arenas. It is aligned to
// 64 bytes unless it was adopted from another library. Arrays are values, so a Storage that is shared is
// read-only; `unique()` says whether an in-place write would be seen by anybody else.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace ig {

inline constexpr size_t kAlignment = 64;

class Storage {
 public:
  Storage() = default;

  // Uninitialised bytes from the caching allocator. Throws Error(Memory) where the system has none left.
  static Storage allocate(size_t bytes);
  // Memory that somebody else owns; `release` runs once when the last handle goes.
  static Storage adopt(void* data, size_t bytes, std::function<void()> release, bool read_only = true);

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  bool unique() const { return owner_.use_count() == 1 && !read_only_; }
  bool read_only() const { return read_only_; }
  explicit operator bool() const { return owner_ != nullptr; }
  bool operator==(const Storage& other) const { return owner_ == other.owner_; }

 private:
  std::shared_ptr<void> owner_;
  void* data_ = nullptr;
  size_t bytes_ = 0;
  bool read_only_ = false;
};

// What the allocator holds, in bytes; `peak` since the last reset.
struct AllocatorStats {
  size_t live, cached, peak;
};
AllocatorStats allocator_stats();
void reset_allocator_peak();

// Gives cached blocks back to the system (those of other threads' small caches excepted).
void release_cached_memory();

// The most bytes that `allocate` may hold at once, live and cached: INTAGLIO_MEMORY_LIMIT in bytes where it
// is set, else the machine's memory and swap or the container's limit. Beyond it an allocation throws
// Error(Memory).
size_t memory_limit();
void set_memory_limit(size_t bytes);

}  // namespace ig
