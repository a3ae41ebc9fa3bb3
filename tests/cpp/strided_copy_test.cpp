// Copies between strided places, against one element at a time: every width, orders of axes, steps that are
// 0, go backwards or leave gaps, sizes around registers, tiles and parts for threads.
#include "runtime/strided_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

namespace ig::rt {
namespace {

// Elements that are read and written at steps counted in bytes from the first byte of each buffer.
struct Copy {
  int64_t width = 1;
  std::vector<CopyAxis> axes;
  int64_t from_first = 0, from_bytes = 0, to_first = 0, to_bytes = 0;
};

Copy random_copy(std::mt19937& random) {
  auto pick = [&](std::initializer_list<int64_t> of) { return of.begin()[random() % of.size()]; };
  Copy out;
  out.width = pick({1, 2, 4, 8, 16});
  const size_t rank = random() % 5;
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < rank; ++i)
    sizes.push_back(rank > 2 ? pick({1, 2, 3, 5, 16, 17}) : pick({1, 2, 3, 7, 15, 16, 17, 64, 65, 130, 513}));
  // Each side has its axes in an order of its own, each a little longer than it needs.
  auto steps = [&](int64_t& first, int64_t& bytes, bool may_stand) {
    std::vector<size_t> order(rank);
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::shuffle(order, random);
    std::vector<int64_t> step(rank);
    int64_t extent = out.width;
    first = 0;
    for (size_t axis : order) {
      step[axis] = extent;
      extent *= sizes[axis] + (random() % 4 == 0 ? 1 : 0);
      if (random() % 4 == 0) first += step[axis] * (sizes[axis] - 1), step[axis] = -step[axis];
      if (may_stand && random() % 5 == 0) {
        if (step[axis] < 0) first += step[axis] * (sizes[axis] - 1);
        step[axis] = 0;
      }
    }
    bytes = extent;
    return step;
  };
  const std::vector<int64_t> from = steps(out.from_first, out.from_bytes, true);
  const std::vector<int64_t> to = steps(out.to_first, out.to_bytes, false);
  for (size_t i = 0; i < rank; ++i) out.axes.push_back({sizes[i], from[i], to[i]});
  return out;
}

void copy_one_by_one(const Copy& c, const char* from, char* to, size_t axis = 0) {
  if (axis == c.axes.size()) {
    std::memcpy(to, from, static_cast<size_t>(c.width));
    return;
  }
  for (int64_t i = 0; i < c.axes[axis].size; ++i)
    copy_one_by_one(c, from + i * c.axes[axis].from, to + i * c.axes[axis].to, axis + 1);
}

TEST(StridedCopy, MovesWhatOneElementAtATimeWouldMove) {
  std::mt19937 random(20261125);
  for (int turn = 0; turn < 3000; ++turn) {
    const Copy c = random_copy(random);
    std::vector<char> from(static_cast<size_t>(c.from_bytes)), to(static_cast<size_t>(c.to_bytes), '\x5a');
    for (char& byte : from) byte = static_cast<char>(random());
    std::vector<char> expected = to;
    copy_one_by_one(c, from.data() + c.from_first, expected.data() + c.to_first);
    copy_strided(c.width, from.data() + c.from_first, to.data() + c.to_first, c.axes);
    ASSERT_TRUE(to == expected) << "turn " << turn << ", elements of " << c.width << " bytes";
  }
}

TEST(StridedCopy, OfNothingTouchesNothing) {
  char byte = 'a';
  copy_strided(1, nullptr, &byte, {{3, 1, 1}, {0, 1, 1}});
  EXPECT_EQ(byte, 'a');
}

TEST(StridedCopy, ALargeMatrixIsTurnedOverByThreads) {
  constexpr int64_t kRows = 1000, kColumns = 777;
  std::vector<uint32_t> from(kRows * kColumns), to(kRows * kColumns);
  std::iota(from.begin(), from.end(), 0u);
  copy_strided(4, from.data(), to.data(), {{kColumns, 4, 4 * kRows}, {kRows, 4 * kColumns, 4}});
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t c = 0; c < kColumns; ++c) ASSERT_EQ(to[c * kRows + r], from[r * kColumns + c]);
}

}  // namespace
}  // namespace ig::rt
