// Graphs that run before they are compiled: when they do, that the bits are the program's, that threads may
// call them while one of them or the background compiles, and that both may be called off.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "ops/read.h"
#include "ops/table.h"
#include "support/storage.h"
#include "tensor/eager.h"
#include "tensor/lazy_program.h"

namespace ig {
namespace {

std::shared_ptr<const Graph> graph_of(const std::string& text) { return ops::read_graph(text, "<test>"); }

Tensor floats(std::initializer_list<int64_t> shape, float scale) {
  Tensor out = Tensor::empty(DType::F32, Shape(std::vector<int64_t>(shape)));
  auto* data = static_cast<float*>(out.data());
  for (int64_t i = 0; i < out.elements(); ++i) data[i] = scale * static_cast<float>(i % 13 - 6);
  return out;
}

std::string bytes(const Tensor& x) {
  return {static_cast<const char*>(x.data()), static_cast<size_t>(x.bytes())};
}

const std::string kLayer = R"(
graph @layer(%x: f32[n, 8], %w: f32[8, 4], %b: f32[4]) where n in [1, 100] {
  %0 = matmul(%x, %w) : f32[n, 4]
  %1 = broadcast_in_dim(%b) {shape = <n, 4>, broadcast_dimensions = [1]} : f32[n, 4]
  %2 = add(%0, %1) : f32[n, 4]
  %3 = tanh(%2) : f32[n, 4]
  return %3, %0
}
)";

// Has the layer's kernels at hand, also where none are prebuilt.
std::vector<Tensor> layer_inputs(int64_t n) {
  std::vector<Tensor> out = {floats({n, 8}, 0.25F), floats({8, 4}, 0.5F), floats({4}, 1)};
  const Tensor product = apply(ops::get("matmul"), std::vector<Tensor>{out[0], out[1]}, {})[0];
  const Tensor sum = apply(ops::get("add"), std::vector<Tensor>{product, product}, {})[0];
  apply(ops::get("tanh"), std::vector<Tensor>{sum}, {});
  return out;
}

TEST(LazyProgram, RunsWithTheProgramsBitsAtAnySize) {
  LazyProgram lazy(graph_of(kLayer), {}, FirstCalls::Always);
  for (int64_t n : {1, 2, 5, 100}) {
    std::vector<Tensor> inputs = layer_inputs(n);
    std::optional<std::vector<Tensor>> early = lazy.run_early(inputs);
    ASSERT_TRUE(early) << n;
    std::vector<Tensor> want = compile(*graph_of(kLayer))->run(inputs);
    ASSERT_EQ(early->size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ((*early)[i].shape(), want[i].shape());
      EXPECT_EQ(bytes((*early)[i]), bytes(want[i]));
    }
  }
  EXPECT_FALSE(lazy.ready());
}

TEST(LazyProgram, LeavesWhatTheGraphDoesNotTakeToTheProgram) {
  LazyProgram lazy(graph_of(kLayer), {}, FirstCalls::Always);
  const std::vector<Tensor> inputs = layer_inputs(3);
  const Tensor &x = inputs[0], &w = inputs[1], &b = inputs[2];
  EXPECT_FALSE(lazy.run_early(std::vector<Tensor>{x, w}));
  EXPECT_FALSE(lazy.run_early(std::vector<Tensor>{floats({101, 8}, 1), w, b}));
  EXPECT_FALSE(lazy.run_early(std::vector<Tensor>{floats({3, 7}, 1), w, b}));
  EXPECT_FALSE(lazy.run_early(std::vector<Tensor>{x, w, floats({1, 4}, 1)}));
  EXPECT_FALSE(lazy.run_early(std::vector<Tensor>{x, w, Tensor::scalar_int(DType::I64, 1)}));
  EXPECT_TRUE(lazy.run_early(inputs));
}

// Values that are read again later, that lie in an input's or a constant's memory, or in another's after a
// reshape; rows, columns and numbers that are repeated, one of them for an op that wants all of it.
const std::string kReread = R"(
graph @reread(%x: f32[n, 4], %row: f32[4], %column: f32[n]) where n in [1, 1000000] {
  %0 = constant() {value = f32[] {0x1p+1}} : f32[]
  %1 = broadcast_in_dim(%0) {shape = <n, 4>, broadcast_dimensions = []} : f32[n, 4]
  %2 = add(%x, %1) : f32[n, 4]
  %3 = tanh(%2) : f32[n, 4]
  %4 = multiply(%2, %3) : f32[n, 4]
  %5 = reshape(%4) {shape = <4, n>} : f32[4, n]
  %6 = negate(%5) : f32[4, n]
  %7 = multiply(%6, %6) : f32[4, n]
  %8 = broadcast_in_dim(%row) {shape = <n, 4>, broadcast_dimensions = [1]} : f32[n, 4]
  %9 = broadcast_in_dim(%column) {shape = <n, 4>, broadcast_dimensions = [0]} : f32[n, 4]
  %10 = add(%8, %9) : f32[n, 4]
  %11 = subtract(%4, %10) : f32[n, 4]
  %12 = reshape(%x) {shape = <4, n>} : f32[4, n]
  %13 = negate(%12) : f32[4, n]
  %14 = broadcast_in_dim(%column) {shape = <4, n>, broadcast_dimensions = [1]} : f32[4, n]
  %15 = reduce_sum(%14) {axes = [1]} : f32[4]
  %16 = exponential(%1) : f32[n, 4]
  return %7, %11, %13, %14, %15, %16, %5
}
)";

TEST(OpByOp, OverwritesNothingThatIsReadAgain) {
  const auto ops = OpByOp::of(graph_of(kReread), FirstCalls::Always);
  const auto program = compile(*graph_of(kReread));
  for (int64_t n : {1, 4, 33, 70000}) {
    const std::vector<Tensor> inputs = {floats({n, 4}, 0.25F), floats({4}, 1), floats({n}, 0.5F)};
    std::vector<std::string> before;
    for (const Tensor& x : inputs) before.push_back(bytes(x));
    const std::vector<Tensor> once = *ops->run(inputs, true), again = *ops->run(inputs, true);
    const std::vector<Tensor> want = program->run(inputs);
    ASSERT_EQ(once.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(once[i].shape(), want[i].shape());
      EXPECT_EQ(bytes(once[i]), bytes(want[i])) << n << ", result " << i;
      EXPECT_EQ(bytes(again[i]), bytes(want[i])) << n << ", result " << i;
    }
    for (size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(bytes(inputs[i]), before[i]);
  }
}

TEST(OpByOp, AChainTakesTheMemoryOfItsResult) {
  const auto ops = OpByOp::of(graph_of(R"(
graph @chain(%x: f32[n]) {
  %0 = constant() {value = f32[] {0x1p+1}} : f32[]
  %1 = broadcast_in_dim(%0) {shape = <n>, broadcast_dimensions = []} : f32[n]
  %2 = add(%x, %1) : f32[n]
  %3 = relu(%2) : f32[n]
  %4 = multiply(%3, %1) : f32[n]
  %5 = tanh(%4) : f32[n]
  return %5
}
)"),
                              FirstCalls::Always);
  const std::vector<Tensor> inputs = {floats({1 << 18}, 0.25F)};
  for (const char* name : {"add", "multiply"})  // has their kernels at hand, also where none are prebuilt
    eager::run_elementwise(ops::get(name), std::vector{inputs[0], Tensor::scalar(DType::F32, 2)}, {},
                           inputs[0].shape());
  ASSERT_TRUE(ops->run(inputs, true));
  reset_allocator_peak();
  const size_t before = allocator_stats().live;
  const std::vector<Tensor> out = *ops->run(inputs, true);
  EXPECT_LT(allocator_stats().peak - before, out[0].bytes() + (64 << 10));
}

// As many steps as a size says, each with a check: the sum of rows, where all of them are below a bound.
const std::string kRows = R"(
graph @rows(%x: f32[n, 4], %bound: f32[]) where n in [0, 100] {
  %0 = constant() {value = f32[4] {0, 0, 0, 0}} : f32[4]
  %1, %2 = scan(%bound | %0 | %x) {length = <>, reverse = false} : f32[4], f32[n, 4] {
    ^(%m: f32[], %c: f32[4], %r: f32[4]) {
      %b = broadcast_in_dim(%m) {shape = <4>, broadcast_dimensions = []} : f32[4]
      %l = less(%r, %b) : bool[4]
      %t = create_token() : token
      %k = check(%t, %l) {message = "too large", paired = [], why = "w", hint = "h", kind = "value"} : token
      %s = add(%c, %r) : f32[4]
      return %s, %c
    }
  }
  return %1, %2
}
)";

TEST(LazyProgram, LoopsAndChecksRunWithTheProgramsBits) {
  LazyProgram lazy(graph_of(kRows), {}, FirstCalls::Always);
  const std::shared_ptr<Program> program = compile(*graph_of(kRows));
  const Tensor row = floats({4}, 1);  // kernels are at hand, also where none are prebuilt
  apply(ops::get("add"), std::vector<Tensor>{row, row}, {});
  apply(ops::get("less"), std::vector<Tensor>{row, row}, {});
  for (int64_t n : {0, 1, 7}) {
    const std::vector<Tensor> inputs = {floats({n, 4}, 0.3F), Tensor::scalar(DType::F32, 100)};
    std::optional<std::vector<Tensor>> early = lazy.run_early(inputs);
    ASSERT_TRUE(early) << n;
    const std::vector<Tensor> want = program->run(inputs);
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ((*early)[i].shape(), want[i].shape());
      EXPECT_EQ(bytes((*early)[i]), bytes(want[i]));
    }
  }
  EXPECT_FALSE(lazy.run_early(std::vector<Tensor>{floats({7, 4}, 0.3F), Tensor::scalar(DType::F32, 1)}))
      << "the program tells what does not hold";
}

TEST(LazyProgram, CompilesAtOnceWhereItIsToldTo) {
  LazyProgram lazy(graph_of(kLayer), {}, FirstCalls::Compile);
  EXPECT_FALSE(lazy.run_early(std::vector<Tensor>{floats({3, 8}, 1), floats({8, 4}, 1), floats({4}, 1)}));
  EXPECT_TRUE(lazy.get());
  EXPECT_TRUE(lazy.ready());
}

TEST(LazyProgram, FindsNoKernelForWhatNobodyCompiled) {
  // A constant of the test's own, so that no other has compiled it.
  auto graph = graph_of(R"(graph @odd(%x: f32[3, 5, 7]) {
    %0 = constant() {value = f32[] {0x1.23456p+3}} : f32[]
    %1 = broadcast_in_dim(%0) {shape = <3, 5, 7>, broadcast_dimensions = []} : f32[3, 5, 7]
    %2 = multiply(%x, %1) : f32[3, 5, 7]
    %3 = add(%2, %x) : f32[3, 5, 7]
    return %3
  })");
  CompileOptions options;
  options.at_hand = true;
  EXPECT_FALSE(compile(*graph, options));
  EXPECT_TRUE(compile(*graph));
  EXPECT_TRUE(compile(*graph, options)) << "now it is in the process";
}

TEST(LazyProgram, ThreadsCallItWhileOneCompiles) {
  LazyProgram lazy(graph_of(kLayer), {}, FirstCalls::WhileItPays);
  const std::vector<Tensor> inputs = layer_inputs(16);
  const std::string want = bytes(compile(*graph_of(kLayer))->run(inputs)[0]);
  std::atomic<int> wrong{0}, compiled{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int call = 0; call < 200; ++call) {
        if (t == 0 && call == 100) lazy.get();
        std::optional<std::vector<Tensor>> early = lazy.run_early(inputs);
        const std::vector<Tensor> out = early ? *std::move(early) : lazy.get()->run(inputs);
        wrong += bytes(out[0]) != want;
        compiled += lazy.ready() != nullptr;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(compiled, 100);
}

// A graph of `count` nodes with numbers of its own, so that nobody has compiled it.
std::string long_graph(int count) {
  static int graphs = 0;
  std::string text = fmt::format("graph @long{}(%x: f32[6, 7]) {{\n", ++graphs), last = "x";
  for (int i = 0; i < count; i += 3) {
    text += fmt::format("  %{} = constant() {{value = f32[] {{{}}}}} : f32[]\n", i, graphs * 1000 + i);
    text += fmt::format(
        "  %{} = broadcast_in_dim(%{}) {{shape = <6, 7>, broadcast_dimensions = []}} : f32[6, 7]\n", i + 1,
        i);
    text += fmt::format("  %{} = {}(%{}, %{}) : f32[6, 7]\n", i + 2, i % 2 ? "add" : "multiply", last, i + 1);
    last = std::to_string(i + 2);
  }
  return text + fmt::format("  return %{}\n}}\n", last);
}

bool becomes_ready(const LazyProgram& lazy) {
  return rt::background::wait(std::chrono::minutes(1)) && lazy.ready();
}

TEST(LazyProgram, LongGraphsAreMadeInTheBackgroundFromTheSecondCallOn) {
  auto graph = graph_of(long_graph(330));
  LazyProgram lazy(graph, {}, FirstCalls::WhileItPays);
  const std::vector<Tensor> inputs = {floats({6, 7}, 0.25F)};
  std::optional<std::vector<Tensor>> first = lazy.run_early(inputs);
  ASSERT_TRUE(first);
  EXPECT_TRUE(rt::background::wait(std::chrono::milliseconds(0))) << "who calls it once has it not compiled";
  std::optional<std::vector<Tensor>> second = lazy.run_early(inputs);
  ASSERT_TRUE(second) << "it does not wait";
  ASSERT_TRUE(becomes_ready(lazy));
  EXPECT_FALSE(lazy.run_early(inputs));
  const std::string want = bytes((*lazy.ready())->run(inputs)[0]);
  EXPECT_EQ(bytes((*first)[0]), want);
  EXPECT_EQ(bytes((*second)[0]), want);
}

TEST(LazyProgram, WhoAsksForTheProgramTakesOver) {
  for (int trial = 0; trial < 20; ++trial) {
    LazyProgram lazy(graph_of(long_graph(330)), {}, FirstCalls::WhileItPays);
    const std::vector<Tensor> inputs = {floats({6, 7}, 0.25F)};
    const std::string want = bytes((*lazy.run_early(inputs))[0]);
    lazy.run_early(inputs);
    std::this_thread::sleep_for(std::chrono::milliseconds(trial));
    EXPECT_EQ(bytes(lazy.get()->run(inputs)[0]), want);
    EXPECT_TRUE(rt::background::wait(std::chrono::minutes(1)));
  }
}

TEST(LazyProgram, MayGoWhileItIsMade) {
  for (int trial = 0; trial < 20; ++trial) {
    LazyProgram lazy(graph_of(long_graph(330)), {}, FirstCalls::WhileItPays);
    const std::vector<Tensor> inputs = {floats({6, 7}, 0.25F)};
    lazy.run_early(inputs);
    lazy.run_early(inputs);
    std::this_thread::sleep_for(std::chrono::milliseconds(trial));
  }
  EXPECT_TRUE(rt::background::wait(std::chrono::minutes(1)));
}

TEST(LazyProgram, AForkFindsTheCompilerAtRest) {
  LazyProgram lazy(graph_of(long_graph(600)), {}, FirstCalls::WhileItPays);
  const std::vector<Tensor> inputs = {floats({6, 7}, 0.25F)};
  const std::string want = bytes((*lazy.run_early(inputs))[0]);
  lazy.run_early(inputs);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool ready = becomes_ready(lazy);
    _exit(ready && bytes((*lazy.ready())->run(inputs)[0]) == want ? 0 : 1);
  }
  EXPECT_TRUE(becomes_ready(lazy));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(LazyProgram, WhatTheBackgroundCannotMakeIsToldByTheCallThatComesNext) {
  CompileOptions options;
  options.disabled_passes = {"no-such-pass"};
  LazyProgram lazy(graph_of(long_graph(330)), options, FirstCalls::WhileItPays);
  const std::vector<Tensor> inputs = {floats({6, 7}, 0.25F)};
  EXPECT_TRUE(lazy.run_early(inputs));
  EXPECT_TRUE(lazy.run_early(inputs));
  EXPECT_FALSE(becomes_ready(lazy));
  EXPECT_FALSE(lazy.run_early(inputs));
  try {
    lazy.get();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Value);
    EXPECT_TRUE(std::string(error.what()).starts_with("unknown pass 'no-such-pass'")) << error.what();
  }
}

TEST(LazyProgram, ThreadsCallItWhileTheBackgroundMakesIt) {
  for (int trial = 0; trial < 5; ++trial) {
    LazyProgram lazy(graph_of(long_graph(330)), {}, FirstCalls::WhileItPays);
    const std::vector<Tensor> inputs = {floats({6, 7}, 0.25F)};
    const std::string want = bytes((*lazy.run_early(inputs))[0]);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int call = 0; call < 40 || !lazy.ready(); ++call) {
          std::optional<std::vector<Tensor>> early = lazy.run_early(inputs);
          if (t == trial && call == 10) lazy.get();
          const std::vector<Tensor> out = early ? *std::move(early) : lazy.get()->run(inputs);
          wrong += bytes(out[0]) != want;
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Compile, StopsWhereItIsAskedToAndKeepsWhatItHas) {
  auto graph = graph_of(long_graph(60));
  std::stop_source stop;
  CompileOptions options;
  options.stop = stop.get_token();
  stop.request_stop();
  EXPECT_THROW(compile(*graph, options), Stopped);
  options.stop = {};
  EXPECT_TRUE(compile(*graph, options)) << "nobody waits for what was not begun";
  options.at_hand = true;
  EXPECT_TRUE(compile(*graph, options));
}

}  // namespace
}  // namespace ig
