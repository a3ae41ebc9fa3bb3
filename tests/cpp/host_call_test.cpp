// Calls of the host without Python: the registry, how long a function lives, executors, batches, derivatives,
// errors, text and bytes; and the watch for NaN from C++.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "intaglio/callback.h"
#include "intaglio/control.h"
#include "intaglio/debug.h"
#include "ops/effects.h"
#include "ops/read.h"

namespace ig {
namespace {

Type f32(Dims dims) { return Type::tensor(DType::F32, std::move(dims)); }

// Twice the array, counting its calls.
Callback doubling(std::shared_ptr<std::atomic<int>> calls, std::string_view label = "double") {
  return Callback(label, [calls](const std::vector<Array>& x) {
    ++*calls;
    return std::vector<Array>{x[0] + x[0]};
  });
}
std::shared_ptr<std::atomic<int>> counter() { return std::make_shared<std::atomic<int>>(0); }

std::string message_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(HostCall, RunsEagerJittedAndByTheDefinition) {
  auto calls = counter();
  auto f = [twice = doubling(calls)](Array x) {
    return pure_callback(twice, {f32(x.shape())}, {x})[0] * 3.0 + 1.0;
  };
  Array x = array({1.0f, -2.0f});
  const std::vector<float> wanted{7.0f, -11.0f};
  EXPECT_EQ(f(x).values<float>(), wanted);
  EXPECT_EQ(*calls, 1);
  auto jitted = jit(f);
  EXPECT_EQ(jitted(x).values<float>(), wanted);
  EXPECT_EQ(*calls, 2);  // recording calls nothing
  EXPECT_EQ(jitted(x).values<float>(), wanted);
  EXPECT_EQ(*calls, 3);
  std::unique_ptr<Graph> graph = Graph::parse(jitted.text(x));
  *calls = 3;
  Literal input = x.tensor().literal();
  Literal out = ops::evaluate(*graph, std::span(&input, 1))[0];
  EXPECT_EQ(out.as_double(1), -11.0);
  EXPECT_EQ(*calls, 4);
}

TEST(HostCall, LivesAsLongAsAGraphThatNamesIt) {
  auto calls = counter();
  std::weak_ptr<std::atomic<int>> alive = calls;
  Array x = array({1.0f});
  {
    auto program = [&] {
      std::unique_ptr<Graph> graph;
      {
        Callback twice = doubling(std::move(calls));
        graph = std::move(
            trace([&](Array a) { return pure_callback(twice, {f32({1})}, {a})[0]; }, {{f32({1}), "x"}})
                .graph);
      }
      EXPECT_FALSE(alive.expired());
      std::unique_ptr<Graph> copy = graph->clone();
      graph.reset();
      EXPECT_FALSE(alive.expired());
      return compile(*copy);
    }();
    Tensor input = x.tensor();
    EXPECT_EQ(Array(program->run(std::span(&input, 1))[0]).values<float>()[0], 2.0f);
    EXPECT_EQ(alive.lock()->load(), 1);
  }
  EXPECT_TRUE(alive.expired());
}

TEST(HostCall, APureCallIsSharedOrDroppedAndAnEffectIsNot) {
  auto pure = counter(), effects = counter();
  Callback twice = doubling(pure), log("log", [effects](const std::vector<Array>&) {
    ++*effects;
    return std::vector<Array>{};
  });
  auto f = jit([=](Array x) {
    std::vector<Type> like{f32(x.shape())};
    pure_callback(twice, like, {x + 1.0});  // nobody reads it
    debug::callback(log, {x});
    debug::callback(log, {x});
    return pure_callback(twice, like, {x})[0] + pure_callback(twice, like, {x})[0];
  });
  EXPECT_EQ(f(array({1.5f})).values<float>()[0], 6.0f);
  EXPECT_EQ(*pure, 1);
  EXPECT_EQ(*effects, 2);
}

TEST(HostCall, EffectsGiveArraysAndKeepTheirOrder) {
  auto said = std::make_shared<std::vector<std::string>>();
  Callback next("next", [said](const std::vector<Array>& x) {
    said->push_back(fmt::format("next {}", x[0].item<double>()));
    return std::vector<Array>{scalar(static_cast<float>(said->size()))};
  });
  Callback see("see", [said](const std::vector<Array>& x) {
    said->push_back(fmt::format("see {}", x[0].item<double>()));
    return std::vector<Array>{};
  });
  auto f = [=](Array x) {
    Array a = io_callback(next, {f32({})}, {x})[0];
    debug::callback(see, {a * 10.0});
    return a + io_callback(next, {f32({})}, {x + 1.0})[0];
  };
  const std::vector<std::string> wanted{"next 5", "see 10", "next 6"};
  EXPECT_EQ(f(scalar(5.0f)).item<double>(), 4.0);
  EXPECT_EQ(*said, wanted);
  said->clear();
  EXPECT_EQ(jit(f)(scalar(5.0f)).item<double>(), 4.0);
  EXPECT_EQ(*said, wanted);
  // In a loop, once a step.
  said->clear();
  auto loop = jit([=](Array x) {
    return fori_loop(0, 3, [=](Array, Array v) { return v + io_callback(next, {f32({})}, {v})[0]; }, x);
  });
  EXPECT_EQ(loop(scalar(0.0f)).item<double>(), 6.0);
  EXPECT_EQ(*said, (std::vector<std::string>{"next 0", "next 1", "next 3"}));
}

TEST(HostCall, BatchesBySequenceOrAtOnce) {
  auto calls = counter();
  Callback add("add", [calls](const std::vector<Array>& x) {
    ++*calls;
    return std::vector<Array>{x[0] + x[1]};
  });
  Array rows = array<float>({1, 2, 3, 4, 5, 6}, {3, 2}), one = array({10.0f, 20.0f});
  const std::vector<float> wanted{11, 22, 13, 24, 15, 26};
  for (auto [method, times] : {std::pair("sequential", 3), {"expand_dims", 1}, {"broadcast_all", 1}}) {
    auto row = [=](Array x) { return pure_callback(add, {f32(x.shape())}, {x, one}, method)[0]; };
    *calls = 0;
    EXPECT_EQ(vmap(row)(rows).values<float>(), wanted) << method;
    EXPECT_EQ(*calls, times) << method;
    EXPECT_EQ(jit([=](Array x) { return vmap(row)(x); })(rows).values<float>(), wanted) << method;
  }
  Callback plain = Callback::registered("test.plain", [](const std::vector<Array>& x) { return x; });
  EXPECT_EQ(
      message_of(
          [&] { vmap([=](Array x) { return pure_callback(plain, {f32(x.shape())}, {x})[0]; })(rows); }),
      "vmap: the pure_callback of 'test.plain' has no vmap_method\n  why: only its writer knows whether the "
      "function takes arrays with further axes\n  hint: give vmap_method=\"sequential\" for a call an "
      "element, or \"expand_dims\" or \"broadcast_all\" for one call on arrays with the batch in front");
}

TEST(HostCall, ErrorsReachTheCallerAndTheProgramStaysUsable) {
  auto fails = std::make_shared<std::atomic<bool>>(true);
  struct Own {};
  Callback sometimes("sometimes", [fails](const std::vector<Array>& x) {
    if (*fails) throw Own{};
    return std::vector<Array>{x[0]};
  });
  auto f = jit([=](Array x) { return pure_callback(sometimes, {f32(x.shape())}, {x + 1.0})[0] * 2.0; });
  Array x = array({1.0f});
  EXPECT_THROW(f(x), Own);
  EXPECT_THROW(f(x), Own);
  *fails = false;
  EXPECT_EQ(f(x).values<float>()[0], 4.0f);
}

// The texts of errors of registered functions, whose names are their own.
TEST(HostCall, Texts) {
  Callback wrong = Callback::registered("test.wrong", [](const std::vector<Array>& x) { return x; });
  auto graph = [&](const Type& declared) {
    return std::move(
        trace([&](Array a) { return pure_callback(wrong, {declared}, {a})[0]; }, {{f32({2}), "x"}}).graph);
  };
  Literal x = Literal::allocate(DType::F32, {2});
  EXPECT_EQ(
      message_of([&] { ops::evaluate(*graph(f32({3})), std::span(&x, 1)); }),
      "the host function 'test.wrong' gave f32[2], but f32[3] was declared\n  why: what a callback gives is "
      "known before it runs by what is declared, and is never converted\n  hint: give arrays of these "
      "dtypes and shapes, or declare what it gives");
  EXPECT_EQ(
      message_of([] { Callback::registered("a@b", nullptr); }),
      "a host function cannot be registered as 'a@b'\n  why: names with an @ are those that functions get "
      "which nobody registers\n  hint: choose a name without it, such as \"my_package.load\"");
  const std::string text = R"(graph @main(%x: f32[2]) {
  %y = pure_callback(%x) {function = "test.later", dtypes = "f32", ranks = [1], sizes = <2>, structure = "", vmap_method = "none", kept = u8[0] {}} : f32[2]
  return %y
})";
  std::unique_ptr<Graph> parsed = ops::read_graph(text, "later.ig");
  std::shared_ptr<Program> program = compile(*parsed);
  Tensor input = Tensor::from(x);
  const std::string absent =
      "the host function 'test.later' is not there\n  why: the graph names it and does not hold it: it was "
      "read "
      "from text or from a file, and this process has registered no function of that name\n  hint: register "
      "it "
      "before the run: register_host_function(\"test.later\", f)";
  EXPECT_EQ(message_of([&] { program->run(std::span(&input, 1)); }), absent);
  EXPECT_EQ(message_of([&] { ops::evaluate(*parsed, std::span(&x, 1)); }), absent);
  Callback::registered("test.later", [](const std::vector<Array>& a) { return std::vector{a[0] + 1.0}; });
  EXPECT_EQ(Array(program->run(std::span(&input, 1))[0]).values<float>(), (std::vector<float>{1, 1}));
  // Another one of the name takes its place, also for programs that are there.
  Callback::registered("test.later", [](const std::vector<Array>& a) { return std::vector{a[0] + 2.0}; });
  EXPECT_EQ(Array(program->run(std::span(&input, 1))[0]).values<float>(), (std::vector<float>{2, 2}));
}

TEST(HostCall, TextAndBytesNameTheFunctionAndKeepIt) {
  auto calls = counter();
  std::weak_ptr<std::atomic<int>> alive = calls;
  std::string text, bytes;
  std::unique_ptr<Graph> parsed;
  {
    Callback twice = doubling(std::move(calls)), other = doubling(counter());
    auto one = trace([&](Array a) { return pure_callback(twice, {f32({1})}, {a})[0]; }, {{f32({1}), "x"}});
    auto two = trace([&](Array a) { return pure_callback(other, {f32({1})}, {a})[0]; }, {{f32({1}), "x"}});
    EXPECT_NE(one.graph->hash(), two.graph->hash());  // no cache takes one for the other
    text = one.graph->str();
    EXPECT_EQ(Graph::parse(text)->str(), text);
    bytes = one.graph->to_binary();
    EXPECT_EQ(Graph::from_binary(bytes)->str(), text);
    parsed = ops::read_graph(text, "<text>");
  }
  EXPECT_FALSE(alive.expired());
  Literal x = Literal::scalar(DType::F32, 1.0);
  x = Literal(DType::F32, {1}, x.storage());
  EXPECT_EQ(ops::evaluate(*parsed, std::span(&x, 1))[0].as_double(0), 2.0);
  parsed.reset();
  EXPECT_TRUE(alive.expired());
}

TEST(HostCall, DerivativesLeaveEffectsOnTheValues) {
  auto calls = counter();
  Callback see("see", [calls](const std::vector<Array>&) {
    ++*calls;
    return std::vector<Array>{};
  });
  auto loss = [=](Array x) {
    debug::callback(see, {x});
    return sum(x * x);
  };
  EXPECT_EQ(grad(loss)(array({3.0f})).values<float>()[0], 6.0f);
  EXPECT_EQ(*calls, 1);
  EXPECT_EQ(jit([=](Array x) { return grad(loss)(x); })(array({3.0f})).values<float>()[0], 6.0f);
  EXPECT_EQ(*calls, 2);
}

TEST(HostCall, ManyThreadsAndCallsWithinCalls) {
  auto inner = jit([](Array x) { return x * 2.0; });
  Callback nested("nested",
                  [inner](const std::vector<Array>& x) mutable { return std::vector{inner(x[0])}; });
  auto f = jit([=](Array x) { return pure_callback(nested, {f32(x.shape())}, {x})[0] + 1.0; });
  Array x = array({1.0f, 2.0f});
  f(x);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) wrong += f(x).values<float>() != std::vector<float>{3.0f, 5.0f};
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(DebugNans, WatchFromCpp) {
  auto f = jit([](Array x) { return log(x) + 1.0; });
  Array bad = array({1.0f, -1.0f});
  f(bad);
  const std::string nan =
      "`log` makes NaN: 1 of 2 elements, the first at [1]\n  why: no operand holds one; there x is -1";
  {
    DebugNans watch;
    EXPECT_EQ(message_of([&] { f(bad); }).substr(0, nan.size()), nan);
    EXPECT_EQ(message_of([&] { log(bad); }).substr(0, nan.size()), nan);
    DebugNans off(false);
    f(bad);
  }
  f(bad);
  debug_nans(true);
  EXPECT_EQ(message_of([&] { f(bad); }).substr(0, nan.size()), nan);
  debug_infs(true);
  debug_nans(false);
  f(bad);
  EXPECT_EQ(message_of([&] { f(array({0.0f})); }).substr(0, 27), "`log` makes an infinity: 1 ");
  debug_infs(false);
  f(array({0.0f}));
}

TEST(DebugNans, TheSearchTakesWhatEffectsGave) {
  auto calls = counter();
  Callback load("load", [calls](const std::vector<Array>&) {
    ++*calls;
    return std::vector<Array>{array({4.0f, -1.0f})};
  });
  auto f = jit([=](Array x) { return sqrt(io_callback(load, {f32({2})}, {})[0] * x); });
  DebugNans watch;
  const std::string nan = "`sqrt` makes NaN: 1 of 2 elements, the first at [1]";
  EXPECT_EQ(message_of([&] { f(scalar(1.0f)); }).substr(0, nan.size()), nan);
  EXPECT_EQ(*calls, 1);
}

}  // namespace
}  // namespace ig
