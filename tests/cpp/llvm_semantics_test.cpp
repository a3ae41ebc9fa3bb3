// What each loop operation means, checked against plain C++ on every target that this machine runs: all lanes
// of full groups and of the masked last one, conversions, gathers, integers that would trap, failures.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "llvm_test_util.h"
#include "support/error.h"
#include "support/storage.h"

namespace ig::codegen::test {
namespace {

using loop::Builder;
using loop::Expr;
using loop::Reduction;

template <typename T>
DType dtype_of();
template <>
DType dtype_of<int8_t>() {
  return DType::I8;
}
template <>
DType dtype_of<uint8_t>() {
  return DType::U8;
}
template <>
DType dtype_of<int16_t>() {
  return DType::I16;
}
template <>
DType dtype_of<uint16_t>() {
  return DType::U16;
}
template <>
DType dtype_of<int32_t>() {
  return DType::I32;
}
template <>
DType dtype_of<uint32_t>() {
  return DType::U32;
}
template <>
DType dtype_of<int64_t>() {
  return DType::I64;
}
template <>
DType dtype_of<uint64_t>() {
  return DType::U64;
}
template <>
DType dtype_of<float>() {
  return DType::F32;
}
template <>
DType dtype_of<double>() {
  return DType::F64;
}

// out[i] = rule(inputs[i]...) with `lanes` lanes, on every target, between guard pages.
template <typename Out, typename In, typename Rule, typename Check>
void each(DType out_type, DType in_type, const std::vector<In>& a, const std::vector<In>& b, Rule rule,
          Check check) {
  for (const Target& target : runnable()) {
    Builder build("each");
    auto ba = build.add_buffer(in_type, false, "a"), bb = build.add_buffer(in_type, false, "b");
    auto out = build.add_buffer(out_type, true, "out");
    build.vector_for(build.index(0), build.size(Dim::symbol("n")), 32,
                     [&](Expr i) { build.store(out, i, rule(build.load(ba, i), build.load(bb, i))); });
    Kernel kernel(build.finish(), target);
    size_t n = a.size();
    Guarded ga(n * sizeof(In), true), gb(n * sizeof(In), true), go(n * sizeof(Out), true);
    std::memcpy(ga.data(), a.data(), n * sizeof(In));
    std::memcpy(gb.data(), b.data(), n * sizeof(In));
    kernel({ga.data(), gb.data(), go.data()}, {static_cast<int64_t>(n)});
    for (size_t i = 0; i < n; ++i) {
      Out want = check(a[i], b[i]), got = go.as<Out>()[i];
      if constexpr (std::is_floating_point_v<Out>) {
        if (std::isnan(want) && std::isnan(got)) continue;
      }
      ASSERT_EQ(std::memcmp(&want, &got, sizeof want), 0)
          << target.name << " " << name(in_type) << " " << +a[i] << ", " << +b[i] << ": " << +got << ", not "
          << +want;
    }
  }
}

template <typename T>
std::vector<T> values(uint64_t seed, bool nonzero) {
  std::mt19937_64 random(seed);
  std::vector<T> out = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T(1), T(2),
                        static_cast<T>(-1)};
  while (out.size() < 219) out.push_back(static_cast<T>(random() >> (random() % 60)));
  for (T& v : out) v = nonzero && v == 0 ? T(3) : v;
  return out;
}

template <typename T>
void integers() {
  auto a = values<T>(1, false), b = values<T>(2, true);
  a[7] = std::numeric_limits<T>::min();
  b[7] = static_cast<T>(-1);  // overflows where T has a sign: it must wrap, not trap
  DType t = dtype_of<T>();
  using U = uint64_t;  // wraps; its low bits are those of the narrower types
  auto overflows = [](T x, T y) {
    return std::is_signed_v<T> && x == std::numeric_limits<T>::min() && y == static_cast<T>(-1);
  };
  auto run = [&](auto rule, auto check) { each<T, T>(t, t, a, b, rule, check); };
  run([](Expr x, Expr y) { return x + y; }, [](T x, T y) { return static_cast<T>(U(x) + U(y)); });
  run([](Expr x, Expr y) { return x - y; }, [](T x, T y) { return static_cast<T>(U(x) - U(y)); });
  run([](Expr x, Expr y) { return x * y; }, [](T x, T y) { return static_cast<T>(U(x) * U(y)); });
  run([](Expr x, Expr y) { return x / y; },
      [&](T x, T y) { return overflows(x, y) ? x : static_cast<T>(x / y); });
  run([](Expr x, Expr y) { return x % y; },
      [&](T x, T y) { return overflows(x, y) ? T(0) : static_cast<T>(x % y); });
  run([](Expr x, Expr y) { return (x & y) ^ (x | ~y); },
      [](T x, T y) { return static_cast<T>((x & y) ^ (x | ~y)); });
  run([](Expr x, Expr) { return abs(x); },
      [](T x, T) { return static_cast<T>(x < T(0) ? U(0) - U(x) : U(x)); });
  run([](Expr x, Expr) { return popcount(x); },
      [](T x, T) { return static_cast<T>(std::popcount(static_cast<std::make_unsigned_t<T>>(x))); });
  run([](Expr x, Expr) { return count_leading_zeros(x); },
      [](T x, T) { return static_cast<T>(std::countl_zero(static_cast<std::make_unsigned_t<T>>(x))); });
  run([](Expr x, Expr y) { return select(x < y, x, y); }, [](T x, T y) { return x < y ? x : y; });
  each<uint8_t, T>(
      DType::Bool, t, a, b, [](Expr x, Expr y) { return (x >= y) | (x == y + 1); },
      [](T x, T y) { return static_cast<uint8_t>(x >= y || x == static_cast<T>(U(y) + 1)); });
}

TEST(LlvmSemantics, Integers) {
  integers<int8_t>();
  integers<uint8_t>();
  integers<int16_t>();
  integers<uint16_t>();
  integers<int32_t>();
  integers<uint32_t>();
  integers<int64_t>();
  integers<uint64_t>();
}

std::vector<double> reals() {
  std::vector<double> out = {0.0,    -0.0,   0.5,     -0.5,         1.5,          2.5,          1e300,
                             -1e300, 1e-310, 5e-8,    65504,        65519,        65520,        127.9,
                             128,    -129,   255.5,   4294967295.0, 4294967296.0, 2147483647.5, -2147483649.0,
                             9.3e18, 1.9e19, -9.3e18, INFINITY,     -INFINITY,    NAN};
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponent(-30, 66), sign(-1, 1);
  while (out.size() < 333) out.push_back(std::copysign(std::exp2(exponent(random)), sign(random)));
  return out;
}

template <typename To, typename From>
To saturate(From v) {
  if (v != v) return 0;
  auto wide = static_cast<long double>(v);
  if (wide <= static_cast<long double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (wide >= static_cast<long double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(v);
}

template <typename From>
void from_float() {
  std::vector<From> a;
  for (double v : reals()) a.push_back(static_cast<From>(v));
  DType f = dtype_of<From>();
  auto to = [&]<typename To>(To) {
    DType t = dtype_of<To>();
    each<To, From>(
        t, f, a, a, [t](Expr x, Expr) { return convert(x, t); },
        [](From x, From) { return saturate<To>(x); });
  };
  to(int8_t{}), to(uint8_t{}), to(int16_t{}), to(uint16_t{}), to(int32_t{}), to(uint32_t{}), to(int64_t{}),
      to(uint64_t{});
  each<uint8_t, From>(
      DType::Bool, f, a, a, [](Expr x, Expr) { return convert(x, DType::Bool); },
      [](From x, From) { return static_cast<uint8_t>(x != 0); });
}

TEST(LlvmSemantics, FloatsToIntegersSaturate) {
  from_float<float>();
  from_float<double>();
}

template <typename From>
void to_float() {
  auto a = values<From>(3, false);
  DType f = dtype_of<From>();
  each<float, From>(
      DType::F32, f, a, a, [](Expr x, Expr) { return convert(x, DType::F32); },
      [](From x, From) { return static_cast<float>(x); });
  each<double, From>(
      DType::F64, f, a, a, [](Expr x, Expr) { return convert(x, DType::F64); },
      [](From x, From) { return static_cast<double>(x); });
}

TEST(LlvmSemantics, IntegersToFloats) {
  to_float<int8_t>();
  to_float<uint16_t>();
  to_float<int32_t>();
  to_float<uint32_t>();
  to_float<int64_t>();
  to_float<uint64_t>();
}

TEST(LlvmSemantics, HalvesRoundAsTheSupportLayerDoes) {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  each<float, uint16_t>(
      DType::F32, DType::F16, all, all, [](Expr x, Expr) { return convert(x, DType::F32); },
      [](uint16_t x, uint16_t) { return f16_to_f32(x); });
  each<float, uint16_t>(
      DType::F32, DType::BF16, all, all, [](Expr x, Expr) { return convert(x, DType::F32); },
      [](uint16_t x, uint16_t) { return bf16_to_f32(x); });
  std::vector<float> a;
  for (uint32_t bits = 0; bits < 0xfff00000u; bits += 65521) a.push_back(std::bit_cast<float>(bits));
  for (double v : reals()) a.push_back(static_cast<float>(v));
  each<uint16_t, float>(
      DType::F16, DType::F32, a, a, [](Expr x, Expr) { return convert(x, DType::F16); },
      [](float x, float) { return f32_to_f16(x); });
  each<uint16_t, float>(
      DType::BF16, DType::F32, a, a, [](Expr x, Expr) { return convert(x, DType::BF16); },
      [](float x, float) { return f32_to_bf16(x); });
}

TEST(LlvmSemantics, WideValuesRoundOnceToHalves) {
  // Just above the middle of two halves: by way of float32 it would become the middle, and round to even.
  std::vector<double> a = {1.0 + 0x1p-11 + 0x1p-40, 1.0 + 0x1p-11, 1.0 + 3 * 0x1p-11 - 0x1p-40,
                           0x1p-25 + 0x1p-60, 65520.0};
  std::vector<uint16_t> want = {0x3c01, 0x3c00, 0x3c01, 0x0001, 0x7c00};
  each<uint16_t, double>(
      DType::F16, DType::F64, a, a, [](Expr x, Expr) { return convert(x, DType::F16); },
      [&](double x, double) {
        return want[static_cast<size_t>(std::find(a.begin(), a.end(), x) - a.begin())];
      });
  std::vector<int64_t> ints = {(int64_t{1} << 62) + (int64_t{1} << 54) + 1,
                               (int64_t{1} << 62) + (int64_t{1} << 54), -5};
  std::vector<uint16_t> bf = {0x5e81, 0x5e80, 0xc0a0};
  each<uint16_t, int64_t>(
      DType::BF16, DType::I64, ints, ints, [](Expr x, Expr) { return convert(x, DType::BF16); },
      [&](int64_t x, int64_t) {
        return bf[static_cast<size_t>(std::find(ints.begin(), ints.end(), x) - ints.begin())];
      });
}

TEST(LlvmSemantics, FloatsRoundAndCompare) {
  std::vector<double> a = reals(), b = a;
  std::rotate(b.begin(), b.begin() + 5, b.end());
  auto run = [&](auto rule, auto check) { each<double, double>(DType::F64, DType::F64, a, b, rule, check); };
  run([](Expr x, Expr) { return loop::floor(x); }, [](double x, double) { return std::floor(x); });
  run([](Expr x, Expr) { return loop::ceil(x); }, [](double x, double) { return std::ceil(x); });
  run([](Expr x, Expr) { return loop::trunc(x); }, [](double x, double) { return std::trunc(x); });
  run([](Expr x, Expr) { return loop::round_even(x); }, [](double x, double) { return std::nearbyint(x); });
  run([](Expr x, Expr) { return loop::sqrt(x); }, [](double x, double) { return std::sqrt(x); });
  run([](Expr x, Expr) { return -abs(x); }, [](double x, double) { return -std::fabs(x); });
  run([](Expr x, Expr y) { return select(x != y, x, y); }, [](double x, double y) { return x != y ? x : y; });
  run([](Expr x, Expr y) { return select((x == y) | ~(x < y), x, y); },
      [](double x, double y) { return x == y || !(x < y) ? x : y; });
}

TEST(LlvmSemantics, FloatRemainderIsExact) {
  std::vector<double> a, b;
  std::mt19937_64 random(9);
  for (double x : {0.0, -0.0, 1e308, -1e308, 5e-324, 3.5, HUGE_VAL, double{NAN}})
    for (double y : {5e-324, 1e-310, 2.5, -0.1, 1e308, 0.0, HUGE_VAL, double{NAN}})
      a.push_back(x), b.push_back(y);
  while (a.size() < 5000)
    a.push_back(std::bit_cast<double>(random())), b.push_back(std::bit_cast<double>(random()));
  each<double, double>(
      DType::F64, DType::F64, a, b, [](Expr x, Expr y) { return x % y; },
      [](double x, double y) { return std::fmod(x, y); });
  std::vector<float> c, d;
  for (size_t i = 0; i < 5000; ++i) {
    c.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
    d.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  }
  each<float, float>(
      DType::F32, DType::F32, c, d, [](Expr x, Expr y) { return x % y; },
      [](float x, float y) { return std::fmod(x, y); });
}

TEST(LlvmSemantics, LoadsAndStoresOfAnyStride) {
  for (const Target& target : runnable())
    for (int stride : {1, 2, 3, -1, -2, 0})
      for (int64_t n : {1, 5, 32, 33, 100}) {
        Builder b("strided");
        auto x = b.add_buffer(DType::F32, false, "x"), out = b.add_buffer(DType::F32, true, "out");
        int64_t extent = std::abs(stride) * (n - 1) + 1, start = stride < 0 ? extent - 1 : 0;
        b.vector_for(b.index(0), b.size(Dim::symbol("n")), 32, [&](Expr i) {
          Expr at = i * b.index(stride) + b.index(start);
          b.store(out, at, b.load(x, at) + 1.0);
        });
        Kernel kernel(b.finish(), target);
        auto bytes = static_cast<size_t>(extent) * 4;
        for (bool at_end : {false, true}) {
          Guarded gx(bytes, at_end), go(bytes, at_end);
          for (int64_t i = 0; i < extent; ++i)
            gx.as<float>()[i] = static_cast<float>(i), go.as<float>()[i] = -1;
          kernel({gx.data(), go.data()}, {n});
          for (int64_t i = 0; i < extent; ++i) {
            bool hit = stride == 0 || i % std::abs(stride) == 0;
            ASSERT_EQ(go.as<float>()[i], hit ? static_cast<float>(i + 1) : -1)
                << target.name << stride << " " << n;
          }
        }
      }
}

// By squares, by few rows whose columns lie side by side in the result, and by what is left of both. `gap`:
// elements of the result between two columns. A kernel that does more calls the function
// that has the squares.
TEST(LlvmSemantics, TranspositionsOfAnySizeStayInTheirBuffers) {
  for (const Target& target : runnable())
    for (DType type : {DType::U8, DType::F16, DType::F32, DType::F64, DType::C128})
      for (int64_t rows : {1, 2, 3, 4, 5, 16, 19})
        for (auto [gap, called] : {std::pair{0, false}, {2, false}, {0, true}, {2, true}}) {
          Builder b("turn");
          auto x = b.add_buffer(type, false, "x"), out = b.add_buffer(type, true, "out");
          Expr columns = b.size(Dim::symbol("columns"));
          b.transpose({out, b.index(0), b.index(rows + gap)}, {x, b.index(0), columns}, b.index(rows),
                      columns);
          if (called) b.prefetch(x, b.index(0));
          Kernel kernel(b.finish(), target);
          const size_t bytes = size_of(type);
          for (int64_t n : {0, 1, 7, 16, 33})
            for (bool at_end : {false, true}) {
              const auto elements = static_cast<size_t>(rows * n),
                         written = static_cast<size_t>((rows + gap) * n);
              Guarded gx(elements * bytes, at_end), go(written * bytes, at_end);
              for (size_t i = 0; i < elements * bytes; ++i)
                gx.as<uint8_t>()[i] = static_cast<uint8_t>(i * 7 + i / 251);
              std::memset(go.data(), 0xee, written * bytes);
              ASSERT_EQ(kernel({gx.data(), go.data()}, {n}), 0);
              for (size_t i = 0; i < written * bytes; ++i) {
                const size_t at = i / bytes, step = static_cast<size_t>(rows + gap);
                const size_t row = at % step, column = at / step;
                const size_t from = (row * static_cast<size_t>(n) + column) * bytes + i % bytes;
                ASSERT_EQ(go.as<uint8_t>()[i],
                          row < static_cast<size_t>(rows) ? gx.as<uint8_t>()[from] : 0xee)
                    << target.name << " " << rows << " by " << n << ", " << info(type).name;
              }
            }
        }
}

// out[i] = 3 x[i] + w[i + 3] - b, read by whole lines: arrays that begin anywhere in one, between pages that
// may not be touched, in place too.
template <typename T>
void reads_whole_lines(const Target& target, int lanes, int64_t begin) {
  Builder b("lines");
  auto x = b.add_buffer(dtype_of<T>(), false, "x"), w = b.add_buffer(dtype_of<T>(), false, "w"),
       one = b.add_buffer(dtype_of<T>(), false, "one"), out = b.add_buffer(dtype_of<T>(), true, "out");
  auto body = [&](Expr i) {
    b.store(out, i, b.load(x, i) * 3.0 + b.load(w, i + b.index(3)) - b.load(one, b.index(0)));
  };
  b.vector_for(b.index(begin), b.size(Dim::symbol("n")), lanes, body, true);
  Kernel kernel(b.finish(), target);
  for (int64_t n : {0, 1, 15, 16, 17, 31, 33, 47, 48, 63, 64, 65, 79, 81, 143, 144, 160, 255, 301})
    for (bool at_end : {false, true})
      for (bool in_place : {false, true}) {
        const auto elements = static_cast<size_t>(n);
        Guarded gx(elements * sizeof(T), at_end), gw((elements + 3) * sizeof(T), at_end),
            g1(sizeof(T), at_end), go(elements * sizeof(T), at_end);
        for (size_t i = 0; i < elements; ++i) gx.as<T>()[i] = static_cast<T>(i * i % 1000);
        for (size_t i = 0; i < elements + 3; ++i) gw.as<T>()[i] = static_cast<T>(i * 7 % 501);
        g1.as<T>()[0] = 1;
        std::memset(go.data(), 0, elements * sizeof(T));
        std::vector<T> expected;
        for (int64_t i = 0; i < n; ++i) {
          const T old = in_place ? gx.as<T>()[i] : T(0);
          expected.push_back(i < begin ? old : gx.as<T>()[i] * 3 + gw.as<T>()[i + 3] - 1);
        }
        Guarded& result = in_place ? gx : go;
        ASSERT_EQ(kernel({gx.data(), gw.data(), g1.data(), result.data()}, {n}), 0);
        for (size_t i = 0; i < elements; ++i)
          ASSERT_EQ(result.as<T>()[i], expected[i])
              << target.name << ", element " << i << " of " << n << " from " << begin << " by " << lanes;
      }
}

TEST(LlvmSemantics, LoopsReadWholeLinesWithinTheirBuffers) {
  for (const Target& target : runnable())
    for (int lanes : {16, 32})
      for (int64_t begin : {0, 13}) {
        reads_whole_lines<float>(target, lanes, begin);
        reads_whole_lines<double>(target, lanes, begin);
        reads_whole_lines<int32_t>(target, lanes, begin);
        reads_whole_lines<int64_t>(target, lanes, begin);
      }
}

// What a loop writes, or works out before it reads, is not read ahead.
TEST(LlvmSemantics, LoopsReadWholeLinesInOrder) {
  for (const Target& target : runnable()) {
    Builder b("order");
    auto x = b.add_buffer(DType::F32, false, "x"), out = b.add_buffer(DType::F32, true, "out");
    auto row = b.add_scratch(DType::F32, Dim::symbol("n"), "row");
    auto sum = b.local(DType::F32, 32);
    b.assign(sum, b.constant(DType::F32, 0));
    b.vector_for(
        b.index(1), b.size(Dim::symbol("n")), 32,
        [&](Expr i) {
          Expr before = b.let(i - b.index(1));
          b.store(row, i, b.load(x, i) + b.load(x, before));
          b.assign(sum, b.read(sum) + b.load(row, i));
          b.store(out, i, b.load(row, i));
        },
        true);
    b.store(out, b.index(0), b.reduce_lanes(sum, Reduction::Add));
    Kernel kernel(b.finish(), target);
    for (int64_t n : {1, 32, 33, 100, 257}) {
      const auto elements = static_cast<size_t>(n);
      Guarded gx(elements * 4, true), go(elements * 4, true);
      for (size_t i = 0; i < elements; ++i) gx.as<float>()[i] = static_cast<float>(i % 17);
      Storage scratch = Storage::allocate(elements * 4 + 64 + rt::kScratchSpare);
      ASSERT_EQ(kernel({gx.data(), go.data()}, {n}, 1, nullptr, scratch.data()), 0);
      float total = 0;
      for (size_t i = 1; i < elements; ++i) {
        const float pair = gx.as<float>()[i] + gx.as<float>()[i - 1];
        total += pair;
        ASSERT_EQ(go.as<float>()[i], pair) << target.name << " " << i << " of " << n;
      }
      ASSERT_EQ(go.as<float>()[0], total) << target.name << " " << n;
    }
  }
}

// Nor is anything read before a check that says whether it may be.
TEST(LlvmSemantics, LoopsReadWholeLinesAfterChecks) {
  for (const Target& target : runnable()) {
    Builder b("checked");
    auto x = b.add_buffer(DType::F32, false, "x"), out = b.add_buffer(DType::F32, true, "out");
    Expr n = b.size(Dim::symbol("n")), far = b.size(Dim::symbol("far"));
    b.vector_for(
        b.index(0), n, 32,
        [&](Expr i) {
          b.fail_if(far > b.index(0), 5, far);
          b.store(out, i, b.load(x, i + far));
        },
        true);
    Kernel kernel(b.finish(), target);
    const size_t elements = 100;
    Guarded gx(elements * 4, true), go(elements * 4, true);
    for (size_t i = 0; i < elements; ++i) gx.as<float>()[i] = static_cast<float>(i);
    int64_t error[2] = {};
    EXPECT_EQ(kernel({gx.data(), go.data()}, {100, 1 << 20}, 1, error), 1) << target.name;
    EXPECT_EQ(error[1], 1 << 20);
    EXPECT_EQ(kernel({gx.data(), go.data()}, {100, 0}, 1, error), 0);
    for (size_t i = 0; i < elements; ++i) EXPECT_EQ(go.as<float>()[i], static_cast<float>(i));
  }
}

TEST(LlvmSemantics, GatherScatterAndNarrowTypes) {
  for (const Target& target : runnable())
    for (int64_t n : {1, 31, 64, 77}) {
      Builder b("gather");
      auto x = b.add_buffer(DType::I8, false, "x"), index = b.add_buffer(DType::I64, false, "index");
      auto out = b.add_buffer(DType::I8, true, "out"), flags = b.add_buffer(DType::Bool, true, "flags");
      b.vector_for(b.index(0), b.size(Dim::symbol("n")), 64, [&](Expr i) {
        Expr at = b.load(index, i);
        b.store(out, at, b.load(x, at));
        b.store(flags, i, (at < i) | (i == b.index(3)));
      });
      Kernel kernel(b.finish(), target);
      auto bytes = static_cast<size_t>(n);
      Guarded gx(bytes, true), gi(bytes * 8, true), go(bytes, true), gf(bytes, true);
      for (int64_t i = 0; i < n; ++i)
        gx.as<int8_t>()[i] = static_cast<int8_t>(i * 3), gi.as<int64_t>()[i] = (i * 5 + 2) % n;
      kernel({gx.data(), gi.data(), go.data(), gf.data()}, {n});
      for (int64_t i = 0; i < n; ++i) {
        int64_t at = (i * 5 + 2) % n;
        ASSERT_EQ(go.as<int8_t>()[at], static_cast<int8_t>(at * 3));
        ASSERT_EQ(gf.as<uint8_t>()[i], at < i || i == 3);
      }
    }
}

TEST(LlvmSemantics, LanesFoldByATreeThatAllTargetsShare) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> x(1003);
  for (float& v : x) v = uniform(random);
  float lanes[16] = {};
  for (size_t i = 0; i < x.size(); ++i) lanes[i % 16] += x[i];
  for (size_t half = 8; half > 0; half /= 2)
    for (size_t k = 0; k < half; ++k) lanes[k] += lanes[k + half];
  for (const Target& target : runnable()) {
    Builder b("sum");
    auto in = b.add_buffer(DType::F32, false, "x"), out = b.add_buffer(DType::F32, true, "out");
    auto acc = b.local(DType::F32, 16), most = b.local(DType::F32, 16);
    b.assign(acc, b.constant(DType::F32, 0));
    b.assign(most, b.constant(DType::F32, -9));
    b.vector_for(b.index(0), b.size(Dim::symbol("n")), 16, [&](Expr i) {
      Expr v = b.load(in, i);
      b.assign(acc, b.read(acc) + v);
      b.assign(most, greater(v, b.read(most)));
    });
    b.store(out, b.index(0), b.reduce_lanes(acc, Reduction::Add));
    b.store(out, b.index(1), b.reduce_lanes(most, Reduction::Max));
    Kernel kernel(b.finish(), target);
    float got[2];
    kernel({x.data(), got}, {1003});
    EXPECT_EQ(got[0], lanes[0]) << target.name;
    EXPECT_EQ(got[1], *std::max_element(x.begin(), x.end()));
  }
}

// Wherever in the lanes a NaN or a zero of either sign stands.
TEST(LlvmSemantics, LanesFoldToTheExtremesOfZerosAndNaN) {
  for (const Target& target : runnable()) {
    Builder b("extremes");
    auto in = b.add_buffer(DType::F32, false, "x"), out = b.add_buffer(DType::F32, true, "out");
    auto lanes = b.local(DType::F32, 16);
    b.assign(lanes, b.constant(DType::F32, 0));
    b.vector_for(b.index(0), b.index(16), 16, [&](Expr i) { b.assign(lanes, b.load(in, i)); });
    b.store(out, b.index(0), b.reduce_lanes(lanes, Reduction::Max));
    b.store(out, b.index(1), b.reduce_lanes(lanes, Reduction::Min));
    Kernel kernel(b.finish(), target);
    for (int at = 0; at < 16; ++at) {
      float got[2], x[16];
      std::fill_n(x, 16, -0.0f);
      x[at] = 0.0f;
      kernel({x, got}, {});
      EXPECT_FALSE(std::signbit(got[0])) << target.name << ", lane " << at;
      EXPECT_TRUE(std::signbit(got[1])) << target.name << ", lane " << at;
      x[at] = std::numeric_limits<float>::quiet_NaN();
      kernel({x, got}, {});
      EXPECT_TRUE(std::isnan(got[0]) && std::isnan(got[1])) << target.name << ", lane " << at;
    }
  }
}

// It may point outside of the buffer, and changes nothing.
TEST(LlvmSemantics, PrefetchesDoNoHarm) {
  std::vector<float> x(100), y(100);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  for (const Target& target : runnable()) {
    Builder b("ahead");
    auto in = b.add_buffer(DType::F32, false, "x"), out = b.add_buffer(DType::F32, true, "out");
    b.vector_for(b.index(0), b.size(Dim::symbol("n")), 32, [&](Expr i) {
      b.prefetch(in, i + b.index(int64_t{1} << 40));
      b.store(out, i, b.load(in, i));
    });
    Kernel kernel(b.finish(), target);
    kernel({x.data(), y.data()}, {100});
    EXPECT_EQ(x, y) << target.name;
  }
}

TEST(LlvmSemantics, RareLanesInFullAndMaskedGroups) {
  std::vector<float> a;
  for (int i = 0; i < 75; ++i) a.push_back(i % 7 == 3 ? -static_cast<float>(i) : static_cast<float>(i));
  each<float, float>(
      DType::F32, DType::F32, a, a,
      [](Expr x, Expr y) { return select_rare(x < 0.0, sqrt(-x) * y + 1.0, x * 2.0); },
      [](float x, float y) { return x < 0 ? std::sqrt(-x) * y + 1 : x * 2; });
}

// The low four bits of any index choose, in vectors shorter and longer than a register, in masked groups, and
// one by one.
TEST(LlvmSemantics, LookupsInVectorsAndOneByOne) {
  static const loop::Table table = {0.5f, -1, 2, 3.25f, 4, 5, 6, 7, -0.0f, 9, 10, 11, 12, 1e-40f, 14, 15};
  const std::vector<int32_t> index = values<int32_t>(5, false);
  for (const Target& target : runnable())
    for (int lanes : {1, 4, 8, 16, 64}) {
      Builder b("look");
      auto in = b.add_buffer(DType::I32, false, "in"), out = b.add_buffer(DType::F32, true, "out");
      auto entry = [&](Expr i) { b.store(out, i, lookup(table, b.load(in, i))); };
      Expr n = b.size(Dim::symbol("n"));
      if (lanes == 1) b.serial_for(b.index(0), n, entry);
      if (lanes != 1) b.vector_for(b.index(0), n, lanes, entry);
      Kernel kernel(b.finish(), target);
      Guarded from(index.size() * 4, true), to(index.size() * 4, true);
      std::memcpy(from.data(), index.data(), index.size() * 4);
      kernel({from.data(), to.data()}, {static_cast<int64_t>(index.size())});
      for (size_t i = 0; i < index.size(); ++i) {
        const float want = table[static_cast<size_t>(index[i] & 15)];
        ASSERT_EQ(std::bit_cast<uint32_t>(to.as<float>()[i]), std::bit_cast<uint32_t>(want))
            << target.name << " lanes " << lanes << " index " << index[i];
      }
    }
}

TEST(LlvmSemantics, FailuresScratchBlocksAndFolds) {
  for (const Target& target : runnable()) {
    Builder b("checked");
    auto x = b.add_buffer(DType::I64, false, "x"), out = b.add_buffer(DType::I64, true, "out");
    auto first = b.add_scratch(DType::I8, Dim::symbol("n") + 1, "first");
    auto second = b.add_scratch(DType::I64, Dim(2), "second");
    Expr n = b.size(Dim::symbol("n"));
    Expr v = b.let(b.load(x, b.block()));
    b.fail_if(v < 0.0, 42, v);
    b.store(first, b.index(0), b.constant(DType::I8, 7));
    b.store(second, b.index(0), v);
    Expr sum = b.fold(n, b.load(second, b.index(0)), [&](Expr i, Expr acc) { return acc + i; });
    Expr floor = b.size(floordiv(Dim::symbol("n") - 9, 2)), rest = b.size(mod(Dim::symbol("n") - 9, 2));
    b.store(out, b.block(), sum + floor * 1000.0 + rest * 100000.0);
    Kernel kernel(b.finish(), target);
    int64_t in[3] = {10, 20, -3}, got[3] = {0, 0, 0}, error[2] = {0, 0};
    alignas(64) char scratch[512] = {};
    EXPECT_EQ(kernel({in, got}, {4}, 3, error, scratch), 1);
    EXPECT_EQ(error[0], 42);
    EXPECT_EQ(error[1], -3);
    EXPECT_EQ(got[0], 16 + -3 * 1000 + 100000);
    EXPECT_EQ(got[1], 26 + -3 * 1000 + 100000);
    EXPECT_EQ(got[2], 0);
    EXPECT_EQ(scratch[0], 7);
    int64_t kept;
    std::memcpy(&kept, scratch + rt::kScratchSpare + 64, 8);
    EXPECT_EQ(kept, 20);
  }
}

// A store of some lanes into scratch may go as one of all lanes; what stands beside them stays, in the buffer
// and in the next one.
TEST(LlvmSemantics, StoresOfSomeLanesIntoScratch) {
  for (const Target& target : runnable())
    for (DType type : {DType::F32, DType::F64, DType::C64, DType::I8})
      for (int lanes : {8, 16}) {
        Builder b("parts");
        auto x = b.add_buffer(type, false, "x"), out = b.add_buffer(type, true, "out");
        Expr n = b.size(Dim::symbol("n"));
        auto first = b.add_scratch(type, Dim::symbol("n"), "first");
        auto second = b.add_scratch(type, Dim::symbol("n"), "second");
        auto copy = [&](uint32_t to, uint32_t from, Expr begin, Expr end, Expr shift) {
          b.vector_for(begin, end, lanes, [&](Expr i) { b.store(to, i, b.load(from, i + shift)); });
        };
        copy(second, x, b.index(0), n, b.index(0));
        copy(first, x, b.index(0), n, b.index(0));
        b.serial_for(b.index(1), n,
                     [&](Expr i) { copy(first, second, i, b.let(loop::lesser(i + 5, n)), -i); });
        copy(out, first, b.index(0), n, b.index(0));
        b.serial_for(b.index(0), n, [&](Expr i) { b.store(out, n + i, b.load(second, i)); });
        Kernel kernel(b.finish(), target);
        for (int64_t n_now : {1, 3, 7, 8, 9, 31}) {
          const auto count = static_cast<size_t>(n_now), bytes = size_of(type);
          Guarded gx(count * bytes, true), go(2 * count * bytes, true);
          for (size_t i = 0; i < count * bytes; ++i) gx.as<uint8_t>()[i] = static_cast<uint8_t>(i % 61 + 1);
          Storage scratch =
              Storage::allocate(2 * (count * bytes + 64 + static_cast<size_t>(rt::kScratchSpare)));
          ASSERT_EQ(kernel({gx.data(), go.data()}, {n_now}, 1, nullptr, scratch.data()), 0);
          std::vector<uint8_t> want(gx.as<uint8_t>(), gx.as<uint8_t>() + count * bytes);
          for (size_t i = 1; i < count; ++i)
            for (size_t j = i; j < std::min(i + 5, count); ++j)
              std::memcpy(&want[j * bytes], gx.as<uint8_t>() + (j - i) * bytes, bytes);
          EXPECT_EQ(std::memcmp(go.data(), want.data(), want.size()), 0) << target.name << " " << n_now;
          EXPECT_EQ(std::memcmp(go.as<uint8_t>() + want.size(), gx.data(), want.size()), 0);
        }
      }
}

}  // namespace
}  // namespace ig::codegen::test
