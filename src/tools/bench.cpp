// `intaglio bench`: how long a graph takes, beside a copy of as many bytes in the same rounds: on a machine
// that others use too, the ratio says more than the time.
#include <algorithm>
#include <chrono>
#include <cstring>

#include <fmt/ranges.h>

#include "runtime/thread_pool.h"
#include "support/json.h"
#include "tensor/profile.h"
#include "tensor/program.h"
#include "tools/command.h"

namespace ig::tools {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kWarmUp = 0.1;   // seconds
constexpr double kRound = 0.005;  // seconds that a round takes at least
constexpr int64_t kCopyChunk = 1 << 16;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <typename F>
double time_calls(int64_t calls, F&& call) {
  auto start = Clock::now();
  for (int64_t i = 0; i < calls; ++i) call();
  return seconds_since(start) / static_cast<double>(calls);
}

// Runs until it is warm; gives how many calls fill a round.
template <typename F>
int64_t warm_up(F&& call) {
  auto start = Clock::now();
  int64_t calls = 0;
  do call(), ++calls;
  while (seconds_since(start) < kWarmUp || calls < 3);
  double each = time_calls(std::min<int64_t>(calls, 64), call);
  return std::clamp<int64_t>(static_cast<int64_t>(kRound / std::max(each, 1e-9)), 1, 1'000'000);
}

struct Spread {
  double median, low, high;  // the middle half lies between low and high
};
Spread spread_of(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  size_t n = times.size();
  return {n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2, times[n / 4], times[n - 1 - n / 4]};
}

struct Row {
  int threads;
  int64_t calls;
  Spread time, copy;
  double ratio;  // median of the rounds' own ratios
};

Row measure(const Program& program, std::span<const Tensor> inputs, size_t bytes, int threads, int rounds,
            Progress& progress) {
  rt::ThreadPool& pool = rt::ThreadPool::instance();
  pool.set_num_threads(threads);
  // The graph reads and writes `bytes`; a copy of half of them does the same.
  size_t half = std::max<size_t>(bytes / 2, 1);
  Storage from = Storage::allocate(half), to = Storage::allocate(half);
  std::memset(from.data(), 1, half);
  std::memset(to.data(), 2, half);
  auto copy = [&] {
    auto chunks = static_cast<int64_t>((half + kCopyChunk - 1) / kCopyChunk);
    pool.parallel_for(chunks, 16, [&](int64_t begin, int64_t end) {
      auto first = static_cast<size_t>(begin * kCopyChunk),
           last = std::min(half, static_cast<size_t>(end * kCopyChunk));
      std::memcpy(static_cast<char*>(to.data()) + first, static_cast<const char*>(from.data()) + first,
                  last - first);
    });
  };
  auto call = [&] { program.run(inputs); };
  progress.show(fmt::format("{} threads: warming up …", threads));
  int64_t calls = warm_up(call), copies = warm_up(copy);
  std::vector<double> times, copy_times, ratios;
  for (int round = 0; round < rounds; ++round) {
    progress.show(fmt::format("{} threads: round {} of {} …", threads, round + 1, rounds));
    times.push_back(time_calls(calls, call));
    copy_times.push_back(time_calls(copies, copy));
    ratios.push_back(times.back() / copy_times.back());
  }
  progress.show("");
  return {threads, calls, spread_of(times), spread_of(copy_times), spread_of(ratios).median};
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.2f} µs", seconds * 1e6);
  return fmt::format("{:.3f} ms", seconds * 1e3);
}

std::string kernels_json(const Profile& profile) {
  std::string out;
  for (const Profile::Row& row : profile.rows())
    if (Profile::is_work(row.kind))
      out += fmt::format(
          "{}\n    {{\"name\": {}, \"ops\": {}, \"module\": {}, \"line\": {}, \"result\": {}, \"calls\": {}, "
          "\"total_us\": {:.3f}, \"least_us\": {:.3f}, \"busy_us\": {:.3f}, \"bytes\": {}, \"flops\": "
          "{:.0f}}}",
          out.empty() ? "" : ",", json_text(row.facts.name), json_text(row.facts.ops),
          json_text(row.facts.scope), json_text(row.facts.where), json_text(row.facts.result), row.calls,
          static_cast<double>(row.total_ns) / 1e3, static_cast<double>(row.least_ns) / 1e3,
          static_cast<double>(row.busy_ns) / 1e3, row.bytes,
          row.facts.flops * static_cast<double>(row.calls));
  return "[" + out + "\n  ]";
}

}  // namespace

void bench(const BenchOptions& options) {
  std::unique_ptr<Graph> graph = read_graph(options.file);
  Progress progress;
  progress.show("making the inputs …");
  InputOptions recipes = options.inputs;
  if (recipes.fill.empty()) recipes.fill = "random:0";
  std::vector<Tensor> inputs;
  size_t bytes = 0;
  for (const Literal& literal : make_inputs(*graph, recipes)) {
    inputs.push_back(Tensor::from(literal));
    bytes += literal.bytes();
  }
  progress.show("compiling …");
  CompileOptions compile_with;
  compile_with.target = options.target == "host" ? "" : options.target;
  auto start = Clock::now();
  std::shared_ptr<Program> program = compile(*graph, compile_with);
  double compile_ms = seconds_since(start) * 1e3;
  for (const Tensor& tensor : program->run(inputs)) bytes += tensor.bytes();
  ProgramReport report = program->report();
  bytes += report.constant_bytes;
  std::vector<int> threads = options.threads;
  if (threads.empty()) threads.push_back(rt::ThreadPool::instance().num_threads());
  std::vector<Row> rows;
  for (int n : threads) rows.push_back(measure(*program, inputs, bytes, n, options.rounds, progress));

  // By kernel, with the last number of threads: as many calls as a round of it had.
  std::unique_ptr<Profile> profile;
  if (options.kernels || !options.timeline.empty()) {
    profile = std::make_unique<Profile>(options.timeline.empty() ? 0 : Profile::kMostSpans);
    for (int64_t i = 0; i < rows.back().calls; ++i) program->run(inputs);
    profile->stop();
    if (!options.timeline.empty()) write_file(options.timeline, profile->chrome_trace());
  }

  if (options.json != "-") {
    fmt::print(
        "{}: {} kernels, {} fused groups, compiled in {:.1f} ms; inputs, constants and results are {} "
        "bytes\n",
        graph->name, report.kernels, report.fused_groups, compile_ms, bytes);
    fmt::print("threads  {:>12}  {:>27}  {:>14}  {:>8}\n", "median", "middle half", "copy of them", "ratio");
    for (const Row& row : rows)
      fmt::print("{:>7}  {:>12}  {:>27}  {:>14}  {:>7.2f}x\n", row.threads, time_text(row.time.median),
                 time_text(row.time.low) + " … " + time_text(row.time.high), time_text(row.copy.median),
                 row.ratio);
    if (options.kernels) fmt::print("\n{}", profile->str());
  }
  if (options.json.empty()) return;
  std::string out = fmt::format(
      "{{\n  \"file\": {},\n  \"graph\": {},\n  \"kernels\": {},\n  \"fused_groups\": {},\n"
      "  \"compile_ms\": {:.3f},\n  \"bytes\": {},\n  \"rounds\": {},\n  \"rows\": [\n",
      json_text(options.file), json_text(graph->name), report.kernels, report.fused_groups, compile_ms, bytes,
      options.rounds);
  for (size_t i = 0; i < rows.size(); ++i)
    out += fmt::format(
        "    {{\"threads\": {}, \"calls_per_round\": {}, \"median_us\": {:.4f}, \"low_us\": {:.4f}, "
        "\"high_us\": {:.4f}, \"copy_us\": {:.4f}, \"ratio\": {:.4f}}}{}\n",
        rows[i].threads, rows[i].calls, rows[i].time.median * 1e6, rows[i].time.low * 1e6,
        rows[i].time.high * 1e6, rows[i].copy.median * 1e6, rows[i].ratio, i + 1 < rows.size() ? "," : "");
  out += "  ]";
  if (options.kernels) out += ",\n  \"by_kernel\": " + kernels_json(*profile);
  write_file(options.json, out + "\n}\n");
}

}  // namespace ig::tools
