// Vector loops in two stages: the same bits as a loop that takes one element at a time, for all lengths,
// where results take their operands' memory, and where what is read tells where to read; nothing outside of
// the buffers is touched.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <regex>

#include "llvm_test_util.h"
#include "loop/math_detail.h"

namespace ig::codegen::test {
namespace {

using loop::Builder;
using loop::Expr;
namespace math = loop::math;
using Elements = std::function<Expr(Expr)>;

constexpr int kLanes = 32;

// out[i] = f(in[i]) from begin to end, which are parameters, or constants if they are given.
std::unique_ptr<loop::Function> element_wise(DType type, const Elements& f, int lanes, int64_t count = -1) {
  Builder b("element_wise");
  const uint32_t in = b.add_buffer(type, false, "in"), out = b.add_buffer(type, true, "out");
  auto bound = [&](const char* name, int64_t value) {
    return count < 0 ? b.size(Dim::symbol(name)) : b.index(value);
  };
  Expr begin = bound("begin", 0), end = bound("end", count);
  b.vector_for(begin, end, lanes, [&](Expr i) { b.store(out, i, f(b.let(b.load(in, i)))); });
  return b.finish();
}

std::vector<std::pair<const char*, Elements>> long_chains() {
  return {{"log", [](Expr x) { return math::log(x); }},
          {"tanh", [](Expr x) { return math::tanh(x); }},
          {"exp2(tanh)", [](Expr x) { return math::exp2(math::tanh(x)); }},
          {"expm1", [](Expr x) { return math::expm1(x); }},
          {"erf_inv(log)", [](Expr x) { return math::erf_inv(math::log(x) * 0.2); }},
          {"cbrt", [](Expr x) { return math::cbrt(x); }},
          {"a let between", [](Expr x) {
             Expr y = x.builder().let(math::exp(x));
             return y * math::log(y + 1.5) + x;
           }}};
}

template <typename T>
std::vector<T> numbers(int64_t count) {
  std::mt19937 random(7);
  std::uniform_real_distribution<T> some(static_cast<T>(0.01), 4);
  std::vector<T> out(static_cast<size_t>(count));
  for (T& v : out) v = some(random);
  return out;
}

template <typename T>
void same_bits(DType type) {
  const auto x = numbers<T>(300);
  for (const Target& target : runnable())
    for (const auto& [name, f] : long_chains()) {
      const Kernel one(element_wise(type, f, 1), target), many(element_wise(type, f, kLanes), target);
      std::vector<T> want(x.size());
      auto* from = const_cast<T*>(x.data());
      one({from, want.data()}, {0, 300});
      for (int64_t begin : {0, 5})
        for (int64_t count : {0, 1, 31, 32, 33, 63, 64, 96, 127, 128, 129, 160, 255})
          for (bool at_end : {false, true}) {
            const size_t bytes = static_cast<size_t>(begin + count) * sizeof(T);
            Guarded memory(bytes, at_end);
            std::memcpy(memory.data(), x.data(), bytes);
            many({memory.data(), memory.data()}, {begin, begin + count});
            for (int64_t i = 0; i < begin + count; ++i) {
              const T expected = i < begin ? x[static_cast<size_t>(i)] : want[static_cast<size_t>(i)];
              ASSERT_EQ(memory.as<T>()[i], expected)
                  << name << " on " << target.name << ": element " << i << " of " << begin << " + " << count;
            }
          }
    }
}

TEST(Stages, FloatsInPlaceAreThoseOfOneAtATime) { same_bits<float>(DType::F32); }
TEST(Stages, DoublesInPlaceAreThoseOfOneAtATime) { same_bits<double>(DType::F64); }

// Sums of e^x - m and what they are sums of, as softmax has them.
TEST(Stages, SumsTakeEveryGroupOnce) {
  for (const Target& target : runnable())
    for (int64_t groups : {1, 2, 3, 4, 5, 9}) {
      const int64_t count = groups * kLanes;
      Builder b("sums");
      const uint32_t in = b.add_buffer(DType::F32, false, "in"), out = b.add_buffer(DType::F32, true, "out"),
                     total = b.add_buffer(DType::F32, true, "total");
      const uint32_t sum = b.local(DType::F32, kLanes);
      b.vector_for(b.index(0), b.index(kLanes), kLanes,
                   [&](Expr) { b.assign(sum, b.constant(DType::F32, 0)); });
      b.vector_for(b.index(0), b.index(count), kLanes, [&](Expr i) {
        Expr power = b.let(math::exp(b.load(in, i) - 1.25));
        b.prefetch(in, i + 64);
        b.store(out, i, power);
        b.assign(sum, b.read(sum) + power);
      });
      b.vector_for(b.index(0), b.index(kLanes), kLanes, [&](Expr i) { b.store(total, i, b.read(sum)); });
      const Kernel kernel(b.finish(), target);
      auto x = numbers<float>(count);
      std::vector<float> powers(x.size()), sums(kLanes), want(kLanes);
      kernel({x.data(), powers.data(), sums.data()});
      const Kernel one(
          element_wise(DType::F32, [](Expr v) { return math::exp(v - 1.25); }, 1, count), target);
      std::vector<float> expected(x.size());
      one({x.data(), expected.data()});
      EXPECT_EQ(powers, expected) << target.name;
      for (size_t i = 0; i < expected.size(); ++i) want[i % kLanes] += expected[i];
      EXPECT_EQ(sums, want) << target.name << ", " << groups << " groups";
    }
}

// After the last group its operands are read once more, where its results may stand by then: what those say
// about where to read must not be followed.
TEST(Stages, ResultsAreNotTakenForPlaces) {
  constexpr int64_t kCount = 8 * kLanes;
  auto gather = [](int lanes) {
    Builder b("gather");
    const uint32_t places = b.add_buffer(DType::I32, false, "places"),
                   table = b.add_buffer(DType::F32, false, "table"),
                   out = b.add_buffer(DType::F32, true, "out");
    b.vector_for(b.index(0), b.index(kCount), lanes, [&](Expr i) {
      Expr at = b.let(loop::convert(b.load(places, i), DType::I64));
      b.store(out, i, math::log(b.load(table, at)));
    });
    return b.finish();
  };
  auto table = numbers<float>(kCount);
  std::vector<int32_t> places(kCount);
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int32_t>((i * 37) % kCount);
  for (const Target& target : runnable()) {
    std::vector<float> want(kCount);
    Kernel(gather(1), target)({places.data(), table.data(), want.data()});
    std::vector<int32_t> memory = places;
    Kernel(gather(kLanes), target)({memory.data(), table.data(), memory.data()});
    EXPECT_EQ(std::memcmp(memory.data(), want.data(), sizeof(float) * kCount), 0) << target.name;
  }
}

// Instructions of a name in the code of a loop.
std::ptrdiff_t instructions(const char* name, const char* target, const Elements& f) {
  const std::string text =
      compile_assembly(*element_wise(DType::F32, f, kLanes, 8 * kLanes), Target::named(target));
  const std::regex any(name);
  return std::distance(std::sregex_iterator(text.begin(), text.end(), any), std::sregex_iterator());
}

// Of a loop in stages the first one stands before it too. Where nothing but divisions keep the divider busy,
// and where 512 bits keep all units busy, the loop is whole.
TEST(Stages, LongChainsHaveThem) {
  const char* const fused = "\\bvfn?m(add|sub)";
  const Elements tanh = [](Expr x) { return math::tanh(x); };
  const Elements quotient = [](Expr x) { return 1.0 / math::tanh(x); };
  const Elements divisions = [](Expr x) {
    for (int i = 0; i < 5; ++i) x = 1.0 / (x + 1.0);
    return x;
  };
  constexpr int kOfTanh = 8;
  for (const Elements& f : {tanh, quotient}) {
    EXPECT_GT(instructions(fused, "x86-64-v3", f), kOfTanh * kLanes / 8);
    EXPECT_EQ(instructions(fused, "x86-64-v4", f), kOfTanh * kLanes / 16);
  }
  EXPECT_EQ(instructions("\\bvdivps", "x86-64-v3", divisions), 5 * kLanes / 8);
}

}  // namespace
}  // namespace ig::codegen::test
