// The tree of traces in C++: recompile counts, guards on sizes and values, numbers, giving up, donation,
// threads.
#include <gtest/gtest.h>

#include <thread>

#include "intaglio/intaglio.h"

namespace {

using ig::Array;

Array floats(int64_t n, float first = 1) {
  std::vector<float> values(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i)] = first + static_cast<float>(i);
  return ig::array(values);
}
std::vector<float> of(const Array& x) { return x.values<float>(); }
using Floats = std::vector<float>;

TEST(Jit, ABranchOnAValueIsATraceForEachOutcome) {
  auto f = ig::jit([](Array x) { return ig::sum(x) > 0 ? x * 2.0 : x - 1.0; });
  EXPECT_EQ(of(f(floats(2))), (Floats{2, 4}));
  EXPECT_EQ(of(f(floats(2, -5))), (Floats{-6, -5}));
  EXPECT_EQ(of(f(floats(2))), (Floats{2, 4}));
  EXPECT_EQ(of(f(floats(2, -5))), (Floats{-6, -5}));
  EXPECT_EQ(f.traces(), 2u);
}

TEST(Jit, AVaryingSizeCostsTwoTracesAndOneIsACaseOfItsOwn) {
  auto f = ig::jit([](Array x) { return x + ig::sum(x); });
  for (int64_t n : {3, 4, 5, 17, 100}) EXPECT_EQ(f(floats(n)).size(0), n);
  EXPECT_EQ(f.traces(), 2u);
  EXPECT_EQ(of(f(floats(1))), (Floats{2}));
  EXPECT_EQ(f.traces(), 3u);
  EXPECT_EQ(of(f(floats(0))), Floats{});
  EXPECT_EQ(f.traces(), 4u);
}

TEST(Jit, EqualSizesShareASymbolUntilTheyDiffer) {
  auto f = ig::jit([](Array x, Array y) { return ig::sum(x) + ig::sum(y); });
  f(floats(3), floats(3));
  f(floats(4), floats(4));
  f(floats(5), floats(5));
  EXPECT_EQ(f.traces(), 2u);
  EXPECT_EQ(f(floats(5), floats(6)).item<float>(), 36);
  EXPECT_EQ(f(floats(7), floats(6)).item<float>(), 49);
  EXPECT_EQ(f.traces(), 3u);
}

TEST(Jit, AComparisonOfSizesIsAGuard) {
  auto f = ig::jit([](Array x) { return x.size(0) > 4 ? x + 1.0 : x - 1.0; });
  EXPECT_EQ(of(f(floats(2))), (Floats{0, 1}));
  EXPECT_EQ(of(f(floats(5)))[0], 2);
  EXPECT_EQ(of(f(floats(3)))[0], 0);
}

TEST(Jit, UnequalSizesMayBroadcastLater) {
  auto f = ig::jit([](Array x, Array y) { return x * y; });
  EXPECT_EQ(of(f(floats(3), floats(1))), (Floats{1, 2, 3}));
  EXPECT_EQ(of(f(floats(3), floats(3))), (Floats{1, 4, 9}));
  EXPECT_EQ(of(f(floats(4), floats(4))), (Floats{1, 4, 9, 16}));
  EXPECT_EQ(of(f(floats(4), floats(1))), (Floats{1, 2, 3, 4}));
  EXPECT_THROW(f(floats(4), floats(3)), ig::Error);
  EXPECT_EQ(of(f(floats(6), floats(6)))[5], 36);
}

TEST(Jit, NumbersOfAnOwnTypeAreFixed) {
  auto f = ig::jit([](Array x, double k, int64_t n) {
    for (int64_t i = 0; i < n; ++i) x = x * k;
    return x;
  });
  EXPECT_EQ(of(f(floats(1), 2.0, 3)), (Floats{8}));
  EXPECT_EQ(of(f(floats(1), 3.0, 2)), (Floats{9}));
  EXPECT_EQ(of(f(floats(1), 3.0, 1)), (Floats{3}));
}

TEST(Jit, LoopsOnValuesUnrollAndAreGuarded) {
  auto f = ig::jit([](Array x) {
    while (ig::sum(x) < 100) x = x * 2.0;
    return x;
  });
  EXPECT_EQ(of(f(floats(1))), (Floats{128}));
  EXPECT_EQ(of(f(floats(1, 3))), (Floats{192}));
  EXPECT_EQ(of(f(floats(1, 200))), (Floats{200}));
  EXPECT_EQ(f.traces(), 3u);
}

TEST(Jit, TooManyOutcomesAtOnePlaceEndInRunningOpByOp) {
  auto f = ig::jit([](Array x) { return x * x.item<double>(); });
  for (int i = 0; i < 12; ++i) {
    auto v = static_cast<float>(i);
    EXPECT_EQ(of(f(floats(1, v))), (Floats{v * v}));
  }
  EXPECT_EQ(f.traces(), 8u);
  ASSERT_NE(f.tree().given_up(), nullptr);
  EXPECT_EQ(f.tree().given_up()->why, "a traced value had more than 8 outcomes at one place");
}

TEST(Jit, NanIsOneOutcome) {
  auto f = ig::jit([](Array x) { return x.item<double>() == 1.0 ? x : x + 1.0; });
  float nan = std::numeric_limits<float>::quiet_NaN();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(of(f(floats(1, nan)))[0]));
  EXPECT_EQ(f.traces(), 1u);
}

TEST(Jit, ManyThreadsCompileOnce) {
  auto f = ig::jit([](Array x) { return ig::relu(x) * 3.0; });
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) right += of(f(floats(2, 1))) == Floats{3, 6};
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 160);
  EXPECT_EQ(f.traces(), 1u);
}

TEST(Jit, InsideOfAnotherItIsAPart) {
  auto inner = ig::jit([](Array x) { return x * 2.0; });
  auto outer = ig::jit([&](Array x) { return inner(x) + 1.0; });
  EXPECT_EQ(of(outer(floats(2))), (Floats{3, 5}));
  EXPECT_EQ(inner.traces(), 0u);
}

TEST(Jit, AnArrayThatLeakedIsRefused) {
  Array kept;
  auto f = ig::jit([&](Array x) {
    kept = x * 2.0;
    return kept;
  });
  f(floats(2));
  try {
    (void)(kept + 1.0);
    FAIL();
  } catch (const ig::Error& error) {
    EXPECT_EQ(error.kind(), ig::ErrorKind::Capture);
    EXPECT_EQ(error.summary(), "a traced array (f32[2]) was used outside of the trace that made it");
  }
}

TEST(Jit, ErrorsOfTheFunctionComeOut) {
  auto f = ig::jit([](Array x) {
    if (ig::sum(x) < 0) throw ig::Error(ig::ErrorKind::Value, "negative");
    return x;
  });
  EXPECT_EQ(of(f(floats(2))), (Floats{1, 2}));
  for (int i = 0; i < 20; ++i) EXPECT_THROW(f(floats(2, -9)), ig::Error);
  EXPECT_EQ(f.tree().given_up(), nullptr);
  EXPECT_EQ(of(f(floats(2))), (Floats{1, 2}));
}

TEST(Jit, TextIsTheGraphOfTheCall) {
  auto f = ig::jit([](Array x) { return x + 1.0; });
  EXPECT_NE(f.text(floats(2)).find("f32[2]"), std::string::npos);
  f(floats(3));
  EXPECT_NE(f.text(floats(3)).find("f32[s0]"), std::string::npos);
}

}  // namespace
