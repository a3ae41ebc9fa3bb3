// The caching allocator behind Storage. A block is a 64-byte header followed by the data; the owner count
// lives in the header, so a Storage is one allocation. Freed blocks are kept by size class (eight a doubling,
// so at most an eighth is lost to rounding, and of big blocks only address space): small ones in a list of
// the thread, the rest in central lists under a lock, bounded together. Blocks from 1 MiB on are mapped from
// the system directly.
#include "support/storage.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "support/error.h"
#include "support/units.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace ig {
namespace {

constexpr size_t kHeader = 64;
constexpr size_t kMapFrom = size_t{1} << 20;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kMaxBytes = size_t{1} << 46;
constexpr int kClasses = 8 + (46 - 9) * 8;
constexpr int kSmallClasses = 8 + 6 * 8;  // up to 32 KiB

struct SizeClass {
  int index;
  size_t bytes;
};

// Multiples of 64 up to 512, then eight classes for each doubling.
SizeClass size_class(size_t bytes) {
  if (bytes == 0) bytes = 1;
  size_t last = bytes - 1;
  if (last < 512) return {static_cast<int>(last >> 6), ((last >> 6) + 1) << 6};
  int width = std::bit_width(last);
  int shift = width - 4;
  return {8 + (width - 10) * 8 + static_cast<int>(last >> shift) - 8, ((last >> shift) + 1) << shift};
}

// What stands in a block's header. While the block is live its first bytes hold the control block of the
// owner count; while it is cached they hold the link of its list.
struct Header {
  union {
    Header* next;
    std::byte control[40];
  };
  int32_t index;
  uint32_t pad;
  size_t asked;  // bytes that the user asked for
  size_t bytes;  // bytes of the class
};
static_assert(sizeof(Header) == kHeader);

char* data_of(Header* h) { return reinterpret_cast<char*>(h) + kHeader; }
size_t counted(size_t asked) { return (asked + kAlignment - 1) & ~(kAlignment - 1); }

// The address sanitizer is told which bytes belong to nobody: cached blocks, and a block's tail beyond what
// was asked.
void poison([[maybe_unused]] Header* h) {
#if defined(__SANITIZE_ADDRESS__)
  ASAN_POISON_MEMORY_REGION(data_of(h), h->bytes);
#endif
}
void unpoison([[maybe_unused]] Header* h, [[maybe_unused]] size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  ASAN_UNPOISON_MEMORY_REGION(data_of(h), bytes);
#endif
}

size_t initial_limit() {
  if (const char* text = std::getenv("INTAGLIO_MEMORY_LIMIT")) {
    size_t value = 0;
    const char* end = text + std::strlen(text);
    auto [stop, code] = std::from_chars(text, end, value);
    if (code != std::errc() || stop != end || value == 0)
      throw make_error(ErrorKind::Value, "INTAGLIO_MEMORY_LIMIT={} is not a number of bytes", text)
          .why("the variable limits what arrays may hold and must be a whole number above zero")
          .hint("write it in plain bytes, as INTAGLIO_MEMORY_LIMIT=8589934592, or unset it");
    return value;
  }
  struct sysinfo machine{};
  size_t limit = kMaxBytes;
  if (sysinfo(&machine) == 0) limit = (machine.totalram + machine.totalswap) * machine.mem_unit;
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    size_t value = 0;
    if (file >> value && value > 0) limit = std::min(limit, value);
  }
  return limit;
}

// The lists shared by all threads. It is never destroyed: Storages may outlive every static object.
class Central {
 public:
  static Central& instance() {
    static Central* central = new Central;
    return *central;
  }

  Header* take(SizeClass cls) {
    {
      std::lock_guard lock(mutex_);
      if (Header* h = pop(cls.index)) return h;
      if (held_ + cls.bytes <= limit_.load(std::memory_order_relaxed)) {
        held_ += cls.bytes;
      } else {
        evict(0);
        if (held_ + cls.bytes > limit_.load(std::memory_order_relaxed)) return nullptr;
        held_ += cls.bytes;
      }
    }
    void* memory = from_system(cls.bytes + kHeader);
    if (!memory) {
      std::lock_guard lock(mutex_);
      evict(0);
      memory = from_system(cls.bytes + kHeader);
      if (!memory) {
        held_ -= cls.bytes;
        return nullptr;
      }
    }
    auto* h = new (memory) Header;
    h->index = cls.index;
    h->bytes = cls.bytes;
    poison(h);
    return h;
  }

  void give(Header* h) {
    std::lock_guard lock(mutex_);
    if (h->bytes > cache_limit_ / 2) {
      to_system(h);
      return;
    }
    if (cached_ + h->bytes > cache_limit_) evict(cache_limit_ / 2);
    h->next = lists_[h->index];
    lists_[h->index] = h;
    cached_ += h->bytes;
  }

  void trim() {
    std::lock_guard lock(mutex_);
    evict(0);
  }

  size_t cached() {
    std::lock_guard lock(mutex_);
    size_t total = cached_;
    for (const std::atomic<size_t>* thread : threads_) total += thread->load(std::memory_order_relaxed);
    return total;
  }
  size_t held() {
    std::lock_guard lock(mutex_);
    return held_;
  }
  size_t limit() const { return limit_.load(std::memory_order_relaxed); }
  void set_limit(size_t bytes) { limit_.store(bytes, std::memory_order_relaxed); }

  void enter(const std::atomic<size_t>* thread) {
    std::lock_guard lock(mutex_);
    threads_.push_back(thread);
  }
  void leave(const std::atomic<size_t>* thread) {
    std::lock_guard lock(mutex_);
    std::erase(threads_, thread);
  }

  void add_live(size_t bytes) {
    size_t now = live_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    size_t peak = peak_.load(std::memory_order_relaxed);
    while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
  }
  void sub_live(size_t bytes) { live_.fetch_sub(bytes, std::memory_order_relaxed); }
  size_t live() const { return live_.load(std::memory_order_relaxed); }
  size_t peak() const { return peak_.load(std::memory_order_relaxed); }
  void reset_peak() { peak_.store(live(), std::memory_order_relaxed); }

 private:
  Central() : limit_(initial_limit()) {
    cache_limit_ = std::min(size_t{256} << 20, limit_.load() / 8);
    // A fork while another thread holds the lock must not leave it locked in the child.
    pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] { instance().mutex_.unlock(); });
  }

  Header* pop(int index) {
    Header* h = lists_[index];
    if (!h) return nullptr;
    lists_[index] = h->next;
    cached_ -= h->bytes;
    return h;
  }

  // Frees cached blocks, the largest classes first, until `target` bytes are left.
  void evict(size_t target) {
    for (int i = kClasses - 1; i >= 0 && cached_ > target; --i)
      while (cached_ > target)
        if (Header* h = pop(i)) {
          to_system(h);
        } else {
          break;
        }
  }

  static void* from_system(size_t bytes) {
    if (bytes < kMapFrom) return std::aligned_alloc(kAlignment, bytes);
    // From a huge page on the mapping starts at the boundary of one: far fewer page faults on first touch.
    size_t slack = bytes >= kHugePage ? kHugePage : 0;
    void* p = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    if (slack == 0) return p;
    auto start = reinterpret_cast<uintptr_t>(p);
    uintptr_t aligned = (start + kHugePage - 1) & ~(kHugePage - 1);
    if (aligned > start) munmap(p, aligned - start);
    static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    uintptr_t end = (aligned + bytes + page - 1) & ~(page - 1);
    if (start + bytes + slack > end) munmap(reinterpret_cast<void*>(end), start + bytes + slack - end);
    auto* memory = reinterpret_cast<void*>(aligned);
    madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
  }

  void to_system(Header* h) {
    held_ -= h->bytes;
    unpoison(h, h->bytes);
    size_t bytes = h->bytes + kHeader;
    if (bytes < kMapFrom) {
      std::free(h);
    } else {
      munmap(h, bytes);
    }
  }

  std::mutex mutex_;
  std::array<Header*, kClasses> lists_{};
  std::vector<const std::atomic<size_t>*> threads_;
  size_t held_ = 0;    // taken from the system and not given back
  size_t cached_ = 0;  // of these, in the central lists
  size_t cache_limit_ = 0;
  std::atomic<size_t> limit_;
  alignas(64) std::atomic<size_t> live_{0};
  std::atomic<size_t> peak_{0};
};

// The free lists of one thread. Its byte count is atomic only so that the statistics may read it.
struct ThreadCache {
  struct List {
    Header* head = nullptr;
    uint32_t count = 0;
  };
  std::array<List, kSmallClasses> lists{};
  std::atomic<size_t> bytes{0};

  ThreadCache() { Central::instance().enter(&bytes); }
  ~ThreadCache() {
    flush();
    Central::instance().leave(&bytes);
  }
  ThreadCache(const ThreadCache&) = delete;
  ThreadCache& operator=(const ThreadCache&) = delete;

  void flush() {
    for (List& list : lists) {
      while (Header* h = list.head) {
        list.head = h->next;
        Central::instance().give(h);
      }
      list.count = 0;
    }
    bytes.store(0, std::memory_order_relaxed);
  }
  void account(size_t delta) {
    bytes.store(bytes.load(std::memory_order_relaxed) + delta, std::memory_order_relaxed);
  }
};

// Null before a thread's first use and after its end: blocks freed so late go to the central lists.
thread_local ThreadCache* t_cache = nullptr;
thread_local bool t_ended = false;

struct ThreadCacheOwner {
  ThreadCache cache;
  ThreadCacheOwner() { t_cache = &cache; }
  ~ThreadCacheOwner() {
    t_cache = nullptr;
    t_ended = true;
  }
};

ThreadCache* thread_cache() {
  if (t_cache || t_ended) return t_cache;
  thread_local ThreadCacheOwner owner;
  return &owner.cache;
}

uint32_t list_cap(size_t bytes) {
  return static_cast<uint32_t>(std::clamp<size_t>((128u << 10) / bytes, 4, 128));
}

Header* take_block(size_t asked) {
  SizeClass cls = size_class(asked);
  Header* h = nullptr;
  if (cls.index < kSmallClasses)
    if (ThreadCache* cache = thread_cache()) {
      ThreadCache::List& list = cache->lists[cls.index];
      if ((h = list.head)) {
        list.head = h->next;
        --list.count;
        cache->account(size_t{0} - h->bytes);
      }
    }
  Central& central = Central::instance();
  if (!h) h = central.take(cls);
  if (!h) return nullptr;
  h->asked = asked;
  unpoison(h, asked);
  central.add_live(counted(asked));
  return h;
}

void release_block(Header* h) {
  Central::instance().sub_live(counted(h->asked));
  poison(h);
  if (h->index < kSmallClasses)
    if (ThreadCache* cache = thread_cache()) {
      ThreadCache::List& list = cache->lists[h->index];
      if (list.count < list_cap(h->bytes)) {
        h->next = list.head;
        list.head = h;
        ++list.count;
        cache->account(h->bytes);
        return;
      }
    }
  Central::instance().give(h);
}

// Puts the control block of a shared_ptr into the header; the block goes back when the control block does,
// after the last handle.
template <typename T>
struct InHeader {
  using value_type = T;
  Header* header;

  explicit InHeader(Header* h) : header(h) {}
  template <typename U>
  InHeader(const InHeader<U>& other) : header(other.header) {}

  T* allocate(size_t) {
    static_assert(sizeof(T) <= sizeof(Header::control) && alignof(T) <= alignof(Header));
    return reinterpret_cast<T*>(header->control);
  }
  void deallocate(T*, size_t) { release_block(header); }
  template <typename U>
  bool operator==(const InHeader<U>& other) const {
    return header == other.header;
  }
};

struct NoDelete {
  void operator()(void*) const {}
};

// The owner of adopted memory; the release function runs once, with the last handle.
struct Adopted {
  std::function<void()> release;
  explicit Adopted(std::function<void()> r) : release(std::move(r)) {}
  Adopted(const Adopted&) = delete;
  Adopted& operator=(const Adopted&) = delete;
  ~Adopted() {
    if (release) release();
  }
};

}  // namespace

Storage Storage::allocate(size_t bytes) {
  Header* h = bytes <= kMaxBytes ? take_block(bytes) : nullptr;
  if (!h) {
    Central& central = Central::instance();
    size_t limit = central.limit();
    bool over = bytes > limit || central.held() > limit - bytes;
    throw make_error(ErrorKind::Memory, "cannot allocate {} for an array", readable_bytes(bytes))
        .why(fmt::format("arrays hold {} now, and {} {}", readable_bytes(central.live()),
                         over ? "may hold at most" : "the system has no more to give, of",
                         readable_bytes(limit)))
        .hint(
            "use smaller sizes or batches, donate or delete arrays that are no longer needed, or raise "
            "INTAGLIO_MEMORY_LIMIT");
  }
  Storage s;
  s.owner_ = std::shared_ptr<void>(data_of(h), NoDelete{}, InHeader<std::byte>(h));
  s.data_ = data_of(h);
  s.bytes_ = bytes;
  return s;
}

Storage Storage::adopt(void* data, size_t bytes, std::function<void()> release, bool read_only) {
  Storage s;
  s.owner_ = std::make_shared<Adopted>(std::move(release));
  s.data_ = data;
  s.bytes_ = bytes;
  s.read_only_ = read_only;
  return s;
}

AllocatorStats allocator_stats() {
  Central& central = Central::instance();
  return {central.live(), central.cached(), central.peak()};
}

void reset_allocator_peak() { Central::instance().reset_peak(); }

void release_cached_memory() {
  if (ThreadCache* cache = thread_cache()) cache->flush();
  Central::instance().trim();
}

size_t memory_limit() { return Central::instance().limit(); }
void set_memory_limit(size_t bytes) { Central::instance().set_limit(bytes); }

}  // namespace ig
