// Greedy best fit: ranges are placed one by one, each in the smallest gap among the already placed ones that
// live at the same time. Which order is best depends on the program, so the usual two are tried: by size, and
// by time.
#include "runtime/arena_plan.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "support/error.h"
#include "support/storage.h"

namespace ig::rt {
namespace {

size_t aligned(size_t bytes) {
  size_t rounded = (bytes + kAlignment - 1) & ~(kAlignment - 1);
  if (rounded < bytes)
    throw make_error(ErrorKind::Memory, "a temporary of {} bytes does not fit into memory", bytes)
        .why("its size is beyond the address space")
        .hint("use smaller sizes");
  return rounded;
}

size_t checked_end(size_t offset, size_t bytes) {
  size_t end;
  if (__builtin_add_overflow(offset, bytes, &end))
    throw Error(ErrorKind::Memory, "the temporaries of a call do not fit into memory")
        .why("their sum is beyond the address space")
        .hint("use smaller sizes");
  return end;
}

size_t place(const std::vector<LiveRange>& items, const std::vector<size_t>& order,
             std::vector<size_t>& offsets) {
  std::vector<size_t> placed;  // by offset
  size_t total = 0;
  for (size_t item : order) {
    const LiveRange& range = items[item];
    constexpr size_t kNone = SIZE_MAX;
    size_t best = kNone, best_gap = kNone, free_from = 0;
    for (size_t other : placed) {
      const LiveRange& o = items[other];
      if (o.last < range.first || range.last < o.first) continue;
      if (offsets[other] > free_from) {
        size_t gap = offsets[other] - free_from;
        if (gap >= range.bytes && gap < best_gap) best = free_from, best_gap = gap;
      }
      free_from = std::max(free_from, offsets[other] + o.bytes);
    }
    offsets[item] = best == kNone ? free_from : best;
    total = std::max(total, checked_end(offsets[item], range.bytes));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), offsets[item],
                                   [&](size_t offset, size_t at) { return offset < offsets[at]; }),
                  item);
  }
  return total;
}

size_t most_alive(const std::vector<LiveRange>& items) {
  std::map<int32_t, std::pair<size_t, size_t>>
      events;  // instruction: bytes that begin there, bytes that ended before
  for (const LiveRange& r : items) {
    events[r.first].first += r.bytes;
    events[r.last + 1].second += r.bytes;
  }
  size_t alive = 0, most = 0;
  for (const auto& [when, change] : events) {
    alive = checked_end(alive - change.second, change.first);
    most = std::max(most, alive);
  }
  return most;
}

}  // namespace

ArenaPlan plan_arena(std::span<const LiveRange> ranges) {
  ArenaPlan plan;
  plan.offsets.resize(ranges.size());

  // Groups become one item that lives as long as all its members.
  std::vector<LiveRange> items;
  std::vector<size_t> item_of(ranges.size());
  std::map<int32_t, size_t> groups;
  for (size_t i = 0; i < ranges.size(); ++i) {
    LiveRange range = ranges[i];
    range.bytes = aligned(range.bytes);
    auto [known, fresh] =
        range.group < 0 ? std::pair{groups.end(), true} : groups.try_emplace(range.group, items.size());
    if (fresh) {
      item_of[i] = items.size();
      items.push_back(range);
      continue;
    }
    item_of[i] = known->second;
    LiveRange& whole = items[known->second];
    whole.bytes = std::max(whole.bytes, range.bytes);
    whole.first = std::min(whole.first, range.first);
    whole.last = std::max(whole.last, range.last);
  }
  plan.lower_bound = most_alive(items);

  std::vector<size_t> order(items.size()), offsets(items.size()), best;
  std::iota(order.begin(), order.end(), size_t{0});
  auto try_order = [&](auto before) {
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return before(items[a], items[b]); });
    size_t total = place(items, order, offsets);
    if (best.empty() || total < plan.total) {
      plan.total = total;
      best = offsets;
    }
  };
  if (!items.empty())
    try_order([](const LiveRange& a, const LiveRange& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.first < b.first;
    });
  if (plan.total > plan.lower_bound)
    try_order([](const LiveRange& a, const LiveRange& b) {
      return a.first != b.first ? a.first < b.first : a.bytes > b.bytes;
    });
  if (plan.total > plan.lower_bound)
    try_order([](const LiveRange& a, const LiveRange& b) {
      int64_t long_a = int64_t{a.last} - a.first, long_b = int64_t{b.last} - b.first;
      return long_a != long_b ? long_a > long_b : a.bytes > b.bytes;
    });
  for (size_t i = 0; i < ranges.size(); ++i) plan.offsets[i] = best[item_of[i]];
  return plan;
}

}  // namespace ig::rt
