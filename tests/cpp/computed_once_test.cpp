// Programs that compute what depends on steady inputs once (the pass compute-once), from C++.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <vector>

#include "tensor/program.h"

namespace ig {
namespace {

constexpr int64_t kElements = 4096;

const char* const kText = R"(graph @main(%x: f32[4096], %w: f32[4096]) {
  %c = cosine(%w) : f32[4096]
  %y = multiply(%x, %c) : f32[4096]
  return %y
}
)";

Tensor filled(float value) {
  Literal literal = Literal::allocate(DType::F32, {kElements});
  auto* to = static_cast<float*>(literal.mutable_data());
  std::fill(to, to + kElements, value);
  return Tensor::from(literal);
}

float first(const std::vector<Tensor>& results) { return *static_cast<const float*>(results.at(0).data()); }

CompileOptions steady() {
  CompileOptions options;
  options.steady = {1};
  return options;
}

TEST(ComputedOnce, IsOfTheArraysOfTheCall) {
  const auto program = compile(*Graph::parse(kText), steady());
  ASSERT_EQ(program->report().computed_once.size(), 1u);
  EXPECT_EQ(program->report().computed_bytes, 4u * kElements);
  EXPECT_EQ(program->report().kernels, 1);
  const Tensor x = filled(2), one = filled(1), other = filled(3);
  for (int turn = 0; turn < 3; ++turn)
    for (const Tensor* w : {&one, &one, &other}) {
      const Tensor given[] = {x, *w};
      EXPECT_FLOAT_EQ(first(program->run(given)), 2 * std::cos(w == &one ? 1.0F : 3.0F));
    }
}

TEST(ComputedOnce, TakesAsManyArraysAsTheGraph) {
  const auto program = compile(*Graph::parse(kText), steady());
  const Tensor x = filled(2);
  const Tensor few[] = {x}, many[] = {x, x, x};
  EXPECT_THROW(program->run(few), Error);
  EXPECT_THROW(program->run(many), Error);
}

TEST(ComputedOnce, IsGivenUpWhereArraysChange) {
  const auto program = compile(*Graph::parse(kText), steady());
  const Tensor x = filled(2);
  EXPECT_TRUE(program->steady());
  for (int call = 0; call < 10; ++call) {
    const Tensor given[] = {x, filled(static_cast<float>(call))};
    EXPECT_FLOAT_EQ(first(program->run(given)), 2 * std::cos(static_cast<float>(call)));
  }
  EXPECT_FALSE(program->steady());
  const Tensor given[] = {x, filled(1)};  // it still runs
  for (int call = 0; call < 3; ++call) EXPECT_FLOAT_EQ(first(program->run(given)), 2 * std::cos(1.0F));
}

TEST(ComputedOnce, IsSafeInSeveralThreads) {
  const auto program = compile(*Graph::parse(kText), steady());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&program, t] {
      const Tensor given[] = {filled(2), filled(static_cast<float>(t))};
      for (int call = 0; call < 50; ++call)
        EXPECT_FLOAT_EQ(first(program->run(given)), 2 * std::cos(static_cast<float>(t)));
    });
  for (std::thread& thread : threads) thread.join();
}

// Where nothing may be compiled, nothing is computed beforehand either.
TEST(ComputedOnce, WaitsForTheFirstCallOfWhatIsAtHand) {
  const char* const text = R"(graph @main(%x: f32[4096]) {
  %i = iota() {shape = <4096>, axis = 0, dtype = f32} : f32[4096]
  %c = cosine(%i) : f32[4096]
  %y = multiply(%x, %c) : f32[4096]
  return %y
}
)";
  const std::unique_ptr<Graph> graph = Graph::parse(text);
  const auto made = compile(*graph);
  EXPECT_EQ(made->report().constant_bytes, 4u * kElements);
  CompileOptions options;
  options.at_hand = true;
  const auto found = compile(*graph, options);  // its kernel is in the process by now
  ASSERT_NE(found, nullptr);
  const Tensor given[] = {filled(2)};
  for (int call = 0; call < 2; ++call) {
    const std::vector<Tensor> a = made->run(given), b = found->run(given);
    for (int64_t i = 0; i < kElements; ++i)
      ASSERT_EQ(static_cast<const float*>(a[0].data())[i], static_cast<const float*>(b[0].data())[i]) << i;
  }
}

}  // namespace
}  // namespace ig
