// Profiles: what ops that run by themselves report, and the table and the timeline of a recording.
#include "tensor/profile.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "support/error.h"
#include "support/json.h"
#include "support/units.h"

namespace ig {

namespace rp = rt::profile;

namespace profile {
namespace {

std::atomic<Locate> g_locate{nullptr};
thread_local const At* t_at = nullptr;

}  // namespace

void set_locate(Locate locate) { g_locate.store(locate, std::memory_order_relaxed); }

At::At(Location where, Scope scope) : before_(std::exchange(t_at, this)), where_(where), scope_(scope) {}
At::~At() { t_at = before_; }

void OpSpan::begin(const ops::Op& op) {
  if (rp::is_inside()) return;  // of an op that calls others: what it takes is told of it
  op_ = &op;
  inside_.emplace();
  begin_ = rp::Clock::now();
}

void OpSpan::finish(std::span<const Tensor> results) {
  rp::Sample sample{.begin = begin_, .end = rp::Clock::now()};
  const Locate locate = g_locate.load(std::memory_order_relaxed);
  const Location where = t_at ? t_at->where_ : locate ? locate() : Location();
  const Scope scope = t_at ? t_at->scope_ : Scope();
  // The same op on the same line is another thing for arrays of another type.
  size_t part = where.id();
  auto mix = [&](int64_t x) { part = (part ^ static_cast<size_t>(x)) * 0x9e3779b97f4a7c15u; };
  for (const Tensor& result : results) {
    bytes_ += static_cast<int64_t>(result.bytes());
    mix(static_cast<int64_t>(result.dtype()));
    mix(result.rank());
    for (int64_t size : result.shape()) mix(size);
  }
  sample.bytes = bytes_;
  auto describe = [&]() -> rp::Describe {
    rp::Facts facts;
    facts.name = facts.ops = op_->decl.name;
    facts.scope = scope.path();
    for (const Tensor& result : results)
      facts.result += (facts.result.empty() ? "" : ", ") + result.type().str();
    return [facts, where] {
      rp::Facts out = facts;
      if (!where.known()) return out;
      out.where = where.str();
      out.lines = {out.where};
      return out;
    };
  };
  rp::add(rp::Kind::Op, {op_, static_cast<int64_t>(part)}, describe, sample);
  op_ = nullptr;
  inside_.reset();
}

void phase(const char* name, const std::string& program, rp::Clock::time_point begin) {
  if (!rp::is_on()) return;
  const rp::Sample sample{.begin = begin, .end = rp::Clock::now()};
  auto describe = [&]() -> rp::Describe {
    rp::Facts facts;
    facts.name = name;
    facts.program = program;
    return [facts] { return facts; };
  };
  // Phases of programs of one name are one thing.
  rp::add(rp::Kind::Compile, {name, static_cast<int64_t>(std::hash<std::string>()(program))}, describe,
          sample);
}

}  // namespace profile

namespace {

// So many of something a nanosecond.
std::string rate(double what, double ns, int digits) {
  return what > 0 && ns > 0 ? fmt::format("{:.{}f}", what / ns, digits) : "";
}

std::string place_of(const Profile::Facts& facts) {
  if (facts.scope.empty()) return facts.where;
  return fmt::format("[{}]{}{}", facts.scope, facts.where.empty() ? "" : " ", facts.where);
}

std::string label_of(const Profile::Facts& facts) {
  constexpr size_t kLong = 64;  // the whole list is in the row
  std::string ops = facts.ops;
  if (ops.size() > kLong) ops = ops.substr(0, ops.rfind(' ', kLong)) + " …";
  std::string out = ops.empty() || ops == facts.name ? facts.name : fmt::format("{}: {}", facts.name, ops);
  if (!facts.result.empty()) out += " → " + facts.result;
  return out;
}

// What an event is called where there is little room.
std::string short_label(const Profile::Row& row) {
  const Profile::Facts& facts = row.facts;
  if (row.kind == rp::Kind::Compile) return fmt::format("{}: {}", facts.program, facts.name);
  return facts.ops.empty() ? facts.name : facts.ops;
}

}  // namespace

std::string_view Profile::kind_name(Kind kind) {
  switch (kind) {
    case rp::Kind::Kernel: return "kernel";
    case rp::Kind::Copy: return "copy";
    case rp::Kind::Host: return "host";
    case rp::Kind::Op: return "op";
    case rp::Kind::Control: return "control";
    case rp::Kind::Call: return "call";
    case rp::Kind::Compile: return "compile";
  }
  return "";
}

bool Profile::is_work(Kind kind) {
  return kind != Kind::Control && kind != Kind::Call && kind != Kind::Compile;
}

Profile::Profile(size_t most_spans) {
  if (!rp::start(most_spans))
    throw Error(ErrorKind::Value, "a profile is recording already")
        .why("what runs is told to one profile at a time, in all threads of the process")
        .hint("end the other one first");
}

void Profile::stop() {
  if (!std::exchange(recording_, false)) return;
  data_ = rp::stop();
  std::vector<size_t> order(data_.things.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](size_t i) { return data_.things[i].total; });
  row_of_.resize(order.size());
  for (size_t at = 0; at < order.size(); ++at) {
    rp::Thing& thing = data_.things[order[at]];
    row_of_[order[at]] = at;
    rows_.push_back(
        {thing.kind, thing.describe(), thing.calls, thing.total, thing.least, thing.busy, thing.bytes});
    thing.describe = nullptr;  // what it kept alive may go
  }
}

double Profile::milliseconds() const { return static_cast<double>(data_.nanoseconds) / 1e6; }

std::vector<Profile::Sum> Profile::by(By what) const {
  std::map<std::string, Sum> sums;
  for (const Row& row : rows_) {
    if (!is_work(row.kind)) continue;
    const Facts& facts = row.facts;
    const std::string& key = what == By::Line     ? facts.where
                             : what == By::Module ? facts.scope
                             : what == By::Op     ? facts.ops
                                                  : facts.program;
    Sum& sum = sums.try_emplace(key, Sum{key, 0, 0}).first->second;
    sum.calls += row.calls;
    sum.total_ns += row.total_ns;
  }
  std::vector<Sum> out;
  for (auto& [key, sum] : sums) out.push_back(std::move(sum));
  std::ranges::stable_sort(out, std::ranges::greater(), &Sum::total_ns);
  return out;
}

std::string Profile::str(size_t most) const {
  if (recording_) return "a profile that is still recording\n";
  double work = 0, compiling = 0;
  int64_t calls = 0, programs = 0;  // some may have the same name
  for (const Row& row : rows_) {
    if (is_work(row.kind)) work += static_cast<double>(row.total_ns);
    if (row.kind == Kind::Compile) compiling += static_cast<double>(row.total_ns);
    if (row.kind != Kind::Call) continue;
    calls += row.calls;
    ++programs;
  }
  std::string out = fmt::format("recorded {}: {} in kernels and ops",
                                readable_time(static_cast<double>(data_.nanoseconds)), readable_time(work));
  if (compiling > 0) out += fmt::format(", {} capturing and compiling", readable_time(compiling));
  out += fmt::format("; {} {} of {} {}\n", calls, calls == 1 ? "call" : "calls", programs,
                     programs == 1 ? "program" : "programs");

  // Columns that do not apply to phases are left out there.
  auto part = [&](bool is_part(Kind), double all, std::string_view heading) {
    const bool phases = is_part(Kind::Compile);
    auto line = [&](std::string_view total, std::string_view share, std::string_view count,
                    std::string_view mean, std::string_view rates, std::string_view label) {
      out += fmt::format("{:>9} {:>6} {:>8} {:>9} {}  {}\n", total, share, count, mean, rates, label);
    };
    auto rates = [&](std::string_view threads, std::string_view bytes, std::string_view flops) {
      return phases ? "" : fmt::format("{:>7} {:>7} {:>8}", threads, bytes, flops);
    };
    size_t shown = 0, left = 0;
    double left_ns = 0;
    for (const Row& row : rows_) {
      if (!is_part(row.kind)) continue;
      const auto sum = static_cast<double>(row.total_ns);
      if (shown == most) {
        ++left, left_ns += sum;
        continue;
      }
      if (shown++ == 0) line("total", "share", "calls", "mean", rates("threads", "GB/s", "GFLOP/s"), heading);
      const double flops = row.facts.flops * static_cast<double>(row.calls);
      line(readable_time(sum), fmt::format("{:.1f}%", 100 * sum / std::max(all, 1.0)),
           std::to_string(row.calls), readable_time(sum / static_cast<double>(row.calls)),
           rates(rate(static_cast<double>(row.busy_ns), sum, 2), rate(static_cast<double>(row.bytes), sum, 1),
                 rate(flops, sum, 1)),
           phases ? short_label(row) : label_of(row.facts));
      const std::string place = place_of(row.facts);
      if (!place.empty()) line("", "", "", "", rates("", "", ""), place);
    }
    if (left > 0) line(readable_time(left_ns), "", "", "", rates("", "", ""), fmt::format("{} more", left));
  };
  part(&Profile::is_work, work, "kernel or op");
  part([](Kind kind) { return kind == Kind::Compile; }, compiling, "phase");
  return out;
}

std::string Profile::chrome_trace() const {
  std::string out = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
  std::set<int32_t> lanes;
  for (const rp::Span& span : data_.spans) lanes.insert(span.lane);
  // Viewers sort lanes by the index given here: callers, then workers.
  for (int32_t lane : lanes) {
    const std::string name = lane < 0 ? fmt::format("worker {}", -lane) : fmt::format("caller {}", lane);
    const int32_t order = lane < 0 ? 1'000'000 - lane : lane;
    out += fmt::format(
        "{{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 1, \"tid\": {}, \"args\": {{\"name\": {}}}}},\n"
        "{{\"ph\": \"M\", \"name\": \"thread_sort_index\", \"pid\": 1, \"tid\": {}, \"args\": "
        "{{\"sort_index\": {}}}}},\n",
        order, json_text(name), order, order);
  }
  out += fmt::format(
      "{{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, \"args\": {{\"name\": \"intaglio\"}}}}");
  std::vector<std::string> heads, tails;
  for (const Row& row : rows_) {
    const Facts& facts = row.facts;
    heads.push_back(fmt::format("{{\"ph\": \"X\", \"name\": {}, \"cat\": \"{}\", \"pid\": 1",
                                json_text(short_label(row)), kind_name(row.kind)));
    std::string args;
    auto arg = [&](std::string_view key, const std::string& value) {
      if (!value.empty())
        args += fmt::format("{}\"{}\": {}", args.empty() ? "" : ", ", key, json_text(value));
    };
    arg("kernel", facts.name);
    arg("program", facts.program);
    arg("module", facts.scope);
    arg("line", facts.where);
    arg("result", facts.result);
    if (row.bytes > 0 && row.calls > 0)
      args += fmt::format("{}\"bytes\": {}", args.empty() ? "" : ", ", row.bytes / row.calls);
    tails.push_back(fmt::format(", \"args\": {{{}}}}}", args));
  }
  for (const rp::Span& span : data_.spans) {
    const size_t row = row_of_[span.thing];
    out +=
        fmt::format(",\n{}, \"tid\": {}, \"ts\": {:.3f}, \"dur\": {:.3f}{}", heads[row],
                    span.lane < 0 ? 1'000'000 - span.lane : span.lane, static_cast<double>(span.begin) / 1e3,
                    static_cast<double>(span.end - span.begin) / 1e3, tails[row]);
  }
  return out + fmt::format("\n], \"otherData\": {{\"spans_left_out\": {}}}}}\n", data_.spans_left_out);
}

}  // namespace ig
