// Loop functions through LLVM on every target that this machine runs: the same bits from body and tail, no
// byte outside the buffers, objects without undefined symbols, one compile for one function.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <random>
#include <thread>

#include "llvm_test_util.h"
#include "support/error.h"

namespace ig::codegen::test {
namespace {

using loop::Builder;
using loop::Expr;

// relu((x + y) * s - x) * y over n elements
std::unique_ptr<loop::Function> chain_ops(int lanes, DType type = DType::F32) {
  Builder b("chain_ops");
  auto x = b.add_buffer(type, false, "x"), y = b.add_buffer(type, false, "y"),
       out = b.add_buffer(type, true, "out");
  Expr n = b.size(Dim::symbol("n"));
  b.vector_for(b.index(0), n, lanes, [&](Expr i) {
    Expr vx = b.load(x, i), vy = b.load(y, i);
    Expr v = (vx + vy) * 0.75 - vx;
    b.store(out, i, select(v > 0.0, v, b.constant(type, 0)) * vy);
  });
  return b.finish();
}

TEST(LlvmKernel, ChainRunsOnEveryTargetBetweenGuardPages) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-2, 2);
  for (const Target& target : runnable())
    for (int lanes : {16, 64}) {
      Kernel kernel(chain_ops(lanes), target);
      RecordProperty("compile_ms", std::to_string(kernel.compiled.milliseconds));
      std::printf("chain_ops, %d lanes, %s: %.2f ms\n", lanes, target.name.c_str(),
                  kernel.compiled.milliseconds);
      for (int64_t n : {0, 1, 7, 63, 64, 65, 1000})
        for (bool at_end : {false, true}) {
          auto bytes = static_cast<size_t>(n) * 4;
          Guarded x(bytes, at_end), y(bytes, at_end), out(bytes, at_end);
          for (int64_t i = 0; i < n; ++i) {
            x.as<float>()[i] = uniform(random);
            y.as<float>()[i] = uniform(random);
          }
          ASSERT_EQ(kernel({x.data(), y.data(), out.data()}, {n}), 0);
          for (int64_t i = 0; i < n; ++i) {
            float a = x.as<float>()[i], c = y.as<float>()[i];
            volatile float sum = a + c;
            volatile float product = sum * 0.75f;
            float v = product - a;
            ASSERT_EQ(out.as<float>()[i], (v > 0 ? v : 0) * c) << target.name << " n=" << n << " i=" << i;
          }
        }
    }
}

// Where the number of elements is known, the last ones are written by pieces, and nothing behind them.
TEST(LlvmKernel, KnownNumbersOfElementsAreWrittenToTheLast) {
  for (const Target& target : runnable())
    for (DType type : {DType::Bool, DType::U8, DType::F16, DType::F32, DType::I64, DType::C64, DType::C128})
      for (int64_t n : {1, 2, 3, 5, 7, 10, 15, 16, 21, 31, 47, 63}) {
        Builder b("copy");
        auto from = b.add_buffer(type, false, "from"), to = b.add_buffer(type, true, "to");
        b.vector_for(b.index(0), b.index(n), 32, [&](Expr i) { b.store(to, i, b.load(from, i)); });
        const Kernel kernel(b.finish(), target);
        const auto bytes = static_cast<size_t>(n) * size_of(type);
        for (bool at_end : {false, true}) {
          Guarded x(bytes, at_end), y(bytes, true);
          for (size_t k = 0; k < bytes; ++k)
            x.as<uint8_t>()[k] = type == DType::Bool ? k % 2 : (k * 7 + 1) % 100;
          ASSERT_EQ(kernel({x.data(), y.data()}), 0);
          ASSERT_EQ(std::memcmp(x.data(), y.data(), bytes), 0)
              << name(type) << " of " << n << " on " << target.name;
          // What stands behind them in the same page stays.
          std::vector<uint8_t> memory(bytes + 256, 0xee);
          ASSERT_EQ(kernel({x.data(), memory.data()}), 0);
          for (size_t k = bytes; k < memory.size(); ++k)
            ASSERT_EQ(memory[k], 0xee) << name(type) << " of " << n << " on " << target.name;
        }
      }
}

}  // namespace
}  // namespace ig::codegen::test
