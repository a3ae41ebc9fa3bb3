// The thread pool: every block once, the same bits for any number of threads, errors and exceptions of the
// lowest range, nesting, several callers, scratch, the floating-point control word, the environment, fork.
#include "runtime/thread_pool.h"

#include <gtest/gtest.h>
#include <immintrin.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/error.h"

namespace ig::rt {
namespace {

struct Threads {
  int before = ThreadPool::instance().num_threads();
  explicit Threads(int n) { ThreadPool::instance().set_num_threads(n); }
  ~Threads() { ThreadPool::instance().set_num_threads(before); }
};

// Runs go back by turns, also on processors where that does not pay.
struct Alternating {
  bool before = ThreadPool::instance().set_alternating(true);
  ~Alternating() { ThreadPool::instance().set_alternating(before); }
};

int32_t square_blocks(const KernelArgs* args, int64_t begin, int64_t end) {
  const auto* in = static_cast<const float*>(args->buffers[0]);
  auto* out = static_cast<float*>(args->buffers[1]);
  int64_t width = args->dims[0];
  for (int64_t b = begin; b < end; ++b) {
    float sum = 0;
    for (int64_t i = 0; i < width; ++i) sum += std::sqrt(in[b * width + i]) * 1.1f;
    out[b] = sum;
  }
  return 0;
}

int32_t fail_from(const KernelArgs* args, int64_t begin, int64_t end) {
  int64_t limit = args->dims[0];
  for (int64_t b = begin; b < end; ++b)
    if (b >= limit) {
      args->error[0] = 7;
      args->error[1] = b;
      return 3;
    }
  return 0;
}

TEST(ThreadPool, ResultsAreTheSameForOneToFourThreads) {
  constexpr int64_t kBlocks = 1000, kWidth = 37;
  std::vector<float> in(kBlocks * kWidth);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 1013) * 0.37f;
  std::vector<float> expected;
  for (int n = 1; n <= 4; ++n) {
    Threads threads(n);
    for (int64_t grain : {1, 7, 400, 5000}) {
      std::vector<float> out(kBlocks, -1.0f);
      void* buffers[] = {in.data(), out.data()};
      int64_t dims[] = {kWidth};
      KernelArgs args;
      args.buffers = buffers;
      args.dims = dims;
      ASSERT_EQ(ThreadPool::instance().run(square_blocks, args, kBlocks, grain, 0), 0);
      if (expected.empty()) expected = out;
      ASSERT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)), 0);
    }
  }
}

TEST(ThreadPool, ParallelForRunsEveryIndexOnce) {
  Threads threads(4);
  for (int64_t n : {0, 1, 2, 15, 16, 17, 1000, 4097}) {
    std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
    ThreadPool::instance().parallel_for(n, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
    });
    for (auto& count : seen) ASSERT_EQ(count, 1);
  }
}

TEST(ThreadPool, WorkIsSharedWhereEachGetsAGrain) {
  Threads threads(2);
  auto ranges = [](int64_t n, int64_t grain) {
    std::mutex lock;
    std::vector<std::pair<int64_t, int64_t>> out;
    ThreadPool::instance().parallel_for(n, grain, [&](int64_t begin, int64_t end) {
      std::lock_guard held(lock);
      out.emplace_back(begin, end);
    });
    std::sort(out.begin(), out.end());
    return out;
  };
  using Ranges = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(ranges(5, 3), (Ranges{{0, 5}}));
  EXPECT_EQ(ranges(8, 3), (Ranges{{0, 4}, {4, 8}}));
  EXPECT_EQ(ranges(9, 3), (Ranges{{0, 5}, {5, 9}}));  // not three, of which one would wait for the third
  EXPECT_EQ(ranges(16, 4), (Ranges{{0, 4}, {4, 8}, {8, 12}, {12, 16}}));
}

int32_t note_range(const KernelArgs* args, int64_t begin, int64_t end) {
  auto* ranges = static_cast<std::vector<std::pair<int64_t, int64_t>>*>(args->buffers[0]);
  ranges->emplace_back(begin, end);
  return 0;
}

// What the caches hold is what was touched last.
TEST(ThreadPool, EveryOtherLongRunGoesFromTheLastBlockToTheFirst) {
  Threads one_thread(1);
  Alternating alternating;
  auto first_of_run = [&](int64_t blocks, int64_t grain) {
    std::vector<std::pair<int64_t, int64_t>> ranges;
    void* buffers[] = {&ranges};
    KernelArgs args;
    args.buffers = buffers;
    EXPECT_EQ(ThreadPool::instance().run(note_range, args, blocks, grain, 0), 0);
    const int64_t first = ranges.front().first;
    std::ranges::sort(ranges);
    int64_t at = 0;
    for (auto [begin, end] : ranges) {
      EXPECT_EQ(begin, at);
      EXPECT_TRUE(ranges.size() == 1 || end - begin >= grain || end == blocks);
      at = end;
    }
    EXPECT_EQ(at, blocks);
    return first;
  };
  for (int64_t blocks : {64, 100, 1001}) {
    std::set<int64_t> begins;  // others may run between two of ours
    for (int i = 0; i < 8; ++i) begins.insert(first_of_run(blocks, 4));
    ASSERT_EQ(begins.size(), 2U);
    EXPECT_EQ(*begins.begin(), 0);
    EXPECT_GE(*begins.rbegin(), blocks * 7 / 8);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(first_of_run(blocks, blocks / 8), 0) << "soon done";
  }
}

// What each thread of a run took, in its order. The caller does not go on from his first blocks before
// `awaited` blocks have begun.
struct Taken {
  int64_t awaited = 0;
  std::atomic<int64_t> begun = 0;
  std::vector<int64_t> of_thread[2]{};
};
int32_t note_taken(const KernelArgs* args, int64_t begin, int64_t end) {
  auto& taken = *static_cast<Taken*>(args->buffers[0]);
  std::vector<int64_t>& own = taken.of_thread[args->thread];
  for (int64_t block = begin; block < end; ++block) own.push_back(block);
  taken.begun += end - begin;
  while (args->thread == 0 && taken.begun < taken.awaited) sched_yield();
  return 0;
}
void run_taken(Taken& taken, int64_t blocks, int64_t grain) {
  void* buffers[] = {&taken};
  KernelArgs args;
  args.buffers = buffers;
  constexpr int64_t kMuch = 1'000'000;  // so that a sleeping worker is woken at once
  ASSERT_EQ(ThreadPool::instance().run(note_taken, args, blocks, grain, 0, 0, kMuch), 0);
}

TEST(ThreadPool, EachThreadBeginsWithItsOwnPart) {
  Threads threads(2);
  Alternating alternating;
  std::set<std::pair<int64_t, int64_t>> begins;
  for (int round = 0; round < 6; ++round) {  // forwards and backwards
    Taken taken{2};
    run_taken(taken, 32, 1);
    begins.emplace(taken.of_thread[0].front(), taken.of_thread[1].front());
  }
  EXPECT_EQ(begins, (std::set<std::pair<int64_t, int64_t>>{{0, 16}, {15, 31}}));
}

TEST(ThreadPool, RunsGoForwardsWhereTheyDoNotAlternate) {
  Threads threads(2);
  Alternating alternating;
  ThreadPool::instance().set_alternating(false);
  for (int round = 0; round < 6; ++round) {
    Taken taken{2};
    run_taken(taken, 32, 1);
    EXPECT_EQ(taken.of_thread[0].front(), 0);
    EXPECT_EQ(taken.of_thread[1].front(), 16);
  }
}

// Of a part whose thread does not come along the last blocks are taken, so that it goes on where it is.
TEST(ThreadPool, WhatIsLeftIsTakenFromTheEnd) {
  Threads threads(2);
  Taken taken{8};
  run_taken(taken, 8, 1);  // too short a run to go backwards; the caller waits for all others
  EXPECT_EQ(taken.of_thread[0], (std::vector<int64_t>{0}));
  EXPECT_EQ(taken.of_thread[1], (std::vector<int64_t>{4, 5, 6, 7, 3, 2, 1}));
}

TEST(ThreadPool, ManyThreadsAndFewBlocks) {
  for (int n : {3, 5, 16}) {
    Threads threads(n);
    for (int64_t blocks : {2, 3, 4, 7, 15, 16, 17, 33}) {
      for (int round = 0; round < 20; ++round) {
        std::vector<std::atomic<int>> seen(static_cast<size_t>(blocks));
        ThreadPool::instance().parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
        });
        for (auto& count : seen) ASSERT_EQ(count, 1);
      }
    }
  }
}

TEST(ThreadPool, TheErrorOfTheLowestBlockIsReported) {
  for (int n = 1; n <= 4; ++n) {
    Threads threads(n);
    for (int round = 0; round < 50; ++round) {
      int64_t dims[] = {123};
      int64_t error[2] = {0, 0};
      KernelArgs args;
      args.dims = dims;
      args.error = error;
      ASSERT_EQ(ThreadPool::instance().run(fail_from, args, 1000, 1, 0), 3);
      ASSERT_EQ(error[0], 7);
      ASSERT_EQ(error[1], 123);
    }
  }
}

TEST(ThreadPool, TheExceptionOfTheLowestRangeIsThrown) {
  Threads threads(3);
  std::atomic<int> ran{0};
  try {
    ThreadPool::instance().parallel_for(12, 1, [&](int64_t begin, int64_t end) {
      ran += static_cast<int>(end - begin);
      if (begin >= 4) throw std::runtime_error(std::to_string(begin));
    });
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "4");
  }
  EXPECT_EQ(ran, 12);
  std::atomic<int> after{0};
  ThreadPool::instance().parallel_for(
      100, 1, [&](int64_t begin, int64_t end) { after += static_cast<int>(end - begin); });
  EXPECT_EQ(after, 100);
}

// Few blocks say little of the work in them: that shows when the first is done.
TEST(ThreadPool, AFewHeavyBlocksAreSharedWithSleepingWorkers) {
  using namespace std::chrono_literals;
  Threads threads(2);
  ThreadPool::instance().parallel_for(1000, 1, [](int64_t, int64_t) {});  // the worker has started
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(20ms);  // and sleeps
    std::atomic<int> helped{0};
    const std::thread::id caller = std::this_thread::get_id();
    ThreadPool::instance().parallel_for(4, 1, [&](int64_t begin, int64_t) {
      std::this_thread::sleep_for(1ms);
      if (std::this_thread::get_id() != caller) ++helped;
      // The caller leaves the rest to a worker that comes, and does not wait for one for ever.
      for (int i = 0; begin > 0 && helped == 0 && i < 10'000; ++i) std::this_thread::sleep_for(1ms);
    });
    EXPECT_GT(helped, 0) << "round " << round;
  }
}

// Where a worker is, and the processors it may use.
struct Whereabouts {
  std::atomic<int> at{-1};
  cpu_set_t allowed{};
};

// Of two blocks the worker's moves it to the processor in dims[0], if that is not -1, and leaves it there.
int32_t move_worker(const KernelArgs* args, int64_t, int64_t) {
  auto* worker = static_cast<Whereabouts*>(args->buffers[0]);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
  if (args->thread == 1) {
    sched_getaffinity(0, sizeof worker->allowed, &worker->allowed);
    if (args->dims[0] >= 0) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(static_cast<size_t>(args->dims[0]), &one);
      sched_setaffinity(0, sizeof one, &one);
      sched_setaffinity(0, sizeof worker->allowed, &worker->allowed);
    }
    worker->at = sched_getcpu();
  }
  while (std::chrono::steady_clock::now() < until) {
  }
  return 0;
}

// Block 0 waits for block 1, for ten seconds at most.
int32_t wait_for_other(const KernelArgs* args, int64_t begin, int64_t end) {
  auto* started = static_cast<std::atomic<bool>*>(args->buffers[0]);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (int64_t block = begin; block < end; ++block) {
    if (block == 1) started->store(true);
    while (!started->load())
      if (std::chrono::steady_clock::now() > until) return 1;
  }
  return 0;
}

TEST(ThreadPool, LargeBlocksWakeWorkersAtOnce) {
  Threads two(2);
  std::atomic<bool> started{false};
  void* buffers[] = {&started};
  int64_t error[2] = {0, 0};
  KernelArgs args;
  args.buffers = buffers;
  args.error = error;
  for (int i = 0; i < 3; ++i) {
    started = false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // workers have gone to sleep
    EXPECT_EQ(ThreadPool::instance().run(wait_for_other, args, 2, 1, 0, 1, 1000), 0);
  }
}

TEST(ThreadPool, WhoIsDoneBeforeTheOthersStaysAwake) {
  using namespace std::chrono_literals;
  using Clock = std::chrono::steady_clock;
  Threads two(2);
  ThreadPool& pool = ThreadPool::instance();
  bool helped = false;
  // A worker may lose its processor now and then.
  for (int round = 0; round < 50 && !helped; ++round) {
    std::atomic<bool> done{false}, began{false};
    auto first = [&](int64_t begin, int64_t) {
      if (begin == 1) return done.store(true);
      for (const auto until = Clock::now() + 1s; !done && Clock::now() < until;) std::this_thread::yield();
      for (const auto until = Clock::now() + 300us; Clock::now() < until;) {  // longer than a worker spins
      }
    };
    pool.parallel_for(2, 1, first, 1000);
    // Little work, as far as anybody knows: nobody is woken for it while its first part runs.
    pool.parallel_for(2, 1, [&](int64_t begin, int64_t) {
      if (begin == 1) return began.store(true);
      for (const auto until = Clock::now() + 20ms; !began && Clock::now() < until;) std::this_thread::yield();
      helped = began;
    });
  }
  EXPECT_TRUE(helped);
}

TEST(ThreadPool, AWorkerLeavesItsCallersProcessor) {
  cpu_set_t mine, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  if (CPU_COUNT(&mine) < 2) return;  // there is nowhere to go
  Threads two(2);
  Whereabouts worker;
  void* buffers[] = {&worker};
  int64_t to = -1, error[2] = {0, 0};
  KernelArgs args;
  args.buffers = buffers;
  args.dims = &to;
  args.error = error;
  auto run_until = [&](auto seen) {
    for (int i = 0; i < 2000 && !seen(); ++i) ThreadPool::instance().run(move_worker, args, 2, 1, 0);
    return seen();
  };
  ASSERT_TRUE(run_until([&] { return worker.at >= 0; })) << "the worker took no block";
  // The worker exists, so the caller alone is held where it is.
  const int here = sched_getcpu();
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(here), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  to = here;
  worker.at = -1;
  EXPECT_TRUE(run_until([&] { return worker.at == here; }));
  to = -1;
  EXPECT_TRUE(run_until([&] { return worker.at != here; })) << "it stayed beside its caller";
  EXPECT_TRUE(CPU_EQUAL(&worker.allowed, &mine)) << "it may go where it could before";
  sched_setaffinity(0, sizeof mine, &mine);
}

TEST(ThreadPool, NestedCallsRunInline) {
  Threads threads(4);
  std::atomic<int64_t> total{0};
  ThreadPool::instance().parallel_for(64, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::thread::id self = std::this_thread::get_id();
      ThreadPool::instance().parallel_for(100, 1, [&](int64_t b, int64_t e) {
        EXPECT_EQ(std::this_thread::get_id(), self);
        total += e - b;
      });
    }
  });
  EXPECT_EQ(total, 6400);
}

TEST(ThreadPool, SeveralCallersAtOnce) {
  Threads threads(4);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&, t] {
      for (int round = 0; round < 400; ++round) {
        int64_t n = 1 + (round * 7 + t) % 200;
        std::atomic<int64_t> sum{0};
        ThreadPool::instance().parallel_for(n, 1 + round % 3, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) sum += i;
        });
        if (sum != n * (n - 1) / 2) ++wrong;
      }
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, ResizingBetweenAndDuringCalls) {
  Threads threads(2);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread caller([&] {
    while (!stop) {
      std::atomic<int64_t> sum{0};
      ThreadPool::instance().parallel_for(97, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
      if (sum != 97) ++wrong;
    }
  });
  for (int i = 0; i < 60; ++i) ThreadPool::instance().set_num_threads(1 + i % 5);
  stop = true;
  caller.join();
  EXPECT_EQ(wrong, 0);
}

int32_t use_scratch(const KernelArgs* args, int64_t begin, int64_t end) {
  auto* scratch = static_cast<int64_t*>(args->scratch);
  if (reinterpret_cast<uintptr_t>(scratch) % 64 != 0) return 1;
  auto* out = static_cast<int64_t*>(args->buffers[0]);
  for (int64_t b = begin; b < end; ++b) {
    for (int64_t i = 0; i < 100; ++i) scratch[i] = b + i;
    int64_t sum = 0;
    for (int64_t i = 0; i < 100; ++i) sum += scratch[i];
    out[b] = sum;
  }
  return args->thread < 4 ? 0 : 2;
}

TEST(ThreadPool, EachThreadHasItsOwnScratch) {
  Threads threads(4);
  std::vector<int64_t> out(500);
  void* buffers[] = {out.data()};
  KernelArgs args;
  args.buffers = buffers;
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(ThreadPool::instance().run(use_scratch, args, 500, 1, 800), 0);
    for (int64_t b = 0; b < 500; ++b) ASSERT_EQ(out[static_cast<size_t>(b)], b * 100 + 4950);
  }
}

int32_t halve_denormal(const KernelArgs* args, int64_t begin, int64_t end) {
  auto* data = static_cast<volatile float*>(args->buffers[0]);
  for (int64_t b = begin; b < end; ++b) data[b] = data[b] * 0.5f;
  return 0;
}

TEST(ThreadPool, DenormalsAreHonouredWhateverTheCallerSet) {
  unsigned before = _mm_getcsr();
  for (int n : {1, 3}) {
    Threads threads(n);
    std::vector<float> data(200, 1e-39f);
    void* buffers[] = {data.data()};
    KernelArgs args;
    args.buffers = buffers;
    _mm_setcsr(before | 0x8040 | 0x6000);  // flush to zero, denormals are zero, round towards zero
    unsigned set = _mm_getcsr();
    ThreadPool::instance().run(halve_denormal, args, 200, 1, 0);
    unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    EXPECT_EQ(after, set);
    for (float v : data) ASSERT_GT(v, 0.0f);
  }
}

TEST(ThreadPool, WorkersFlushDenormalsAsTheirCallerDoes) {
  const unsigned before = _mm_getcsr();
  for (int n : {1, 3}) {
    Threads threads(n);
    for (bool flush : {true, false, true}) {
      std::vector<float> data(200, 1e-38f);
      void* buffers[] = {data.data()};
      KernelArgs args;
      args.buffers = buffers;
      {
        FloatScope floats(flush);
        ThreadPool::instance().run(halve_denormal, args, 200, 1, 0);
        FloatScope kept(false);  // as a callback's
        ThreadPool::instance().run(halve_denormal, args, 1, 1, 0);
      }
      EXPECT_EQ(_mm_getcsr() & 0xffc0, before & 0xffc0);
      for (float v : data) ASSERT_EQ(v == 0, flush);
    }
  }
}

TEST(ThreadPool, ThreadCountsOutsideTheRangeAreErrors) {
  for (int n : {0, -1, 1025}) {
    try {
      ThreadPool::instance().set_num_threads(n);
      FAIL() << n << " was taken";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::Value);
      EXPECT_FALSE(e.hint_text().empty());
    }
  }
  EXPECT_GE(available_processors(), 1);
}

// The variable is read once a process, so each value is tried in a process of its own.
TEST(ThreadPoolDeathTest, TheEnvironmentIsChecked) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  for (const char* text : {"0", "-2", "many", "", "3x", "99999999999"}) {
    EXPECT_EXIT(
        {
          setenv("INTAGLIO_NUM_THREADS", text, 1);
          try {
            ThreadPool::instance().num_threads();
            _exit(1);
          } catch (const Error& e) {
            std::string expected =
                std::string("INTAGLIO_NUM_THREADS=") + text + " is not a number of threads";
            _exit(e.summary() == expected && !e.why_text().empty() && !e.hint_text().empty() ? 0 : 2);
          }
        },
        testing::ExitedWithCode(0), "");
  }
  EXPECT_EXIT(
      {
        setenv("INTAGLIO_NUM_THREADS", "3", 1);
        _exit(ThreadPool::instance().num_threads() == 3 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(ThreadPool, WorksInAForkedChild) {
  Threads threads(3);
  auto sum_to = [](int64_t n) {
    std::atomic<int64_t> sum{0};
    ThreadPool::instance().parallel_for(n, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    return sum.load();
  };
  ASSERT_EQ(sum_to(1000), 1000);
  pid_t child = fork();
  if (child == 0) {
    bool ok = true;
    for (int i = 0; i < 50; ++i) ok = ok && sum_to(1000) == 1000;
    _exit(ok ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(sum_to(1000), 1000);
}

}  // namespace
}  // namespace ig::rt
