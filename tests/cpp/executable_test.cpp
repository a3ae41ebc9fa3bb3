// The executable: kernels over planned arenas, symbolic sizes, in-place slots, control flow, host calls,
// errors, donation, concurrent runs, reports. Kernels here are plain C++ functions with the kernel's calling
// convention.
#include "runtime/executable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "runtime/executable_code.h"
#include "runtime/thread_pool.h"

namespace ig::rt {
namespace {

using Op = SizeTable::Op;

float* f32(void* p) { return static_cast<float*>(p); }

// One block an element: out = a + b.
int32_t add(const KernelArgs* args, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    f32(args->buffers[2])[i] = f32(args->buffers[0])[i] + f32(args->buffers[1])[i];
  return 0;
}

int32_t twice(const KernelArgs* args, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) f32(args->buffers[1])[i] = f32(args->buffers[0])[i] * 2;
  return 0;
}

int32_t less_than(const KernelArgs* args, int64_t, int64_t) {
  *static_cast<uint8_t*>(args->buffers[2]) = f32(args->buffers[0])[0] < f32(args->buffers[1])[0];
  return 0;
}

int32_t check_positive(const KernelArgs* args, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    if (f32(args->buffers[0])[i] < 0) {
      args->error[0] = 42;
      args->error[1] = i;
      return 5;
    }
  return 0;
}

Slot input(int i, SizeId bytes) { return {.kind = SlotKind::Input, .index = i, .bytes = bytes}; }
Slot output(int i, SizeId bytes) { return {.kind = SlotKind::Output, .index = i, .bytes = bytes}; }
Slot constant(int i, SizeId bytes) { return {.kind = SlotKind::Constant, .index = i, .bytes = bytes}; }
Slot arena(SizeId bytes, SlotId alias = -1) {
  return {.kind = SlotKind::Arena, .bytes = bytes, .alias = alias};
}
KernelCall call(KernelFn fn, std::vector<SlotId> buffers, SizeId blocks) {
  return {.kernel = fn, .buffers = std::move(buffers), .dims = {blocks}, .blocks = blocks};
}

std::vector<float> run_one(const Executable& exe, std::vector<std::vector<float>> inputs,
                           std::vector<int64_t> symbols = {}) {
  std::vector<void*> pointers;
  for (auto& in : inputs) pointers.push_back(in.data());
  std::vector<Storage> outputs(static_cast<size_t>(exe.outputs()));
  exe.run(pointers, symbols, outputs);
  const auto* data = static_cast<const float*>(outputs[0].data());
  return {data, data + outputs[0].bytes() / sizeof(float)};
}

// out = ((x + y) * 2 ...) with `doublings` temporaries, n elements by symbol 0.
Program chain(int doublings, bool in_place) {
  Program p;
  p.name = "chain";
  SizeId n = p.sizes.symbol(0), bytes = p.sizes.binary(Op::Multiply, n, p.sizes.constant(4));
  Block b{
      .inputs = 2, .outputs = 1, .slots = {input(0, bytes), input(1, bytes), output(0, bytes)}, .code = {}};
  SlotId last = 3;
  b.slots.push_back(arena(bytes));
  b.code.push_back(call(add, {0, 1, last}, n));
  for (int i = 0; i < doublings; ++i) {
    b.slots.push_back(arena(bytes, in_place ? last : -1));
    b.code.push_back(call(twice, {last, last + 1}, n));
    ++last;
  }
  b.code.push_back(call(twice, {last, 2}, n));
  p.blocks.push_back(b);
  return p;
}

TEST(SizeTable, FoldsSharesAndRoundsDown) {
  SizeTable t;
  SizeId b = t.symbol(1);
  EXPECT_EQ(t.binary(Op::Add, t.constant(2), t.constant(3)), t.constant(5));
  EXPECT_EQ(t.binary(Op::Add, b, t.constant(3)), t.binary(Op::Add, b, t.constant(3)));
  SizeId down = t.binary(Op::FloorDiv, b, t.constant(4)), rest = t.binary(Op::Mod, b, t.constant(4));
  SizeId low = t.binary(Op::Min, b, t.constant(0)), high = t.binary(Op::Max, b, t.constant(0));
  std::vector<int64_t> v;
  int64_t symbols[] = {0, -7};
  t.evaluate(symbols, v);
  auto value = [&](SizeId id) { return v[static_cast<size_t>(id)]; };
  EXPECT_EQ(value(down), -2);
  EXPECT_EQ(value(rest), 1);
  EXPECT_EQ(value(low), -7);
  EXPECT_EQ(value(high), 0);
  EXPECT_EQ(t.symbols(), 2);
}

TEST(SizeTable, OverflowAndDivisionByZeroAreErrors) {
  SizeTable t;
  SizeId n = t.symbol(0);
  t.binary(Op::Multiply, n, t.constant(int64_t{1} << 40));
  t.binary(Op::FloorDiv, t.constant(1), n);
  std::vector<int64_t> v;
  int64_t big[] = {int64_t{1} << 40}, zero[] = {0};
  EXPECT_THROW(t.evaluate(big, v), Error);
  EXPECT_THROW(t.evaluate(zero, v), Error);
}

// Up to 4 numbers are added, more are doubled; where sizes are known, too, and where the run is recorded.
TEST(Executable, KernelsForSomeSizesRunForThese) {
  auto program = [](std::optional<int64_t> known) {
    Program p;
    p.name = "either";
    const SizeId n = known ? p.sizes.constant(*known) : p.sizes.symbol(0), one = p.sizes.constant(1);
    const SizeId bytes = p.sizes.binary(Op::Multiply, n, p.sizes.constant(4));
    const SizeId many = p.sizes.binary(Op::Min, p.sizes.binary(Op::FloorDiv, n, p.sizes.constant(5)), one);
    const SizeId few = p.sizes.binary(Op::Add, one, p.sizes.binary(Op::Multiply, many, p.sizes.constant(-1)));
    Block b{
        .inputs = 2, .outputs = 1, .slots = {input(0, bytes), input(1, bytes), output(0, bytes)}, .code = {}};
    KernelCall added = call(add, {0, 1, 2}, n), doubled = call(twice, {0, 2}, n);
    added.when = few, doubled.when = many;
    b.code = {added, doubled};
    p.blocks.push_back(b);
    return p;
  };
  for (int64_t n : {0, 1, 4, 5, 100}) {
    std::vector<float> x(static_cast<size_t>(n), 3), y(static_cast<size_t>(n), 7);
    const std::vector<float> want(static_cast<size_t>(n), n > 4 ? 6.0f : 10.0f);
    const Executable any(program({})), own(program(n));
    EXPECT_EQ(run_one(any, {x, y}, {n}), want);
    EXPECT_EQ(run_one(own, {x, y}), want);
    ASSERT_TRUE(profile::start(100));
    EXPECT_EQ(run_one(any, {x, y}, {n}), want);
    const profile::Recording recording = profile::stop();
    EXPECT_EQ(std::ranges::count(recording.things, profile::Kind::Kernel, &profile::Thing::kind), 1);
  }
}

TEST(Executable, AChainWithSymbolicSizes) {
  for (bool in_place : {false, true}) {
    Executable exe(chain(5, in_place));
    for (int64_t n : {3, 100, 3, 0, 5000}) {
      std::vector<float> x(static_cast<size_t>(n)), y(x.size());
      std::iota(x.begin(), x.end(), 0.0f);
      std::iota(y.begin(), y.end(), 1.0f);
      auto out = run_one(exe, {x, y}, {n});
      ASSERT_EQ(out.size(), x.size());
      for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], (x[i] + y[i]) * 64);
      auto rounded = (static_cast<size_t>(n) * 4 + 63) / 64 * 64;
      RunReport report = exe.report();
      EXPECT_EQ(report.planned_arena, rounded * (in_place ? 1 : 2));
      EXPECT_EQ(report.planned_peak, report.planned_arena + static_cast<size_t>(n) * 4);
    }
    RunReport report = exe.report();
    EXPECT_EQ(report.runs, 5);
    EXPECT_EQ(report.kernels.compiled, 7);
    EXPECT_EQ(report.launched.compiled, 35);
    EXPECT_EQ(report.measured_peak, report.planned_peak);
  }
}

// ((x + y) * 2) * c[0] with fixed sizes and two temporaries: n elements, n * 4 bytes.
Program small_chain(int64_t n) {
  Program p;
  p.name = "small chain";
  SizeId count = p.sizes.constant(n), bytes = p.sizes.constant(4 * n);
  Storage seven = Storage::allocate(static_cast<size_t>(4 * n));
  std::fill_n(f32(seven.data()), n, 7.0f);
  p.constants.push_back(seven);
  Block b{.inputs = 2,
          .outputs = 1,
          .slots = {input(0, bytes), input(1, bytes), output(0, bytes), constant(0, bytes), arena(bytes),
                    arena(bytes)},
          .code = {call(add, {0, 1, 4}, count), call(twice, {4, 5}, count), call(add, {5, 3, 2}, count)}};
  for (Instruction& instruction : b.code) std::get<KernelCall>(instruction).grain = 1 << 20;
  p.blocks.push_back(b);
  return p;
}

TEST(Executable, SmallProgramsRunWithoutALease) {
  Executable exe(small_chain(5));
  ASSERT_TRUE(exe.small());
  std::vector<float> x{1, 2, 3, 4, 5}, y{10, 20, 30, 40, 50};
  void* inputs[] = {x.data(), y.data()};
  std::vector<Storage> quick(1), usual(1);
  exe.run_small(inputs, quick);
  exe.run(inputs, {}, usual);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(f32(quick[0].data())[i], 2 * (x[i] + y[i]) + 7);
    EXPECT_EQ(f32(usual[0].data())[i], f32(quick[0].data())[i]);
  }
  exe.run_small(inputs, usual);
  RunReport report = exe.report();
  EXPECT_EQ(report.runs, 3);
  EXPECT_EQ(report.launched.compiled, 9);
  EXPECT_EQ(report.measured_peak, report.planned_peak);
  EXPECT_GE(report.planned_arena, 40u);
}

TEST(Executable, ProgramsThatAreNotSmall) {
  EXPECT_FALSE(Executable(small_chain(1024)).small());  // more temporaries than the stack is to hold
  for (int64_t grain : {2, 3}) {  // five blocks are work for a second thread where each gets two
    Program shared = small_chain(5);
    for (Instruction& instruction : shared.blocks[0].code) std::get<KernelCall>(instruction).grain = grain;
    EXPECT_EQ(Executable(std::move(shared)).small(), grain == 3);
  }
  EXPECT_FALSE(Executable(chain(1, false)).small());  // symbolic sizes
  Program steps = small_chain(5);
  std::get<KernelCall>(steps.blocks[0].code[1]).steps = KernelSteps::Counted;
  EXPECT_FALSE(Executable(std::move(steps)).small());  // a loop
}

TEST(Executable, ASmallProgramThatFailsGoesOn) {
  Program p;
  p.name = "small check";
  SizeId n = p.sizes.constant(2), bytes = p.sizes.constant(8);
  p.blocks.push_back({.inputs = 1,
                      .outputs = 1,
                      .slots = {input(0, bytes), output(0, bytes)},
                      .code = {call(check_positive, {0}, n), call(twice, {0, 1}, n)}});
  for (Instruction& instruction : p.blocks[0].code) std::get<KernelCall>(instruction).grain = 8;
  p.decode = [](int64_t node, int64_t value, int32_t code) {
    return make_error(ErrorKind::Value, "node {} value {} code {}", node, value, code).why("w").hint("h");
  };
  Executable exe(std::move(p));
  ASSERT_TRUE(exe.small());
  std::vector<float> x{1, -2};
  void* inputs[] = {x.data()};
  std::vector<Storage> out(1);
  try {
    exe.run_small(inputs, out);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.summary(), "node 42 value 1 code 5");
  }
  x[1] = 2;
  out.assign(1, {});
  exe.run_small(inputs, out);
  EXPECT_EQ(f32(out[0].data())[1], 4);
}

TEST(Executable, NoAllocationInSteadyState) {
  Executable exe(chain(4, false));
  std::vector<float> x(1000, 1.0f);
  std::vector<void*> in = {x.data(), x.data()};
  int64_t symbols[] = {1000};
  std::vector<Storage> out(1);
  exe.run(in, symbols, out);
  void* memory = out[0].data();
  size_t live = allocator_stats().live;
  reset_allocator_peak();
  for (int i = 0; i < 10; ++i) exe.run(in, symbols, out);
  EXPECT_EQ(allocator_stats().peak, live);
  EXPECT_EQ(out[0].data(), memory);
  exe.release_arenas();
  EXPECT_LT(allocator_stats().live, live);
}

TEST(Executable, LargeArenasGoBackWhereTheyAreNotKept) {
  for (bool keeps : {true, false})
    for (int64_t n : {1000, 1'000'000}) {
      Program program = chain(1, false);
      program.keeps_arena = keeps;
      const Executable exe(std::move(program));
      const std::vector<float> ones(static_cast<size_t>(n), 1), want(static_cast<size_t>(n), 8);
      const size_t before = allocator_stats().live;
      for (int i = 0; i < 3; ++i) EXPECT_EQ(run_one(exe, {ones, ones}, {n}), want);
      const size_t held = allocator_stats().live - before;
      if (keeps || n == 1000)
        EXPECT_GE(held, 2 * 4 * static_cast<size_t>(n)) << keeps << n;
      else
        EXPECT_LT(held, 100'000u);
    }
}

TEST(Executable, ConstantsCopiesAndDonation) {
  Program p;
  SizeId bytes = p.sizes.constant(16), n = p.sizes.constant(4);
  Storage one = Storage::allocate(16);
  std::fill_n(f32(one.data()), 4, 1.0f);
  p.constants = {one};
  p.blocks.push_back({.inputs = 1,
                      .outputs = 2,
                      .slots = {input(0, bytes), constant(0, bytes), output(0, bytes), output(1, bytes)},
                      .code = {call(add, {0, 1, 2}, n), Copy{.from = 1, .to = 3, .bytes = bytes}}});
  Executable exe(std::move(p));
  EXPECT_EQ(exe.report().planned_outputs, 32u);
  Storage x = Storage::allocate(16);
  std::iota(f32(x.data()), f32(x.data()) + 4, 0.0f);
  void* in[] = {x.data()};
  Storage out[2] = {x, Storage()};
  exe.run(in, {}, out);
  EXPECT_EQ(out[0].data(), x.data());
  EXPECT_EQ(f32(out[0].data())[3], 4.0f);
  EXPECT_EQ(f32(out[1].data())[0], 1.0f);
  Storage small[2] = {Storage::allocate(8), Storage()};
  EXPECT_THROW(exe.run(in, {}, small), Error);
}

TEST(Executable, CondTakesTheBranchAndClampsTheSelector) {
  Program p;
  SizeId bytes = p.sizes.constant(4), n = p.sizes.constant(1);
  Block main{
      .inputs = 2, .outputs = 1, .slots = {input(0, bytes), input(1, bytes), output(0, bytes)}, .code = {}};
  main.code.push_back(
      Cond{.selector = 0, .selector_bytes = 4, .branches = {1, 2}, .inputs = {1}, .outputs = {2}});
  Block keep{.inputs = 1,
             .outputs = 1,
             .slots = {input(0, bytes), output(0, bytes)},
             .code = {Copy{.from = 0, .to = 1, .bytes = bytes}}};
  Block quadruple{.inputs = 1,
                  .outputs = 1,
                  .slots = {input(0, bytes), output(0, bytes), arena(bytes)},
                  .code = {call(twice, {0, 2}, n), call(twice, {2, 1}, n)}};
  p.blocks = {main, keep, quadruple};
  Executable exe(std::move(p));
  for (auto [selector, expected] : {std::pair{0, 5.0f}, {1, 20.0f}, {7, 20.0f}, {-1, 20.0f}}) {
    float as_float;
    std::memcpy(&as_float, &selector, sizeof as_float);
    EXPECT_EQ(run_one(exe, {{as_float}, {5.0f}})[0], expected) << selector;
  }
}

// while (x < limit) (x, y) = (x + x', y + y'): two carries, and a constant step.
Executable while_program() {
  Program p;
  SizeId bytes = p.sizes.constant(4), n = p.sizes.constant(1);
  Block main{.inputs = 4,
             .outputs = 2,
             .slots = {input(0, bytes), input(1, bytes), input(2, bytes), input(3, bytes), output(0, bytes),
                       output(1, bytes)},
             .code = {While{.cond = 1,
                            .body = 2,
                            .consts = {0, 1},
                            .init = {2, 3},
                            .results = {4, 5},
                            .in_place = {false, false}}}};
  Block cond{.inputs = 4,
             .outputs = 1,
             .slots = {input(0, bytes), input(2, bytes), output(0, p.sizes.constant(1))},
             .code = {call(less_than, {1, 0, 2}, n)}};
  Block body{
      .inputs = 4,
      .outputs = 2,
      .slots = {input(1, bytes), input(2, bytes), input(3, bytes), output(0, bytes), output(1, bytes),
                arena(bytes)},
      .code = {call(add, {1, 0, 3}, n), call(twice, {2, 5}, n), Copy{.from = 5, .to = 4, .bytes = bytes}}};
  p.blocks = {main, cond, body};
  return Executable(std::move(p));
}

TEST(Executable, WhileCarriesAnyNumberOfSteps) {
  Executable exe = while_program();
  for (int steps = 0; steps < 7; ++steps)
    for (bool donated : {false, true}) {
      float limit = static_cast<float>(steps), step = 1;
      Storage x = Storage::allocate(4), y = Storage::allocate(4);
      *f32(x.data()) = 0;
      *f32(y.data()) = 3;
      void* in[] = {&limit, &step, x.data(), y.data()};
      Storage out[2];
      if (donated) out[0] = x, out[1] = y;
      exe.run(in, {}, out);
      EXPECT_EQ(*f32(out[0].data()), limit) << steps << donated;
      EXPECT_EQ(*f32(out[1].data()), 3.0f * static_cast<float>(1 << steps)) << steps << donated;
    }
}

// (carry, y[i]) = (carry + x[i], 2 * carry), each step on `n` elements.
TEST(Executable, ScanBothWaysWithAnyNumberOfSteps) {
  for (bool reverse : {false, true}) {
    Program p;
    SizeId n = p.sizes.symbol(0), trips = p.sizes.symbol(1);
    SizeId slice = p.sizes.binary(Op::Multiply, n, p.sizes.constant(4));
    SizeId all = p.sizes.binary(Op::Multiply, slice, trips);
    Block main{.inputs = 2,
               .outputs = 2,
               .slots = {input(0, slice), input(1, all), output(0, slice), output(1, all)},
               .code = {Scan{.body = 1,
                             .trips = trips,
                             .reverse = reverse,
                             .consts = {},
                             .init = {0},
                             .results = {2},
                             .in_place = {false},
                             .xs = {1},
                             .x_bytes = {slice},
                             .ys = {3},
                             .y_bytes = {slice}}}};
    Block body{.inputs = 2,
               .outputs = 2,
               .slots = {input(0, slice), input(1, slice), output(0, slice), output(1, slice)},
               .code = {call(add, {0, 1, 2}, n), call(twice, {0, 3}, n)}};
    p.blocks = {main, body};
    Executable exe(std::move(p));
    for (int64_t steps : {0, 1, 2, 3, 8})
      for (bool donated : {false, true}) {
        constexpr int64_t kWidth = 5;
        Storage init = Storage::allocate(kWidth * 4);
        std::vector<float> carry(kWidth), xs(static_cast<size_t>(steps * kWidth));
        std::iota(carry.begin(), carry.end(), 1.0f);
        std::iota(xs.begin(), xs.end(), 10.0f);
        std::memcpy(init.data(), carry.data(), kWidth * 4);
        void* in[] = {init.data(), xs.data()};
        int64_t symbols[] = {kWidth, steps};
        Storage out[2];
        if (donated) out[0] = init;
        exe.run(in, symbols, out);
        for (int64_t s = 0; s < steps; ++s) {
          int64_t i = reverse ? steps - 1 - s : s;
          for (int64_t k = 0; k < kWidth; ++k) {
            auto at = static_cast<size_t>(k), x_at = static_cast<size_t>(i * kWidth + k);
            ASSERT_EQ(f32(out[1].data())[x_at], 2 * carry[at]);
            carry[at] += xs[x_at];
          }
        }
        for (int64_t k = 0; k < kWidth; ++k)
          ASSERT_EQ(f32(out[0].data())[k], carry[static_cast<size_t>(k)]) << steps << donated << reverse;
      }
  }
}

// The same body from two places with different temporaries around it.
TEST(Executable, CallsShareABody) {
  Program p;
  SizeId bytes = p.sizes.constant(64), n = p.sizes.constant(16);
  Block main{.inputs = 1,
             .outputs = 1,
             .slots = {input(0, bytes), output(0, bytes), arena(bytes), arena(bytes), arena(bytes)},
             .code = {call(twice, {0, 2}, n), Call{.body = 1, .inputs = {0}, .outputs = {3}},
                      call(add, {2, 3, 4}, n), Call{.body = 1, .inputs = {4}, .outputs = {1}}}};
  Block body{.inputs = 1,
             .outputs = 1,
             .slots = {input(0, bytes), output(0, bytes), arena(bytes)},
             .code = {call(twice, {0, 2}, n), call(add, {0, 2, 1}, n)}};
  p.blocks = {main, body};
  Executable exe(std::move(p));
  EXPECT_EQ(run_one(exe, {std::vector<float>(16, 1.0f)}), std::vector<float>(16, 15.0f));
}

TEST(Executable, ErrorsAreDecodedAndTheExecutableGoesOn) {
  Program p;
  p.name = "checked";
  SizeId n = p.sizes.constant(1000), bytes = p.sizes.constant(4000);
  p.blocks.push_back({.inputs = 1,
                      .outputs = 1,
                      .slots = {input(0, bytes), output(0, bytes)},
                      .code = {call(check_positive, {0}, n), call(twice, {0, 1}, n)}});
  Program undecoded = p;
  p.decode = [](int64_t node, int64_t value, int32_t code) {
    return make_error(ErrorKind::Index, "node {} value {} code {}", node, value, code);
  };
  Executable exe(std::move(p)), plain(std::move(undecoded));
  std::vector<float> x(1000, 1.0f);
  x[300] = x[700] = -1;
  for (int round = 0; round < 20; ++round) try {
      run_one(exe, {x});
      FAIL() << "nothing was thrown";
    } catch (const Error& e) {
      ASSERT_EQ(e.kind(), ErrorKind::Index);
      ASSERT_EQ(e.summary(), "node 42 value 300 code 5");
    }
  EXPECT_THROW(run_one(plain, {x}), Error);
  EXPECT_EQ(run_one(exe, {std::vector<float>(1000, 2.0f)})[999], 4.0f);
}

TEST(Executable, HostFunctionsHaveTheirContextAndAreCounted) {
  Program p;
  SizeId bytes = p.sizes.constant(4);
  auto calls = std::make_shared<int>(0);
  Host host{.function = [](void* context, void* const* buffers, const int64_t* dims, int64_t*) -> int32_t {
              ++*static_cast<int*>(context);
              f32(buffers[1])[0] = f32(buffers[0])[0] + static_cast<float>(dims[0]);
              return 0;
            },
            .context = calls,
            .buffers = {0, 1},
            .dims = {p.sizes.constant(9)},
            .fallback = true,
            .name = "plus"};
  p.blocks.push_back(
      {.inputs = 1, .outputs = 1, .slots = {input(0, bytes), output(0, bytes)}, .code = {host}});
  Executable exe(std::move(p));
  EXPECT_EQ(run_one(exe, {{1.0f}})[0], 10.0f);
  EXPECT_EQ(*calls, 1);
  EXPECT_EQ(exe.report().kernels.fallback, 1);
  EXPECT_EQ(exe.report().launched.fallback, 1);
}

TEST(Executable, ConcurrentRunsDoNotDisturbEachOther) {
  Executable exe(chain(6, false));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 100; ++round) {
        auto n = static_cast<int64_t>(1 + (round * 13 + t) % 300);
        std::vector<float> x(static_cast<size_t>(n), static_cast<float>(t)), y(x.size(), 1.0f);
        for (float v : run_one(exe, {x, y}, {n}))
          if (v != static_cast<float>(t + 1) * 128) ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(exe.report().runs, 400);
}

TEST(Executable, APlanThatDoesNotFitIsAnErrorBeforeAnythingRuns) {
  Executable exe(chain(3, false));
  float x = 1;
  void* in[] = {&x, &x};
  Storage out[1];
  int64_t huge[] = {int64_t{1} << 45}, overflowing[] = {int64_t{1} << 62}, negative[] = {-5};
  for (int64_t* symbols : {huge, overflowing, negative}) EXPECT_THROW(exe.run(in, {symbols, 1}, out), Error);
  int64_t fine[] = {1};
  exe.run(in, fine, out);
  EXPECT_EQ(f32(out[0].data())[0], 32.0f);
}

// out = 2 x, by way of memory of its own; where `g_meet` says so, once another is at work too.
std::atomic<int> g_here{0};
std::atomic<bool> g_meet{false}, g_disturbed{false};
template <typename Met>
int32_t twice_after(const KernelArgs* args, Met met) {
  constexpr int64_t kElements = 1000;
  float *in = f32(args->buffers[0]), *out = f32(args->buffers[1]), *own = f32(args->buffers[2]);
  const int mine = ++g_here;
  std::fill_n(own, kElements, static_cast<float>(mine));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (g_meet && !met() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));  // less is not worth a thread
  for (int64_t i = 0; i < kElements; ++i) {
    if (own[i] != static_cast<float>(mine)) g_disturbed = true;
    out[i] = in[i] * 2;
  }
  return 0;
}

int32_t meet(const KernelArgs* args, int64_t, int64_t) {
  return twice_after(args, [] { return g_here % 2 == 0; });
}

TEST(Executable, StepsSideBySideRunAtOnceWithMemoryOfTheirOwn) {
  auto& pool = ThreadPool::instance();
  const int before = pool.num_threads();
  pool.set_num_threads(2);
  Program p;
  p.name = "beside";
  SizeId n = p.sizes.constant(1000), bytes = p.sizes.constant(4000), one = p.sizes.constant(1);
  Block b{
      .inputs = 1,
      .outputs = 1,
      .slots = {input(0, bytes), output(0, bytes), arena(bytes), arena(bytes), arena(bytes), arena(bytes)},
      .code = {call(meet, {0, 2, 4}, one), call(meet, {0, 3, 5}, one), call(add, {2, 3, 1}, n)},
      .side_by_side = {{0, 2}}};
  p.blocks.push_back(b);
  Executable exe(std::move(p));
  const std::vector<float> x(1000, 1.5F), want(1000, 6.0F);
  // Both ways are tried by turns; where they run at once, each waits for the other.
  for (int run = 0; run < 8; ++run) {
    g_here = 0;
    g_meet = run % 2 == 1;
    EXPECT_EQ(run_one(exe, {x}), want);
  }
  g_meet = false;
  for (int run = 0; run < 20; ++run) EXPECT_EQ(run_one(exe, {x}), want);
  EXPECT_FALSE(g_disturbed);
  EXPECT_EQ(exe.report().planned_arena, exe.report().lower_bound);
  EXPECT_EQ(exe.report().launched.compiled, 28 * 3);
  pool.set_num_threads(before);
}

// The same, where it is enough that two have met once.
std::atomic<int> g_inside{0};
std::atomic<bool> g_met{false};
int32_t meet_once(const KernelArgs* args, int64_t, int64_t) {
  if (++g_inside == 2) g_met = true;
  const int32_t code = twice_after(args, [] { return g_met.load(); });
  --g_inside;
  return code;
}

// y[i] = 2 x[i], i = 0 … 6, by this kernel.
Program steps_apart() {
  Program p;
  p.name = "apart";
  SizeId slice = p.sizes.constant(4000), all = p.sizes.constant(7 * 4000), one = p.sizes.constant(1);
  p.blocks.push_back({.inputs = 1,
                      .outputs = 1,
                      .slots = {input(0, all), output(0, all)},
                      .code = {Scan{.body = 1,
                                    .trips = p.sizes.constant(7),
                                    .consts = {},
                                    .init = {},
                                    .results = {},
                                    .in_place = {},
                                    .xs = {0},
                                    .x_bytes = {slice},
                                    .ys = {1},
                                    .y_bytes = {slice},
                                    .apart = true}}});
  p.blocks.push_back({.inputs = 1,
                      .outputs = 1,
                      .slots = {input(0, slice), output(0, slice), arena(slice)},
                      .code = {call(meet_once, {0, 1, 2}, one)}});
  return p;
}

TEST(Executable, StepsOfALoopRunAtOnceWithMemoryOfTheirOwn) {
  auto& pool = ThreadPool::instance();
  const int before = pool.num_threads();
  pool.set_num_threads(2);
  Executable exe(steps_apart());
  std::vector<float> x(7000), want(7000);
  std::iota(x.begin(), x.end(), 0.0F);
  std::ranges::transform(x, want.begin(), [](float v) { return 2 * v; });
  // Both ways are tried by turns.
  for (int run = 0; run < 8; ++run) {
    g_met = false;
    g_meet = run % 2 == 1;
    EXPECT_EQ(run_one(exe, {x}), want);
    EXPECT_EQ(g_met, run % 2 == 1);
  }
  g_meet = false;
  for (int run = 0; run < 20; ++run) EXPECT_EQ(run_one(exe, {x}), want);
  EXPECT_FALSE(g_disturbed);
  EXPECT_EQ(exe.report().planned_arena, size_t{2 * 4032});
  EXPECT_EQ(exe.report().launched.compiled, 28 * 7);
  // It is planned again for fewer threads, and for more.
  for (int threads : {1, 3}) {
    pool.set_num_threads(threads);
    for (int run = 0; run < 10; ++run) EXPECT_EQ(run_one(exe, {x}), want);
    EXPECT_EQ(exe.report().planned_arena, static_cast<size_t>(threads) * 4032);
  }
  EXPECT_EQ(exe.report().measured_peak, exe.report().planned_peak);
  pool.set_num_threads(before);
}

TEST(Trial, TakesTheQuickerWayAndTriesTheOtherNowAndThen) {
  for (Trial::Way quicker : {Trial::OneByOne, Trial::AtOnce}) {
    Trial trial;
    int tried[2] = {0, 0}, after[2] = {0, 0};
    for (int run = 0; run < 640; ++run) {
      const auto [way, timed] = trial.next();
      ++(run < 8 ? tried : after)[way];
      if (timed) trial.took(way, way == quicker ? 100'000 : 200'000);
    }
    EXPECT_EQ(tried[Trial::OneByOne], 4);
    EXPECT_EQ(tried[Trial::AtOnce], 4);
    EXPECT_EQ(after[1 - quicker], 9);
  }
}

TEST(Trial, WhatIsShortOrTakesASecondStaysOnOneThread) {
  for (int64_t nanoseconds : {int64_t{9'000}, int64_t{1'100'000'000}}) {
    Trial trial;
    trial.took(trial.next().way, nanoseconds);
    for (int run = 0; run < 200; ++run) EXPECT_EQ(trial.next().way, Trial::OneByOne);
  }
}

TEST(Executable, LawBreakingProgramsAreRefused) {
  auto base = [] { return chain(2, false); };
  auto refused = [](Program p) { EXPECT_THROW(Executable{std::move(p)}, Error); };
  Program p = base();
  std::get<KernelCall>(p.blocks[0].code[0]).buffers[0] = 99;
  refused(std::move(p));
  p = base();
  std::get<KernelCall>(p.blocks[0].code[0]).kernel = nullptr;
  refused(std::move(p));
  p = base();
  p.blocks[0].code.push_back(Call{.body = 0, .inputs = {0, 1}, .outputs = {2}});
  refused(std::move(p));
  p = base();
  p.blocks[0].slots[5].alias = 3;  // slot 3 dies before slot 5 begins
  refused(std::move(p));
  using Groups = std::vector<std::pair<int32_t, int32_t>>;
  for (const Groups& groups :
       {Groups{{1, 1}}, Groups{{2, 1}}, Groups{{-1, 1}}, Groups{{0, 99}}, Groups{{0, 2}, {1, 3}}}) {
    p = base();
    p.blocks[0].side_by_side = groups;
    refused(std::move(p));
  }
  p = base();
  p.blocks[0].outputs = 2;
  refused(std::move(p));
  p = steps_apart();
  auto& scan = std::get<Scan>(p.blocks[0].code[0]);
  scan.init = scan.results = {0}, scan.in_place = {false};  // what is carried goes from step to step
  refused(std::move(p));
  refused(Program{});
}

TEST(Executable, LoopsArePolledAndMayBeEnded) {
  Executable exe = while_program();
  float limit = 1, step = 0, x = 0, y = 0;
  void* in[] = {&limit, &step, &x, &y};  // never ends by itself
  Storage out[2];
  set_loop_poll([] { throw make_error(ErrorKind::Value, "interrupted"); });
  EXPECT_THROW(exe.run(in, {}, out), Error);
  set_loop_poll(nullptr);
}

// A loop as one kernel: each block is a step that doubles, and the loop is over where the limit is reached.
int32_t double_until(const KernelArgs* args, int64_t begin, int64_t end) {
  float *limit = f32(args->buffers[0]), *out = f32(args->buffers[2]);
  for (int64_t step = begin; step < end; ++step) {
    if (step == 0) out[0] = f32(args->buffers[1])[0];
    if (out[0] >= limit[0]) {
      args->error[0] = int64_t{kLoopDone};
      return 1;
    }
    out[0] *= 2;
  }
  return 0;
}

// Adds up the numbers of its steps; each call must go on where the last one ended.
int32_t sum_steps(const KernelArgs* args, int64_t begin, int64_t end) {
  float* out = f32(args->buffers[2]);
  for (int64_t step = begin; step < end; ++step) out[0] = step == 0 ? 0 : out[0] + static_cast<float>(step);
  return 0;
}

Program steps_program(KernelFn fn, KernelSteps steps) {
  Program p;
  p.name = "steps";
  SizeId four = p.sizes.constant(4), n = p.sizes.symbol(0);
  KernelCall loop = call(fn, {0, 1, 2}, n);
  loop.steps = steps;
  p.blocks.push_back({.inputs = 2,
                      .outputs = 1,
                      .slots = {input(0, four), input(1, four), output(0, four)},
                      .code = {loop}});
  return p;
}

TEST(Executable, StepsOfALoopThatIsOneKernelRunInOrderInSeveralCalls) {
  Executable counted(steps_program(sum_steps, KernelSteps::Counted));
  for (int64_t n : {1, 2, 255, 256, 257, 1000})
    EXPECT_EQ(run_one(counted, {{0}, {0}}, {n})[0], static_cast<float>(n * (n - 1) / 2)) << n;
  Executable until(steps_program(double_until, KernelSteps::Until));
  EXPECT_EQ(run_one(until, {{1000}, {1}}, {1})[0], 1024.0f);
  EXPECT_EQ(run_one(until, {{1}, {4}}, {1})[0], 4.0f);
}

TEST(Executable, LoopsThatAreOneKernelArePolledAndMayBeEnded) {
  Executable exe(steps_program(double_until, KernelSteps::Until));
  float limit = 1, x = 0;
  void* in[] = {&limit, &x};  // never ends by itself
  int64_t n[] = {1};
  Storage out[1];
  set_loop_poll([] { throw make_error(ErrorKind::Value, "interrupted"); });
  EXPECT_THROW(exe.run(in, n, out), Error);
  set_loop_poll(nullptr);
}

}  // namespace
}  // namespace ig::rt
