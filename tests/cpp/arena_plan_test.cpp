// Arena plans: no two live ranges share a byte, totals are honest, groups share their place; on random
// programs.
#include "runtime/arena_plan.h"

#include <gtest/gtest.h>

#include <random>

#include "support/error.h"

namespace ig::rt {
namespace {

TEST(ArenaPlan, EmptyAndSingle) {
  EXPECT_EQ(plan_arena({}).total, 0u);
  LiveRange one[] = {{.bytes = 1, .first = 0, .last = 0}};
  ArenaPlan plan = plan_arena(one);
  EXPECT_EQ(plan.total, 64u);
  EXPECT_EQ(plan.offsets, std::vector<size_t>{0});
}

TEST(ArenaPlan, AChainNeedsTwoBuffers) {
  std::vector<LiveRange> chain;
  for (int i = 0; i < 20; ++i) chain.push_back({.bytes = 4096, .first = i, .last = i + 1});
  EXPECT_EQ(plan_arena(chain).total, 8192u);
  for (LiveRange& r : chain) r.group = 0;
  EXPECT_EQ(plan_arena(chain).total, 4096u);
}

TEST(ArenaPlan, RandomProgramsNeverOverlapAndStayNearTheBound) {
  std::mt19937_64 random(20240611);
  double worst = 1;
  for (int round = 0; round < 400; ++round) {
    auto n = static_cast<int32_t>(1 + random() % 80);
    std::vector<LiveRange> ranges;
    for (int32_t i = 0; i < n; ++i) {
      LiveRange r;
      r.bytes = random() % 5 == 0 ? 0 : random() % (size_t{1} << (random() % 20));
      r.first = static_cast<int32_t>(random() % static_cast<uint64_t>(n));
      r.last = r.first + static_cast<int32_t>(random() % (random() % 4 == 0 ? 40 : 4));
      if (random() % 8 == 0 && i > 0) {
        // Continues an earlier range in place.
        LiveRange& before = ranges[random() % ranges.size()];
        if (before.group < 0) before.group = i;
        r.group = before.group;
      }
      ranges.push_back(r);
    }
    ArenaPlan plan = plan_arena(ranges);
    ASSERT_EQ(plan.offsets.size(), ranges.size());
    ASSERT_GE(plan.total, plan.lower_bound);
    for (size_t a = 0; a < ranges.size(); ++a) {
      ASSERT_EQ(plan.offsets[a] % 64, 0u);
      ASSERT_LE(plan.offsets[a] + ranges[a].bytes, plan.total);
      for (size_t b = 0; b < a; ++b) {
        if (ranges[a].group >= 0 && ranges[a].group == ranges[b].group) {
          ASSERT_EQ(plan.offsets[a], plan.offsets[b]);
          continue;
        }
        bool together = ranges[a].first <= ranges[b].last && ranges[b].first <= ranges[a].last;
        bool overlap = plan.offsets[a] < plan.offsets[b] + ranges[b].bytes &&
                       plan.offsets[b] < plan.offsets[a] + ranges[a].bytes && ranges[a].bytes &&
                       ranges[b].bytes;
        ASSERT_FALSE(together && overlap) << "round " << round << ": " << a << " and " << b;
      }
    }
    ArenaPlan again = plan_arena(ranges);
    ASSERT_EQ(again.offsets, plan.offsets);
    if (plan.lower_bound)
      worst = std::max(worst, static_cast<double>(plan.total) / static_cast<double>(plan.lower_bound));
  }
  EXPECT_LT(worst, 1.5);
}

TEST(ArenaPlan, SizesBeyondTheAddressSpaceAreMemoryErrors) {
  LiveRange huge[] = {{.bytes = SIZE_MAX / 2, .first = 0, .last = 1},
                      {.bytes = SIZE_MAX / 2 + 64, .first = 0, .last = 1}};
  EXPECT_THROW(plan_arena(huge), Error);
  LiveRange round_up[] = {{.bytes = SIZE_MAX - 3, .first = 0, .last = 1}};
  EXPECT_THROW(plan_arena(round_up), Error);
}

}  // namespace
}  // namespace ig::rt
