// What the machine itself reaches: the bandwidth of a copy, of a copy by streaming stores, of a pass in place
// and of a read, and the peak of fused multiply-adds. Benchmarks compare with these, measured in the same
// run.
//   intaglio_limits [--kind copy|stream|in_place|read|fma|all] [--mib N] [--threads N] [--ms N]
// One JSON object on stdout: a list of measures, each with the median and the best of its passes in GB/s
// (bytes read and written) or GFLOP/s, and the median by the processor time of the first
// thread, which other processes do not lengthen by taking turns.
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "support/multiply_add.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMiB = std::size_t{1} << 20;

// ---- the kernels: one thread's part
// -----------------------------------------------------------------------------

__attribute__((target("avx2"))) void copy_avx2(float* to, const float* from, std::size_t n) {
  for (std::size_t i = 0; i < n; i += 32) {
    for (std::size_t j = 0; j < 32; j += 8) _mm256_store_ps(to + i + j, _mm256_load_ps(from + i + j));
  }
}

__attribute__((target("avx2"))) void stream_avx2(float* to, const float* from, std::size_t n) {
  for (std::size_t i = 0; i < n; i += 32) {
    for (std::size_t j = 0; j < 32; j += 8) _mm256_stream_ps(to + i + j, _mm256_load_ps(from + i + j));
  }
  _mm_sfence();
}

__attribute__((target("avx2"))) void in_place_avx2(float* x, const float*, std::size_t n) {
  const __m256 one = _mm256_set1_ps(1.0F);
  for (std::size_t i = 0; i < n; i += 32) {
    for (std::size_t j = 0; j < 32; j += 8)
      _mm256_store_ps(x + i + j, _mm256_add_ps(_mm256_load_ps(x + i + j), one));
  }
}

__attribute__((target("avx2"))) void read_avx2(float* to, const float* from, std::size_t n) {
  __m256 sums[8] = {};
  for (std::size_t i = 0; i < n; i += 64) {
    for (std::size_t j = 0; j < 8; ++j) sums[j] = _mm256_add_ps(sums[j], _mm256_load_ps(from + i + 8 * j));
  }
  for (std::size_t j = 1; j < 8; ++j) sums[0] = _mm256_add_ps(sums[0], sums[j]);
  _mm256_store_ps(to, sums[0]);
}

constexpr int kTurns = 1 << 16;

void fma_avx2(float* to, const float*, std::size_t) { *to = ig::probe::kMultiplyAdd256.run(kTurns); }
void fma_avx512(float* to, const float*, std::size_t) { *to = ig::probe::kMultiplyAdd512.run(kTurns); }

// ---- measuring
// ----------------------------------------------------------------------------------------------------

struct Kind {
  const char* name;
  void (*run)(float* to, const float* from, std::size_t n);
  double work_per_element;  // bytes read and written for an element, or flops of a whole call
  bool flops;
};

std::vector<Kind> kinds(const std::string& wanted) {
  std::vector<Kind> all = {{"copy", copy_avx2, 8, false},
                           {"stream", stream_avx2, 8, false},
                           {"in_place", in_place_avx2, 8, false},
                           {"read", read_avx2, 4, false},
                           {"fma_avx2", fma_avx2, ig::probe::kMultiplyAdd256.operations * kTurns, true}};
  if (__builtin_cpu_supports("avx512f")) {
    all.push_back({"fma_avx512", fma_avx512, ig::probe::kMultiplyAdd512.operations * kTurns, true});
  }
  if (wanted == "all") return all;
  std::erase_if(all,
                [&](const Kind& kind) { return kind.name != wanted && !(wanted == "fma" && kind.flops); });
  return all;
}

struct Release {
  void operator()(float* p) const { ::operator delete[](p, std::align_val_t{4096}); }
};
using Floats = std::unique_ptr<float[], Release>;

Floats floats(std::size_t n) {
  Floats made(new (std::align_val_t{4096}) float[n]);
  std::fill_n(made.get(), n, 1.0F);
  return made;
}

std::vector<int> own_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> found;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) found.push_back(cpu);
  }
  return found;
}

struct Measure {
  double median = 0;
  double best = 0;
  double processor = 0;
};

double processor_seconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Where threads wait for each other. They spin: one that sleeps may take as long to wake as a pass takes.
class Gate {
 public:
  explicit Gate(int threads) : threads_(threads) {}
  void arrive_and_wait() {
    const int turn = turn_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      turn_.store(turn + 1, std::memory_order_release);
      return;
    }
    for (int spins = 1; turn_.load(std::memory_order_acquire) == turn; ++spins)
      if (spins % 4096 == 0) std::this_thread::yield();
  }

 private:
  const int threads_;
  std::atomic<int> arrived_{0}, turn_{0};
};

// Passes over the arrays by all threads together, each on its own part, for so many milliseconds.
Measure measure(const Kind& kind, std::size_t mib, int threads, double ms) {
  const std::size_t part =
      kind.flops ? 64 : mib * kMiB / sizeof(float) / static_cast<std::size_t>(threads) / 64 * 64;
  const std::size_t n = part * static_cast<std::size_t>(threads);
  const Floats from = floats(n);
  const Floats to = floats(n);
  const double work =
      kind.flops ? kind.work_per_element * threads : kind.work_per_element * static_cast<double>(n);
  const std::vector<int> processors = own_processors();
  Gate gate(threads);
  std::vector<double> rates;
  std::vector<double> processor_rates;
  bool going = true;  // written by the first thread between two gates
  const auto begin = Clock::now();
  const auto member = [&](int index) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processors[static_cast<std::size_t>(index) % processors.size()], &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    const std::size_t offset = part * static_cast<std::size_t>(index);
    while (true) {
      gate.arrive_and_wait();
      if (!going) return;
      const auto start = Clock::now();
      const double used = processor_seconds();
      kind.run(to.get() + offset, from.get() + offset, part);
      const double busy = processor_seconds() - used;
      gate.arrive_and_wait();
      if (index == 0) {
        const auto now = Clock::now();
        rates.push_back(work / std::chrono::duration<double>(now - start).count() * 1e-9);
        processor_rates.push_back(work / busy * 1e-9);
        going = rates.size() < 4 || std::chrono::duration<double, std::milli>(now - begin).count() < ms;
      }
    }
  };
  std::vector<std::thread> others;
  for (int index = 1; index < threads; ++index) others.emplace_back(member, index);
  std::thread(member, 0).join();
  for (auto& other : others) other.join();
  for (auto* list : {&rates, &processor_rates}) {
    list->erase(list->begin());  // the first pass met cold pages
    std::sort(list->begin(), list->end());
  }
  return {rates[rates.size() / 2], rates.back(), processor_rates[processor_rates.size() / 2]};
}

int usage(const std::string& wrong) {
  fmt::print(
      stderr,
      "intaglio_limits: {}\n"
      "usage: intaglio_limits [--kind copy|stream|in_place|read|fma|all] [--mib N] [--threads N] [--ms N]\n",
      wrong);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::string wanted = "all";
  int mib = 16;
  int threads = 1;
  int ms = 200;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (i + 1 == argc) return usage(fmt::format("{} needs a value", option));
    const std::string value = argv[i + 1];
    int* number = option == "--mib"       ? &mib
                  : option == "--threads" ? &threads
                  : option == "--ms"      ? &ms
                                          : nullptr;
    if (option == "--kind") {
      wanted = value;
    } else if (number != nullptr) {
      char* end = nullptr;
      const long parsed = std::strtol(value.c_str(), &end, 10);
      if (*end != '\0' || value.empty() || parsed < 1 || parsed > 65536) {
        return usage(fmt::format("{} must be a whole number from 1 to 65536, not {}", option, value));
      }
      *number = static_cast<int>(parsed);
    } else {
      return usage(fmt::format("unknown option {}", option));
    }
  }
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    fmt::print(stderr, "intaglio_limits: this processor has no AVX2; its limits are not measured\n");
    return 1;
  }
  const std::vector<Kind> chosen = kinds(wanted);
  if (chosen.empty()) return usage(fmt::format("unknown kind {}", wanted));
  std::string rows;
  for (const Kind& kind : chosen) {
    const Measure measured = measure(kind, static_cast<std::size_t>(mib), threads, ms);
    rows += fmt::format(
        "{}{{\"kind\": \"{}\", \"mib\": {}, \"threads\": {}, \"unit\": \"{}\", \"median\": {:.2f}, \"best\": "
        "{:.2f}, "
        "\"processor\": {:.2f}}}",
        rows.empty() ? "" : ",\n  ", kind.name, kind.flops ? 0 : mib, threads,
        kind.flops ? "GFLOP/s" : "GB/s", measured.median, measured.best, measured.processor);
  }
  fmt::print("{{\"limits\": [\n  {}\n]}}\n", rows);
  return 0;
}
