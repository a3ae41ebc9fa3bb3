// What is known of sizes: bounds and comparisons that ranges settle, and what they say of least and greatest.
#include <gtest/gtest.h>

#include <random>

#include "ir/dim.h"

namespace ig {
namespace {

TEST(DimScope, KnowsTheLeastAndTheGreatestOfTwo) {
  DimScope scope;
  scope.declare("n", {1, 1000});
  scope.declare("m", {0, 7});
  const Dim n = Dim::symbol("n"), m = Dim::symbol("m");
  EXPECT_EQ(scope.less_equal(min(n, m), n), Truth::Yes);
  EXPECT_EQ(scope.less_equal(n, max(n, m)), Truth::Yes);
  EXPECT_EQ(scope.less_equal(max(n, m), n), Truth::Unknown);
  EXPECT_EQ(scope.less_equal(max(n, m), n + m), Truth::Yes);
  EXPECT_EQ(scope.less_equal(n + 1, min(n, m)), Truth::No);
  EXPECT_EQ(scope.less_equal(min(n, m) + min(n, Dim(3)), n + 3), Truth::Yes);
  EXPECT_EQ(scope.less_equal(2 * n, 2 * max(n, m) + min(n, m)), Truth::Yes);
  EXPECT_EQ(scope.equal(min(n, Dim(1)), Dim(1)), Truth::Yes);
}

// What an array is rolled by is a number below its size, and whole turns are none.
TEST(DimScope, KnowsThatARestIsBelowTheDivisor) {
  DimScope scope;
  scope.declare("n", {1, 1000});
  scope.declare("m", {0, 7});
  const Dim n = Dim::symbol("n"), m = Dim::symbol("m"), some = max(m, Dim(1));
  EXPECT_EQ(scope.less_equal(mod(Dim(-2), n), n - 1), Truth::Yes);
  EXPECT_EQ(scope.less_equal(mod(Dim(1), max(n, Dim(1))), n), Truth::Yes);
  EXPECT_EQ(scope.less_equal(Dim(1), n - mod(m, n)), Truth::Yes);
  EXPECT_EQ(scope.less_equal(mod(n, some) + mod(m, some), 2 * some - 2), Truth::Yes);
  EXPECT_EQ(scope.less_equal(n, mod(m, n)), Truth::No);
  EXPECT_EQ(scope.less_equal(mod(n, some), m), Truth::Yes);
  EXPECT_EQ(scope.less_equal(mod(n, some), m - 1), Truth::Unknown);
}

// Whatever is said of a random expression holds for all values of its symbols.
TEST(DimScope, BoundsHold) {
  std::mt19937 random(7);
  auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 2000; ++round) {
    DimScope scope;
    const int64_t low = pick(4), high = low + pick(5);
    scope.declare("n", {low, high});
    scope.declare("m", {0, 6});
    std::vector<Dim> made{Dim::symbol("n"), Dim::symbol("m"), Dim(pick(5))};
    for (int step = 0; step < 6; ++step) {
      const Dim a = made[static_cast<size_t>(pick(static_cast<int>(made.size())))];
      const Dim b = made[static_cast<size_t>(pick(static_cast<int>(made.size())))];
      switch (pick(7)) {
        case 0: made.push_back(a + b); break;
        case 1: made.push_back(a - b); break;
        case 2: made.push_back(min(a, b)); break;
        case 3: made.push_back(max(a, b)); break;
        case 4: made.push_back(a * Dim(pick(5) - 2)); break;
        case 5: made.push_back(mod(a, max(b, Dim(1)))); break;
        default: made.push_back(floordiv(a, Dim(1 + pick(3))));
      }
    }
    const Dim dim = made.back();
    const Range range = scope.bounds(dim);
    for (int64_t n = low; n <= high; ++n)
      for (int64_t m = 0; m <= 6; ++m) {
        const int64_t value = dim.evaluate({{"n", n}, {"m", m}});
        ASSERT_LE(range.low, value) << dim.str() << " n " << n << " m " << m;
        ASSERT_GE(range.high, value) << dim.str() << " n " << n << " m " << m;
      }
  }
}

}  // namespace
}  // namespace ig
