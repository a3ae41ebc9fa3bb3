// One walk for all copies: axes that one step walks become one, neighbours become wider elements, and the
// last axes decide: runs of bytes, matrices that are turned over, or one element after the other.
#include "runtime/strided_copy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "runtime/elements.h"
#include "runtime/thread_pool.h"
#include "runtime/turn_over.h"
#include "support/error.h"

namespace ig::rt {
namespace {

using Axes = std::span<const CopyAxis>;

template <typename T>
void fill(T value, char* to, int64_t size) {
  constexpr int64_t kWidth = sizeof(T), kLanes = kRegister / kWidth;
  std::array<T, kLanes> many;
  many.fill(value);
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) std::memcpy(to + i * kWidth, many.data(), kRegister);
  for (; i < size; ++i) store(to + i * kWidth, value);
}

// Registers of elements that are `kStep` apart: every second one, or from the last on.
template <typename T, int kStep, size_t... kLane>
void gather_run(const char* from, char* to, int64_t size, std::index_sequence<kLane...>) {
  using V = typename Registers<T>::Vector;
  constexpr int64_t kWidth = sizeof(T), kLanes = sizeof...(kLane);
  int64_t i = 0;
  // Not the last element: of every second one, a register that holds it may reach behind what may be read.
  for (; i + kLanes < size; i += kLanes) {
    V a, b = {};
    std::memcpy(&a, from + (kStep < 0 ? -(i + kLanes - 1) : 2 * i) * kWidth, kRegister);
    if (kStep > 0) std::memcpy(&b, from + (2 * i + kLanes) * kWidth, kRegister);
    a = __builtin_shufflevector(
        a, b, (kStep < 0 ? static_cast<int>(kLanes - 1 - kLane) : static_cast<int>(2 * kLane))...);
    std::memcpy(to + i * kWidth, &a, kRegister);
  }
  for (; i < size; ++i) store(to + i * kWidth, load<T>(from + i * kStep * kWidth));
}

template <typename T>
void run(const char* from, char* to, const CopyAxis& axis) {
  constexpr auto kWidth = static_cast<int64_t>(sizeof(T));
  constexpr auto kAll = std::make_index_sequence<std::max<size_t>(1, kRegister / sizeof(T))>();
  if (axis.from == kWidth && axis.to == kWidth) {
    std::memcpy(to, from, static_cast<size_t>(axis.size * kWidth));
  } else if (axis.from == 0 && axis.to == kWidth) {
    fill(load<T>(from), to, axis.size);
  } else if (kAll.size() > 1 && axis.from == -kWidth && axis.to == kWidth) {
    if constexpr (kAll.size() > 1) gather_run<T, -1>(from, to, axis.size, kAll);
  } else if (kAll.size() > 1 && axis.from == 2 * kWidth && axis.to == kWidth) {
    if constexpr (kAll.size() > 1) gather_run<T, 2>(from, to, axis.size, kAll);
  } else {
    for (int64_t i = 0; i < axis.size; ++i, from += axis.from, to += axis.to) store(to, load<T>(from));
  }
}

template <typename T>
void walk(const char* from, char* to, const CopyAxis& first, Axes others) {
  constexpr auto kWidth = static_cast<int64_t>(sizeof(T)), kLanes = kRegister / kWidth;
  if (others.empty()) return run<T>(from, to, first);
  const bool turns = others.size() == 1 && first.from == kWidth && others[0].to == kWidth;
  if (turns && first.size >= kLanes && others[0].size >= kLanes)
    return turn_over_by_registers(kWidth, from, to, first, others[0]);
  constexpr int64_t kFew = 8;  // a loop of so few turns costs more to begin than to run
  if (others.size() == 1 && others[0].size < kFew && others[0].size < first.size) {
    for (int64_t i = 0; i < others[0].size; ++i)
      run<T>(from + i * others[0].from, to + i * others[0].to, first);
    return;
  }
  for (int64_t i = 0; i < first.size; ++i)
    walk<T>(from + i * first.from, to + i * first.to, others[0], others.subspan(1));
}

// Axes of one element go, and an axis that another one goes on with becomes one with it. The axis that is
// written in order comes last, and next to it the one that is read in order.
void put_in_order(int64_t& width, std::vector<CopyAxis>& axes) {
  std::erase_if(axes, [](const CopyAxis& axis) { return axis.size == 1; });
  std::ranges::sort(axes,
                    [](const CopyAxis& a, const CopyAxis& b) { return std::abs(a.to) > std::abs(b.to); });
  for (size_t i = 1; i < axes.size();) {
    CopyAxis& outer = axes[i - 1];
    const CopyAxis& inner = axes[i];
    if (outer.from == inner.from * inner.size && outer.to == inner.to * inner.size) {
      outer = {outer.size * inner.size, inner.from, inner.to};
      axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  while (!axes.empty() && axes.back().from == width && axes.back().to == width && axes.back().size % 2 == 0 &&
         width < kRegister && axes.back().size * width <= kRegister) {
    width *= 2;
    CopyAxis& last = axes.back();
    last = {last.size / 2, width, width};
    if (last.size == 1) axes.pop_back();
  }
  if (axes.size() < 2 || axes.back().to != width || axes.back().from == width) return;
  auto read = std::ranges::find(axes.begin(), axes.end() - 1, width, &CopyAxis::from);
  if (read != axes.end() - 1) std::rotate(read, read + 1, axes.end() - 1);
}

template <typename T>
void go(const char* from, char* to, std::vector<CopyAxis>& axes) {
  // Parts for threads are of the first axis, by whole tiles; 64 KiB take longer than it does to wake a
  // thread.
  constexpr int64_t kPart = 64, kWorthIt = int64_t{64} << 10;
  int64_t bytes = sizeof(T);
  for (const CopyAxis& axis : axes) bytes *= axis.size;
  const CopyAxis whole = axes.front();
  const int64_t unit = axes.size() == 1 || whole.from == static_cast<int64_t>(sizeof(T)) ? kPart : 1;
  const int64_t units = (whole.size + unit - 1) / unit;
  auto part = [&](int64_t begin, int64_t end) {
    const CopyAxis own = {std::min(end * unit, whole.size) - begin * unit, whole.from, whole.to};
    walk<T>(from + begin * unit * whole.from, to + begin * unit * whole.to, own, Axes(axes).subspan(1));
  };
  if (bytes < 2 * kWorthIt || units < 2) return part(0, units);
  ThreadPool::instance().parallel_for(units, std::max<int64_t>(1, units * kWorthIt / bytes), part);
}

}  // namespace

void copy_strided(int64_t width, const void* from, void* to, std::vector<CopyAxis> axes) {
  if (std::ranges::any_of(axes, [](const CopyAxis& axis) { return axis.size == 0; })) return;
  put_in_order(width, axes);
  if (axes.empty()) {
    std::memcpy(to, from, static_cast<size_t>(width));
    return;
  }
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  switch (width) {
    case 1: return go<uint8_t>(source, target, axes);
    case 2: return go<uint16_t>(source, target, axes);
    case 4: return go<uint32_t>(source, target, axes);
    case 8: return go<uint64_t>(source, target, axes);
    case 16: return go<Wide>(source, target, axes);
    default: IG_CHECK(false, "elements of {} bytes", width);
  }
}

}  // namespace ig::rt
