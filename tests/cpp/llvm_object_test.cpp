// Objects, targets, the process-wide cache and what the machine code of a matmul micro-kernel looks like.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <regex>
#include <sstream>
#include <thread>

#include "llvm_test_util.h"
#include "support/error.h"

namespace ig::codegen::test {
namespace {

using loop::Builder;
using loop::Expr;
using loop::Function;

using Kernels = std::vector<std::unique_ptr<Function>>;

std::unique_ptr<Function> unary(Expr (*rule)(Expr), DType type, double offset = 0) {
  Builder b("unary");
  auto x = b.add_buffer(type, false, "x"), out = b.add_buffer(type, true, "out");
  b.vector_for(b.index(0), b.size(Dim::symbol("n")), 32,
               [&](Expr i) { b.store(out, i, rule(b.load(x, i)) + offset); });
  return b.finish();
}

// c[m][n] += a[k][m] * b[k][n] for a tile of `rows` by `columns`, panels packed by k.
std::unique_ptr<Function> micro_kernel(int64_t rows, int columns, int64_t unroll) {
  Builder b("micro");
  auto pa = b.add_buffer(DType::F32, false, "a"), pb = b.add_buffer(DType::F32, false, "b");
  auto pc = b.add_buffer(DType::F32, true, "c");
  Expr depth = b.size(Dim::symbol("k"));
  auto acc = b.local(DType::F32, columns, rows, "acc");
  b.vector_for(b.index(0), b.index(columns), columns, [&](Expr n) {
    b.unrolled(0, rows, [&](Expr m) { b.assign(acc, b.load(pc, m * b.index(columns) + n), m); });
    b.serial_for(b.index(0), depth / b.index(unroll), [&](Expr block) {
      b.unrolled(0, unroll, [&](Expr inner) {
        Expr k = block * b.index(unroll) + inner;
        Expr row = b.let(b.load(pb, k * b.index(columns) + n));
        b.unrolled(0, rows, [&](Expr m) {
          b.assign(acc, fma(b.load(pa, k * b.index(rows) + m), row, b.read(acc, m)), m);
        });
      });
    });
    b.unrolled(0, rows, [&](Expr m) { b.store(pc, m * b.index(columns) + n, b.read(acc, m)); });
  });
  return b.finish();
}

void check_micro_kernel(const char* level, int64_t rows, int columns, const char* reg) {
  auto f = micro_kernel(rows, columns, 4);
  Target target = Target::named(level);
  auto body = innermost_loop(compile_assembly(*f, target));
  int64_t multiplies = 0, stack = 0;
  for (const std::string& line : body) {
    multiplies += line.find("vfmadd") != std::string::npos && line.find(reg) != std::string::npos;
    stack += line.find("(%rsp") != std::string::npos || line.find("(%rbp") != std::string::npos;
  }
  int64_t vectors = columns * 4 / target.vector_bytes;
  EXPECT_EQ(multiplies, rows * vectors * 4);
  EXPECT_EQ(stack, 0) << "an accumulator went to the stack";
}

TEST(LlvmObject, MicroKernelsStayInRegisters) {
  check_micro_kernel("x86-64-v3", 6, 16, "%ymm");
  check_micro_kernel("x86-64-v4", 12, 32, "%zmm");
}

TEST(LlvmObject, MicroKernelMultiplies) {
  for (const Target& target : runnable()) {
    Kernel kernel(micro_kernel(6, 16, 4), target);
    std::vector<float> a(6 * 8), b(16 * 8), c(6 * 16, 1);
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 5);
    for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 7);
    kernel({a.data(), b.data(), c.data()}, {8});
    for (size_t m = 0; m < 6; ++m)
      for (size_t n = 0; n < 16; ++n) {
        float want = 1;
        for (size_t k = 0; k < 8; ++k) want += a[k * 6 + m] * b[k * 16 + n];
        ASSERT_EQ(c[m * 16 + n], want);
      }
  }
}

// Of the instructions those that read memory, or that is, an operand in brackets that is not the last one.
int64_t reads_of(const std::vector<std::string>& body) {
  return std::ranges::count_if(body, [](const std::string& line) {
    const size_t open = line.find('('), last = line.rfind(')');
    return open != std::string::npos && line.find("lea") == std::string::npos &&
           (last + 1 < line.size() || line.find("vfmadd") != std::string::npos);
  });
}

// out[i, j] = x[row[i], j] * x[i, j] + x[other[i], j] + …: the places of a row's elements are the row's,
// where no result may lie in the memory that they are read from.
TEST(LlvmObject, IndicesOfRowsAreLoadedOncePerRow) {
  auto make = [](bool apart, bool many) {
    Builder b("rows");
    auto x = b.add_buffer(DType::F32, false, "x"), row = b.add_buffer(DType::I64, false, "row");
    auto out = b.add_buffer(DType::F32, true, "out");
    b.serial_for(b.index(0), b.size(Dim::symbol("m")), [&](Expr i) {
      Expr n = b.index(256);
      b.vector_for(b.index(0), n, 8, [&](Expr j) {
        Expr taken = b.load(x, b.load(row, i) * n + j), own = b.load(x, i * n + j);
        Expr sum = fma(taken, own, own);
        if (many)
          sum = fma(b.load(x, (b.load(row, i) + b.index(1)) * n + j), b.load(x, i * n + j + b.index(8)), sum);
        b.store(out, i * n + j, sum);
      });
    });
    auto f = b.finish();
    f->buffers[row].apart = apart;
    return f;
  };
  const Target target = Target::named("x86-64-v3");
  for (bool many : {false, true}) {
    const int64_t once = reads_of(innermost_loop(compile_assembly(*make(true, many), target))),
                  each_time = reads_of(innermost_loop(compile_assembly(*make(false, many), target)));
    EXPECT_EQ(once, many ? 4 : 2);
    EXPECT_GT(each_time, once);
  }
}

// What steps hand on in scratch is read again where no result was written over it: so it stays in a register.
TEST(LlvmObject, NumbersThatStepsCarryStayInRegisters) {
  Builder b("carry");
  auto x = b.add_buffer(DType::F32, false, "x"), out = b.add_buffer(DType::F32, true, "out");
  auto carry = b.add_scratch(DType::F32, Dim(int64_t{1}), "carry");
  b.store(carry, b.index(0), b.constant(DType::F32, 0));
  b.serial_for(b.index(0), b.size(Dim::symbol("n")), [&](Expr i) {
    Expr next = b.let(fma(b.load(carry, b.index(0)), b.constant(DType::F32, 0.5), b.load(x, i)));
    b.store(carry, b.index(0), next);
    b.store(out, i, next);
  });
  const auto f = b.finish();
  EXPECT_EQ(reads_of(innermost_loop(compile_assembly(*f, Target::named("x86-64-v3")))), 1);
}

// A sum of ten lanes of sixteen: what the group leaves out waits for nobody, so no instruction keeps it.
TEST(LlvmObject, LooseLocalsKeepNoLanes) {
  auto make = [](bool loose) {
    Builder b("ten");
    auto x = b.add_buffer(DType::F32, false, "x"), out = b.add_buffer(DType::F32, true, "out");
    auto sum = b.local(DType::F32, 16, 1, "sum", loose);
    b.vector_for(b.index(0), b.index(10), 16, [&](Expr j) {
      b.assign(sum, b.constant(DType::F32, 0));
      b.serial_for(b.index(0), b.size(Dim::symbol("k")), [&](Expr k) {
        Expr at = k * b.index(10);
        b.assign(sum, fma(b.load(x, at), b.load(x, at + j), b.read(sum)));
      });
    });
    b.vector_for(b.index(0), b.index(10), 16, [&](Expr j) { b.store(out, j, b.read(sum)); });
    return b.finish();
  };
  EXPECT_NE(make(true)->str().find("local sum0: f32 x16 loose\n"), std::string::npos);
  EXPECT_NE(make(true)->hash(), make(false)->hash());
  for (const Target& target : runnable())
    for (bool loose : {true, false}) {
      Kernel kernel(make(loose), target);
      Guarded x(30 * sizeof(float), true), out(10 * sizeof(float), true);
      for (int i = 0; i < 30; ++i) x.as<float>()[i] = static_cast<float>(i % 7);
      kernel({x.data(), out.data()}, {3});
      for (int j = 0; j < 10; ++j) {
        float want = 0;
        for (int k = 0; k < 3; ++k) want += x.as<float>()[10 * k] * x.as<float>()[10 * k + j];
        EXPECT_EQ(out.as<float>()[j], want);
      }
      if (target.vector_bytes < 64) continue;
      int kept = 0;
      for (const std::string& line : innermost_loop(compile_assembly(*kernel.function, target)))
        kept += std::regex_search(line, std::regex(R"(v(mov|blend)\w+\s+%zmm.*\{%k|vblend)"));
      EXPECT_EQ(kept != 0, !loose);
    }
}

// Every function of the maths, both types, all levels: compile_object refuses undefined symbols by itself.
TEST(LlvmObject, NothingIsCalledFromAnyLevel) {
  namespace math = loop::math;
  using Rule = Expr (*)(Expr);
  for (const char* level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    Kernels kernels;
    for (Rule rule : {Rule(math::exp), Rule(math::log), Rule(math::sin), Rule(math::lgamma), Rule(math::erf)})
      for (DType t : {DType::F32, DType::F64}) kernels.push_back(unary(rule, t));
    for (DType from : {DType::Bool, DType::I8, DType::U16, DType::I32, DType::U64, DType::F16, DType::BF16,
                       DType::F32, DType::F64})
      for (DType to : {DType::Bool, DType::I8, DType::U32, DType::I64, DType::U64, DType::F16, DType::BF16,
                       DType::F32, DType::F64}) {
        Builder b("convert");
        auto x = b.add_buffer(from, false, "x"), out = b.add_buffer(to, true, "out");
        b.vector_for(b.index(0), b.size(Dim::symbol("n")), 16,
                     [&](Expr i) { b.store(out, i, convert(b.load(x, i), to)); });
        b.store(out, b.index(0), convert(b.load(x, b.index(0)), to));
        kernels.push_back(b.finish());
      }
    std::vector<const Function*> functions;
    std::vector<std::string> symbols;
    for (const auto& k : kernels) {
      functions.push_back(k.get());
      symbols.push_back("k" + std::to_string(symbols.size()));
    }
    EXPECT_NO_THROW(compile_object(functions, symbols, Target::named(level))) << level;
  }
}

// LLVM 19 turns some masked comparisons of float16 vectors round without turning their predicate, on
// processors that have them; so none may be used.
TEST(LlvmObject, Float16IsComparedAsFloat32) {
  auto make = [] {
    Builder b("compare");
    auto x = b.add_buffer(DType::F16, false, "x"), y = b.add_buffer(DType::F16, false, "y");
    auto out = b.add_buffer(DType::F16, true, "out");
    b.vector_for(b.index(0), b.size(Dim::symbol("n")), 32, [&](Expr i) {
      Expr a = convert(b.load(x, i), DType::F32), c = convert(b.load(y, i), DType::F32);
      Expr inside = (c != INFINITY) & (a != INFINITY) & (a > 0) & (c > 1);
      b.store(out, i, convert(select(inside, a, c), DType::F16));
    });
    return b.finish();
  };
  for (const Target& target : runnable()) {
    Kernel kernel(make(), target);
    std::vector<uint16_t> x(50, 0x3c00), y(50, 0x4000), out(50);  // 1 and 2
    x[7] = 0xbc00, y[9] = 0x7c00, y[40] = 0x3c00;                 // -1, infinity, 1
    kernel({x.data(), y.data(), out.data()}, {50});
    for (size_t i = 0; i < 50; ++i) EXPECT_EQ(out[i], i == 7 || i == 9 || i == 40 ? y[i] : x[i]) << i;
    std::string assembly = compile_assembly(*kernel.function, target);
    EXPECT_FALSE(std::regex_search(assembly, std::regex(R"(vcmp\w*[ps]h\b)"))) << assembly;
  }
}

TEST(LlvmObject, OneObjectHoldsManyKernels) {
  Kernels kernels;
  kernels.push_back(unary([](Expr x) { return x; }, DType::F64, 1));
  kernels.push_back(unary([](Expr x) { return x; }, DType::F64, 2));
  const Function* functions[] = {kernels[0].get(), kernels[1].get()};
  const std::string symbols[] = {"one", "two"};
  const std::string object = compile_object(functions, symbols, Target::host());
  const Code code(object);
  EXPECT_GT(code.bytes(), 0u);
  double in[3] = {1, 2, 3}, out[3];
  void* buffers[] = {in, out};
  int64_t n = 3;
  rt::KernelArgs args;
  args.buffers = buffers;
  args.dims = &n;
  EXPECT_EQ(code.find("two")(&args, 0, 1), 0);
  EXPECT_EQ(out[2], 5);
  EXPECT_EQ(code.find("one")(&args, 0, 1), 0);
  EXPECT_EQ(out[2], 4);
  EXPECT_THROW(code.find("three"), Error);
  EXPECT_THROW(Code("not an object"), Error);
}

TEST(LlvmCompile, EachDistinctFunctionOnceUnderConcurrentCalls) {
  std::atomic<int> fresh{0};
  auto run = [&] {
    Kernels kernels;
    for (int i = 0; i < 12; ++i)
      kernels.push_back(unary([](Expr x) { return x * x; }, DType::F32, 0.125 * (i % 6)));
    std::vector<const Function*> functions;
    for (const auto& k : kernels) functions.push_back(k.get());
    auto compiled = compile(functions, Target::host(), 2);
    ASSERT_EQ(compiled.size(), 12u);
    for (size_t i = 0; i < 12; ++i) {
      fresh += compiled[i].fresh;
      EXPECT_EQ(compiled[i].fn, compiled[(i + 6) % 12].fn);
      float x = 3, y = 0;
      void* buffers[] = {&x, &y};
      int64_t n = 1;
      rt::KernelArgs args;
      args.buffers = buffers;
      args.dims = &n;
      compiled[i].fn(&args, 0, 1);
      EXPECT_EQ(y, 9 + 0.125f * static_cast<float>(i % 6));
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(run);
  for (auto& t : threads) t.join();
  EXPECT_EQ(fresh, 6);
}

TEST(LlvmTarget, NamesAndRefusals) {
  EXPECT_EQ(Target::named("x86-64-v4").vector_bytes, 64);
  EXPECT_FALSE(Target::named("x86-64-v2").fma);
  EXPECT_TRUE(Target::named("native").runs_here());
  EXPECT_TRUE(Target::host().runs_here());
  try {
    Target::named("avx9000");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "there is no target \"avx9000\"\n"
                 "  why: code is made for a level of the x86-64 ABI, or for the CPU this runs on\n"
                 "  hint: choose \"x86-64-v2\", \"x86-64-v3\", \"x86-64-v4\" or \"native\"");
    EXPECT_EQ(e.kind(), ErrorKind::Unsupported);
  }
}

// Fused multiply-add aside, the levels compute the same bits.
TEST(LlvmTarget, LevelsAgreeBitForBit) {
  std::vector<Target> targets;
  for (const Target& t : runnable())
    if (t.fma) targets.push_back(t);
  std::vector<float> x(4099), first(x.size()), other(x.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = (static_cast<float>(i) - 2000) * 0.037f;
  for (auto rule :
       {loop::math::exp, loop::math::tanh, loop::math::erf, loop::math::sin, loop::math::lgamma}) {
    for (size_t t = 0; t < targets.size(); ++t) {
      Kernel kernel(unary(rule, DType::F32), targets[t]);
      auto& out = t == 0 ? first : other;
      kernel({x.data(), out.data()}, {static_cast<int64_t>(x.size())});
      if (t != 0) {
        EXPECT_EQ(std::memcmp(first.data(), other.data(), first.size() * 4), 0);
      }
    }
    // Where an element stands, in a full group, in the masked one, or alone, does not change its bits.
    if (targets.empty()) continue;
    Kernel kernel(unary(rule, DType::F32), targets[0]);
    for (size_t i = 0; i < x.size(); i += 101) {
      float alone = 0;
      kernel({&x[i], &alone}, {1});
      EXPECT_EQ(std::memcmp(&alone, &first[i], 4), 0);
    }
  }
}

}  // namespace
}  // namespace ig::codegen::test
