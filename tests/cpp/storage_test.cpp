// Storage and its caching allocator: alignment, sharing, adoption, statistics, limits, threads, fork.
#include "support/storage.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "support/error.h"

namespace ig {
namespace {

TEST(Storage, AlignedAndWritableAtEverySize) {
  std::vector<Storage> kept;
  for (size_t bytes : {0, 1, 63, 64, 65, 511, 512, 513, 4095, 4096, 32768, 32769, 1 << 20, (1 << 20) + 1,
                       5 << 20, (33 << 20) + 17}) {
    Storage s = Storage::allocate(bytes);
    ASSERT_TRUE(s);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(s.data()) % kAlignment, 0u);
    EXPECT_EQ(s.bytes(), bytes);
    EXPECT_TRUE(s.unique());
    std::memset(s.data(), 0x5a, bytes);
    kept.push_back(s);
    EXPECT_FALSE(s.unique());
  }
  for (const Storage& s : kept)
    for (size_t i = 0; i < s.bytes(); i += 1 + s.bytes() / 64)
      ASSERT_EQ(static_cast<unsigned char*>(s.data())[i], 0x5a);
}

TEST(Storage, RandomSizesNeverOverlap) {
  std::mt19937_64 random(7);
  std::vector<Storage> live;
  auto stamp = [](const Storage& s, unsigned char v) { std::memset(s.data(), v, s.bytes()); };
  std::vector<unsigned char> marks;
  for (int i = 0; i < 3000; ++i) {
    if (live.size() > 40 || (!live.empty() && random() % 3 == 0)) {
      size_t k = random() % live.size();
      const auto* p = static_cast<unsigned char*>(live[k].data());
      if (live[k].bytes()) {
        ASSERT_EQ(p[0], marks[k]);
        ASSERT_EQ(p[live[k].bytes() - 1], marks[k]);
      }
      std::swap(live[k], live.back());
      std::swap(marks[k], marks.back());
      live.pop_back();
      marks.pop_back();
    } else {
      live.push_back(Storage::allocate(random() % (size_t{1} << (random() % 18))));
      marks.push_back(static_cast<unsigned char>(random()));
      stamp(live.back(), marks.back());
    }
  }
}

TEST(Storage, FreedBlocksAreUsedAgain) {
  for (size_t bytes : {100, 100000, 3 << 20}) {
    void* first = Storage::allocate(bytes).data();
    EXPECT_EQ(Storage::allocate(bytes).data(), first);
  }
}

TEST(Storage, AdoptReleasesOnceAndIsReadOnlyByDefault) {
  int released = 0;
  int value = 3;
  {
    Storage a = Storage::adopt(&value, sizeof value, [&] { ++released; });
    Storage b = a;
    EXPECT_EQ(a, b);
    EXPECT_TRUE(a.read_only());
    EXPECT_FALSE(a.unique());
    EXPECT_EQ(b.data(), &value);
    b = Storage();
    EXPECT_FALSE(a.unique());
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  Storage writable = Storage::adopt(&value, sizeof value, {}, false);
  EXPECT_TRUE(writable.unique());
  EXPECT_TRUE(Storage::adopt(nullptr, 0, {}));
  EXPECT_FALSE(Storage());
}

TEST(Storage, StatisticsFollowLiveCachedAndPeak) {
  release_cached_memory();
  reset_allocator_peak();
  size_t before = allocator_stats().live;
  {
    Storage s = Storage::allocate(1000);
    EXPECT_EQ(allocator_stats().live, before + 1024);
    Storage t = Storage::allocate(1 << 20);
    EXPECT_EQ(allocator_stats().peak, before + 1024 + (1 << 20));
  }
  AllocatorStats after = allocator_stats();
  EXPECT_EQ(after.live, before);
  EXPECT_GE(after.cached, size_t{1} << 20);
  EXPECT_EQ(after.peak, before + 1024 + (1 << 20));
  release_cached_memory();
  EXPECT_LT(allocator_stats().cached, size_t{1} << 20);
}

TEST(Storage, OverTheLimitIsAMemoryErrorInFourParts) {
  size_t limit = memory_limit();
  struct Restore {
    size_t limit;
    ~Restore() { set_memory_limit(limit); }
  } restore{limit};
  release_cached_memory();
  set_memory_limit(allocator_stats().live + (64 << 20));
  Storage fits = Storage::allocate(16 << 20);
  try {
    Storage::allocate(size_t{1} << 30);
    FAIL() << "the allocation did not throw";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Memory);
    EXPECT_EQ(e.summary(), "cannot allocate 1.00 GiB for an array");
    EXPECT_NE(e.why_text().find("may hold at most"), std::string::npos);
    EXPECT_FALSE(e.hint_text().empty());
  }
  EXPECT_THROW(Storage::allocate(SIZE_MAX), Error);
  EXPECT_THROW(Storage::allocate(SIZE_MAX - 100), Error);
  // Cached memory makes room before anything is refused.
  fits = Storage();
  EXPECT_TRUE(Storage::allocate(60 << 20));
}

TEST(Storage, ThreadsShareAndFreeEachOthersBlocks) {
  size_t before = allocator_stats().live;
  std::vector<Storage> made(64);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 200; ++round)
        for (int i = 0; i < 16; ++i) {
          Storage s = Storage::allocate(static_cast<size_t>(1 + (round * 97 + i * 31) % 5000));
          static_cast<char*>(s.data())[0] = static_cast<char>(t);
          made[static_cast<size_t>(t) * 16 + static_cast<size_t>(i)] = s;
        }
    });
  for (std::thread& t : threads) t.join();
  made.clear();
  EXPECT_EQ(allocator_stats().live, before);
}

TEST(Storage, WorksInAForkedChild) {
  Storage mine = Storage::allocate(5000);
  pid_t child = fork();
  if (child == 0) {
    bool ok = true;
    for (int i = 0; i < 100; ++i) ok = ok && Storage::allocate(static_cast<size_t>(i) * 1000).data();
    mine = Storage();
    _exit(ok ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace ig
