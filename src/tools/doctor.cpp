// `intaglio doctor`: what this installation and this machine are, and whether a graph compiles and runs.
#include <dlfcn.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <fmt/ranges.h>

#include "codegen/compiler_library.h"
#include "codegen/jit.h"
#include "ops/table.h"
#include "passes/pass.h"
#include "runtime/kernel_cache.h"
#include "runtime/thread_pool.h"
#include "support/json.h"
#include "support/multiply_add.h"
#include "support/processor.h"
#include "support/storage.h"
#include "tensor/program.h"
#include "tools/command.h"

namespace ig::tools {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Lines of a report; each is printed, or becomes a member of a JSON object.
class Report {
 public:
  void text(std::string key, std::string value) { add(std::move(key), value, json_text(value)); }
  void number(std::string key, double value, std::string_view unit) {
    add(std::move(key), fmt::format("{:.4g} {}", value, unit), fmt::format("{:.6g}", value));
  }
  void count(std::string key, uint64_t value, std::string_view unit = "") {
    add(std::move(key), unit.empty() ? std::to_string(value) : fmt::format("{} {}", value, unit),
        std::to_string(value));
  }
  void list(std::string key, const std::vector<std::string>& values) {
    std::vector<std::string> quoted;
    for (const std::string& v : values) quoted.push_back(json_text(v));
    add(std::move(key), values.empty() ? "none" : fmt::format("{}", fmt::join(values, " ")),
        fmt::format("[{}]", fmt::join(quoted, ", ")));
  }
  void print(bool json) const {
    std::string out = json ? "{\n" : "";
    for (size_t i = 0; i < lines_.size(); ++i) {
      const Line& line = lines_[i];
      if (json)
        out += fmt::format("  {}: {}{}\n", json_text(line.key), line.json, i + 1 < lines_.size() ? "," : "");
      else
        out += fmt::format("{:<24} {}\n", line.key, line.plain);
    }
    write_file("-", out + (json ? "}\n" : ""));
  }

 private:
  struct Line {
    std::string key, plain, json;
  };
  void add(std::string key, std::string plain, std::string json) {
    if (plain.empty()) plain = "-";
    lines_.push_back({std::move(key), std::move(plain), std::move(json)});
  }
  std::vector<Line> lines_;
};

// The shared object that holds an address, and its size.
std::string library_of(const void* address) {
  Dl_info found;
  if (!dladdr(address, &found) || !found.dli_fname) return "";
  char* path = realpath(found.dli_fname, nullptr);
  std::string out = path ? path : found.dli_fname;
  std::free(path);
  return out;
}
void add_library(Report& report, std::string key, const std::string& path) {
  struct stat status;
  if (path.empty() || stat(path.c_str(), &status) != 0) return report.text(std::move(key), "not there");
  report.text(key, path);
  report.count(key + " size", static_cast<uint64_t>(status.st_size), "bytes");
}

int affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

// --- probes
// ----------------------------------------------------------------------------------------------------------

// Bytes read and written in a second by a copy that no cache holds, on all threads; the best of some rounds.
double copy_bandwidth() {
  constexpr size_t kBytes = size_t{64} << 20;
  constexpr int64_t kChunk = 1 << 20;
  Storage from = Storage::allocate(kBytes), to = Storage::allocate(kBytes);
  std::memset(from.data(), 1, kBytes);
  std::memset(to.data(), 2, kBytes);
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    auto start = Clock::now();
    rt::ThreadPool::instance().parallel_for(kBytes / kChunk, 1, [&](int64_t begin, int64_t end) {
      std::memcpy(static_cast<char*>(to.data()) + begin * kChunk,
                  static_cast<const char*>(from.data()) + begin * kChunk,
                  static_cast<size_t>((end - begin) * kChunk));
    });
    best = std::max(best, 2.0 * kBytes / seconds_since(start));
  }
  return best;
}

// Float32 operations in a second on all threads, two a multiply-add; 0 where the processor has none.
double multiply_add_peak() {
  constexpr int64_t kSteps = 200'000;
  const probe::MultiplyAdd* widest = probe::widest_multiply_add();
  if (!widest) return 0;
  int threads = rt::ThreadPool::instance().num_threads();
  volatile float keep = 0;
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    auto start = Clock::now();
    rt::ThreadPool::instance().parallel_for(threads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) keep = widest->run(kSteps);
    });
    best = std::max(best, widest->operations * static_cast<double>(kSteps) * threads / seconds_since(start));
  }
  (void)keep;
  return best;
}

// One graph all the way: text, passes, machine code, a run, the right answer.
std::string self_test() {
  try {
    auto start = Clock::now();
    auto graph = Graph::parse(
        "graph @self(%x: f32[n]) where n { %y = multiply(%x, %x) : f32[n] %z = add(%y, %x) : f32[n] return "
        "%z }");
    auto program = compile(*graph);
    Tensor inputs[] = {Tensor::from(Literal::from<float>(DType::F32, {3}, {1, 2, 3}))};
    Literal result = program->run(inputs)[0].literal();
    if (!(result == Literal::from<float>(DType::F32, {3}, {2, 6, 12})))
      return "FAILED: x·x + x came out as " + result.str();
    return fmt::format("passed: a graph was compiled and run in {:.1f} ms", seconds_since(start) * 1e3);
  } catch (const std::exception& error) {
    return fmt::format("FAILED: {}", error.what());
  }
}

std::string cache_line() {
  rt::kernel_cache::Info cache = rt::kernel_cache::info();
  if (!cache.settings.enabled) return "off";
  std::string problem = cache.problem;
  for (size_t at; (at = problem.find("\n  ")) != std::string::npos;) problem.replace(at, 3, "; ");
  if (!problem.empty()) return "not used: " + problem;
  return fmt::format("{}: {} kernels, {} of at most {} bytes", cache.settings.folder, cache.entries,
                     cache.bytes, cache.settings.limit);
}

}  // namespace

void doctor(bool json) {
  Report report;
  Progress progress;
  report.text("version", INTAGLIO_VERSION);
  report.text("compiler", fmt::format("LLVM {}", codegen::llvm_version()));
  add_library(report, "runtime library",
              library_of(reinterpret_cast<const void*>(&rt::available_processors)));
  std::string graphs = library_of(reinterpret_cast<const void*>(&compiler_available));
  add_library(report, "graph library", graphs);
  add_library(report, "compiler library", codegen::compiler_library_path());
  add_library(report, "prebuilt kernels", graphs.substr(0, graphs.rfind('/') + 1) + "libintaglio_kernels.so");
  report.count("ops", ops::all().size());
  report.count("passes", passes::all().size());

  report.text("processor", processor_name());
  std::vector<std::string> features;
  for (std::string_view feature : processor_features()) features.emplace_back(feature);
  report.list("features", features);
  std::vector<std::string> targets;
  for (const char* name : {"x86-64-v2", "x86-64-v3", "x86-64-v4"})
    if (codegen::Target::named(name).runs_here()) targets.emplace_back(name);
  targets.emplace_back("native");
  report.list("targets that run here", targets);
  report.text("target", codegen::Target::host().name);
  report.count("processors online", static_cast<uint64_t>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L)));
  report.count("processors allowed", static_cast<uint64_t>(affinity()));
  report.count("processors after quota", static_cast<uint64_t>(rt::available_processors()));
  report.count("pool threads", static_cast<uint64_t>(rt::ThreadPool::instance().num_threads()));
  report.count("memory limit", memory_limit(), "bytes");
  std::vector<std::string> settings;
  for (char** entry = environ; *entry; ++entry)
    if (std::strncmp(*entry, "INTAGLIO_", 9) == 0) settings.emplace_back(*entry);
  report.list("settings", settings);
  report.text("kernel cache", cache_line());
  progress.show("measuring the memory …");
  report.number("copy bandwidth", copy_bandwidth() * 1e-9, "GB/s read and written");
  progress.show("measuring arithmetic …");
  report.number("float32 multiply-add", multiply_add_peak() * 1e-9, "GFLOP/s");
  progress.show("compiling …");
  std::string test = self_test();
  report.text("self-test", test);
  progress.show("");
  report.print(json);
  if (!test.starts_with("passed"))
    throw Error(ErrorKind::Internal, "the self-test failed")
        .why(test)
        .hint("this is a fault in Intaglio or in its installation; please report it with the lines above");
}

}  // namespace ig::tools
