// The one recording of the process. Samples are summed where they come in, under a lock: some hundred
// nanoseconds each, behind the time that is told.
#include "runtime/profile.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace ig::rt::profile {

std::atomic<bool> detail::is_on{false};

namespace {

struct KeyHash {
  size_t operator()(const Key& key) const {
    return std::hash<const void*>()(key.owner) * 31 + std::hash<int64_t>()(key.part);
  }
};

struct State {
  std::mutex mutex;
  Clock::time_point begin{};
  size_t most_spans = 0;
  Recording recording;
  std::unordered_map<Key, uint32_t, KeyHash> known;
};

// Never destroyed: threads may still report while the process ends.
State& state() {
  static State* made = new State;
  return *made;
}

int32_t lane_here() {
  static std::atomic<int32_t> lanes{0};
  thread_local const int32_t lane = lanes.fetch_add(1, std::memory_order_relaxed);
  return lane;
}

thread_local int t_inside = 0;

}  // namespace

bool start(size_t most_spans) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  if (detail::is_on.load(std::memory_order_relaxed)) return false;
  s.recording = {};
  s.known.clear();
  s.most_spans = most_spans;
  s.begin = Clock::now();
  detail::is_on.store(true, std::memory_order_relaxed);
  return true;
}

Recording stop() {
  State& s = state();
  std::lock_guard lock(s.mutex);
  detail::is_on.store(false, std::memory_order_relaxed);
  s.recording.nanoseconds = std::chrono::nanoseconds(Clock::now() - s.begin).count();
  s.known.clear();
  return std::exchange(s.recording, {});
}

void add(Kind kind, Key key, const std::function<Describe()>& describe, const Sample& sample) {
  const int32_t lane = lane_here();
  State& s = state();
  std::lock_guard lock(s.mutex);
  // It may have ended meanwhile, or another one begun.
  if (!detail::is_on.load(std::memory_order_relaxed) || sample.begin < s.begin) return;
  Recording& r = s.recording;
  auto [place, fresh] = s.known.try_emplace(key, static_cast<uint32_t>(r.things.size()));
  if (fresh) r.things.push_back({kind, describe()});
  Thing& thing = r.things[place->second];
  const int64_t took = std::chrono::nanoseconds(sample.end - sample.begin).count();
  thing.least = thing.calls == 0 ? took : std::min(thing.least, took);
  ++thing.calls;
  thing.total += took;
  thing.bytes += sample.bytes;

  auto draw = [&](int32_t in_lane, Clock::time_point begin, Clock::time_point end) {
    if (r.spans.size() >= s.most_spans) {
      ++r.spans_left_out;
      return;
    }
    r.spans.push_back({place->second, in_lane, std::chrono::nanoseconds(begin - s.begin).count(),
                       std::chrono::nanoseconds(end - s.begin).count()});
  };
  draw(lane, sample.begin, sample.end);
  int64_t busy = 0;
  for (size_t i = 0; i < sample.shares.size(); ++i) {
    const Share& share = sample.shares[i];
    busy += std::chrono::nanoseconds(share.busy).count();
    if (i > 0 && share.busy > Clock::duration{}) draw(-static_cast<int32_t>(i), share.begin, share.end);
  }
  if (kind != Kind::Op) thing.busy += busy > 0 ? busy : took;  // an op's kernels do not tell theirs
}

Inside::Inside() { ++t_inside; }
Inside::~Inside() { --t_inside; }
bool is_inside() { return t_inside > 0; }

}  // namespace ig::rt::profile
