// Measures the vector maths against the C library in a wider type, in units of the last place: over samples
// of all float32 and float64 bit patterns, denormals, infinities and NaN among them. INTAGLIO_EXHAUSTIVE=1
// goes through all 2^32 float32 values for the functions of one argument, on the last target (what runs with
// fused multiply-add has the same bits). The bounds here are the ones that
// docs/numerics.md states.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <random>

#include "llvm_test_util.h"
#include "loop/math_detail.h"
#include "loop/special.h"

namespace ig::codegen::test {
namespace {

using loop::Builder;
using loop::Expr;
namespace math = loop::math;

struct Case {
  const char* name;
  Expr (*rule)(Expr);
  long double (*truth)(long double);
  double bound32, bound64;  // ULP
  bool absolute;            // error relative to max(1, |f|)
  double (*quick)(double);  // good enough for float32, and much faster, where all of it is measured
};

template <typename T>
T digamma_truth(T x) {
  if (x == 0) return -std::copysign(HUGE_VALL, x);
  if (x == std::floor(x) && x < 0) return NAN;
  if (x < 0) {
    const T pi = std::numbers::pi_v<T>, angle = (x - std::nearbyint(x)) * pi;
    return digamma_truth(1 - x) - pi * std::cos(angle) / std::sin(angle);
  }
  T sum = 0;
  for (; x < 20; x += 1) sum -= 1 / x;
  T r = 1 / (x * x);
  T series =
      r * (1 / T(12) -
           r * (1 / T(120) -
                r * (1 / T(252) -
                     r * (1 / T(240) -
                          r * (1 / T(132) - r * (691 / T(32760) - r * (1 / T(12) - r * 3617 / T(8160))))))));
  return sum + std::log(x) - 1 / (2 * x) - series;
}

// Newton's method on erf, or on erfc where erf is near one.
template <typename T>
T erf_inv_truth(T x) {
  if (std::fabs(x) >= 1 || x != x) return std::fabs(x) == 1 ? std::copysign(HUGE_VALL, x) : NAN;
  if (x == 0) return x;
  T a = std::fabs(x), w = -std::log((1 - a) * (1 + a));
  T c = 2 / (std::numbers::pi_v<T> * T(0.147)) - w / 2;
  T y = std::sqrt(std::sqrt(c * c + w / T(0.147)) - c);
  for (int i = 0; i < 6; ++i) {
    T f = a < T(0.5) ? std::erf(y) - a : (1 - a) - std::erfc(y);
    T slope = 2 / std::sqrt(std::numbers::pi_v<T>) * std::exp(-y * y);
    T step = f / slope;
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}

template <typename T>
T logistic_truth(T x) {
  return 1 / (1 + std::exp(-x));
}
template <typename T>
T rsqrt_truth(T x) {
  return 1 / std::sqrt(x);
}
template <typename T>
T lgamma_truth(T x) {
  return std::lgamma(x);
}

template <typename T>
T ndtr_truth(T x) {
  return std::erfc(-x * (std::numbers::sqrt2_v<T> / 2)) / 2;
}
template <typename T>
T logit_truth(T p) {
  return p > 0.25 && p < 0.75 ? std::log1p((2 * p - 1) / (1 - p)) : std::log(p / (1 - p));
}

template <typename T>
T log_ndtr_truth(T x) {
  constexpr T root = std::numbers::sqrt2_v<T> / 2;
  if (x > 0) return std::log1p(-std::erfc(x * root) / 2);
  if (const T tail = std::erfc(-x * root) / 2; tail > 1000 * std::numeric_limits<T>::min())
    return std::log(tail);
  const T t = 1 / (x * x);
  return -x * x / 2 - std::log(-x / root * std::sqrt(std::numbers::pi_v<T>)) +
         std::log1p(-t * (1 - t * (3 - t * (15 - t * 105))));
}
template <typename T>
T ndtri_truth(T p) {
  const T tail = p < T(0.5) ? p : 1 - p;
  if (!(tail > 0))
    return tail == 0 ? (p < T(0.5) ? -1 : 1) * std::numeric_limits<T>::infinity() : tail / T(0) * 0;
  T z = std::sqrt(-2 * std::log(2 * tail));
  for (int i = 0; i < 40; ++i) {  // Newton's steps on the logarithm of the tail, from the right
    const T upper = std::erfc(z * std::numbers::sqrt2_v<T> / 2) / 2;
    const T step =
        std::log(upper / tail) * upper * std::exp(z * z / 2) * std::sqrt(2 * std::numbers::pi_v<T>);
    z += step;
    if (std::fabs(step) < std::numeric_limits<T>::epsilon() * z) break;
  }
  return p < T(0.5) ? -z : z;
}

const Case kCases[] = {
    {"exp", math::exp, std::exp, 2, 4, false, std::exp},
    {"exp2", math::exp2, std::exp2, 2, 4, false, std::exp2},
    {"expm1", math::expm1, std::expm1, 2, 4, false, std::expm1},
    {"log", math::log, std::log, 2, 4, false, std::log},
    {"log2", math::log2, std::log2, 2, 4, false, std::log2},
    {"log10", math::log10, std::log10, 2, 4, false, std::log10},
    {"log1p", math::log1p, std::log1p, 2, 4, false, std::log1p},
    {"sin", math::sin, std::sin, 2, 4, false, std::sin},
    {"cos", math::cos, std::cos, 2, 4, false, std::cos},
    {"tan", math::tan, std::tan, 2, 4, false, std::tan},
    {"asin", math::asin, std::asin, 1.5, 4, false, std::asin},
    {"acos", math::acos, std::acos, 1.5, 4, false, std::acos},
    {"atan", math::atan, std::atan, 1.5, 4, false, std::atan},
    {"sinh", math::sinh, std::sinh, 1, 4, false, std::sinh},
    {"cosh", math::cosh, std::cosh, 1, 4, false, std::cosh},
    {"tanh", math::tanh, std::tanh, 2, 4, false, std::tanh},
    {"asinh", math::asinh, std::asinh, 2, 4, false, std::asinh},
    {"acosh", math::acosh, std::acosh, 2, 4, false, std::acosh},
    {"atanh", math::atanh, std::atanh, 2, 4, false, std::atanh},
    {"erf", math::erf, std::erf, 1, 4, false, std::erf},
    {"erfc", math::erfc, std::erfc, 1, 4, false, std::erfc},
    {"erf_inv", math::erf_inv, erf_inv_truth, 2, 4, false, erf_inv_truth},
    {"ndtr", loop::special::ndtr, ndtr_truth, 2, 4, false, ndtr_truth},
    {"log_ndtr", loop::special::log_ndtr, log_ndtr_truth, 2, 4, false, log_ndtr_truth},
    {"ndtri", loop::special::ndtri, ndtri_truth, 2, 4, false, ndtri_truth},
    {"logit", loop::special::logit, logit_truth, 2, 4, false, logit_truth},
    {"cbrt", math::cbrt, std::cbrt, 1, 4, false, std::cbrt},
    {"logistic", math::logistic, logistic_truth, 2.5, 4, false, logistic_truth},
    {"rsqrt", math::rsqrt, rsqrt_truth, 2, 4, false, rsqrt_truth},
    {"lgamma", math::lgamma, lgamma_truth, 1, 4, true, lgamma_truth},
    {"digamma", math::digamma, digamma_truth, 1, 16, true,
     digamma_truth},  // 4 for x > 0: left of it terms cancel
};

std::unique_ptr<loop::Function> apply(Expr (*rule)(Expr), DType type) {
  Builder b("apply");
  auto x = b.add_buffer(type, false, "x"), out = b.add_buffer(type, true, "out");
  b.vector_for(b.index(0), b.size(Dim::symbol("n")), type == DType::F32 ? 32 : 16,
               [&](Expr i) { b.store(out, i, rule(b.load(x, i))); });
  return b.finish();
}

// The distance of `got` from `want` in units of the last place that `want` has in type T.
template <typename T>
double ulps(T got, long double want, bool absolute) {
  if (want != want || got != got) return (want != want) == (got != got) ? 0 : HUGE_VAL;
  auto nearest = static_cast<T>(want);
  if (nearest == 0 && got == 0) return std::signbit(got) == std::signbit(nearest) ? 0 : HUGE_VAL;
  if (got == nearest) return 0.5;  // rounded correctly: at most that
  constexpr int digits = std::numeric_limits<T>::digits, low = std::numeric_limits<T>::min_exponent - 1;
  long double size = std::fabs(want);
  if (absolute) size = std::max(size, 1.0L);
  if (std::isinf(got)) {
    if (std::isinf(want)) return HUGE_VAL;  // the other infinity
    got = std::copysign(std::numeric_limits<T>::max(), got);
    return size > std::numeric_limits<T>::max() / 1.0000001L ? 1 : HUGE_VAL;
  }
  if (std::isinf(nearest)) return std::fabs(got) == std::numeric_limits<T>::max() ? 1 : HUGE_VAL;
  int exponent = std::max(size == 0 ? low : std::ilogb(size), low);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) /
                             std::ldexp(1.0L, exponent - digits + 1));
}

struct Worst {
  double error = 0, at = 0, got = 0;
};

template <typename T>
void measure(const Kernel& kernel, std::vector<T>& x, std::vector<T>& y, const Case& c, Worst& worst) {
  kernel({x.data(), y.data()}, {static_cast<int64_t>(x.size())});
  for (size_t i = 0; i < x.size(); ++i) {
    long double want = sizeof(T) == 4 ? static_cast<long double>(c.quick(x[i])) : c.truth(x[i]);
    double error = ulps<T>(y[i], want, c.absolute);
    if (error > worst.error) worst = {error, x[i], y[i]};
  }
}

template <typename T>
std::vector<T> edges() {
  using L = std::numeric_limits<T>;
  std::vector<T> out;
  for (T v : {T(0),
              L::denorm_min(),
              L::denorm_min() * 3,
              L::min(),
              L::min() / 2,
              T(1),
              std::nextafter(T(1), T(0)),
              std::nextafter(T(1), T(2)),
              T(0.5),
              T(2),
              T(1.5),
              T(1e-8),
              T(1e10),
              L::max(),
              L::infinity(),
              L::quiet_NaN(),
              T(88.7228),
              T(88.8),
              T(89),
              T(-87.4),
              T(103),
              T(104),
              T(709.78),
              T(745),
              T(3.14159265358979),
              T(1.57079632679489),
              T(0.785398163397448),
              T(1.6e6),
              T(8000),
              T(1e22),
              T(0x1p120)})
    for (T w : {v, -v}) out.push_back(w);
  return out;
}

// Half of the samples are any bit patterns, half are of the magnitudes that programs use.
template <typename T, typename Word>
std::vector<T> samples(size_t count) {
  std::vector<T> out = edges<T>();
  for (int k = 1; k < 10000; ++k)  // where sin, cos and tan are smallest
    out.push_back(static_cast<T>(k * 1.57079632679489661923L));
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> exponent(-12, 7), sign(-1, 1);
  while (out.size() < count) {
    out.push_back(std::bit_cast<T>(static_cast<Word>(random())));
    out.push_back(static_cast<T>(std::copysign(std::exp2(exponent(random)), sign(random))));
  }
  return out;
}

class MathUlp : public testing::TestWithParam<Case> {};

TEST_P(MathUlp, Float32) {
  const Case& c = GetParam();
  const std::vector<Target> targets = runnable();
  for (const Target& target : targets) {
    Kernel kernel(apply(c.rule, DType::F32), target);
    Worst worst;
    const char* all = std::getenv("INTAGLIO_EXHAUSTIVE");
    std::vector<float> x = samples<float, uint32_t>(1 << 18), y(x.size());
    measure(kernel, x, y, c, worst);
    if (all != nullptr && *all == '1' && &target == &targets.back()) {
      x.resize(1 << 16);
      y.resize(x.size());
      for (uint64_t start = 0; start < uint64_t{1} << 32; start += x.size()) {
        for (size_t i = 0; i < x.size(); ++i) x[i] = std::bit_cast<float>(static_cast<uint32_t>(start + i));
        measure(kernel, x, y, c, worst);
      }
    }
    std::printf("%-9s f32 %-10s %.3f ulp at %.9g (%.9g)\n", c.name, target.name.c_str(), worst.error,
                worst.at, worst.got);
    EXPECT_LE(worst.error, c.bound32) << "at " << worst.at;
  }
}

TEST_P(MathUlp, Float64) {
  const Case& c = GetParam();
  for (const Target& target : runnable()) {
    Kernel kernel(apply(c.rule, DType::F64), target);
    Worst worst;
    std::vector<double> x = samples<double, uint64_t>(1 << 16), y(x.size());
    measure(kernel, x, y, c, worst);
    std::printf("%-9s f64 %-10s %.3f ulp at %.17g (%.17g)\n", c.name, target.name.c_str(), worst.error,
                worst.at, worst.got);
    EXPECT_LE(worst.error, c.bound64) << "at " << worst.at;
  }
}

// Of all targets with fused multiply-add, however they spell what others have an instruction for.
template <typename T, typename Word>
void same_bits(const Case& c, DType type) {
  std::vector<T> x = samples<T, Word>(1 << 16), first;
  for (const Target& target : runnable()) {
    if (!target.fma) continue;
    std::vector<T> y(x.size());
    Kernel(apply(c.rule, type), target)({x.data(), y.data()}, {static_cast<int64_t>(x.size())});
    if (first.empty()) first = y;
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_TRUE(std::bit_cast<Word>(y[i]) == std::bit_cast<Word>(first[i]) ||
                  (y[i] != y[i] && first[i] != first[i]))
          << x[i] << ": " << y[i] << " and " << first[i] << " on " << target.name;
  }
}
TEST_P(MathUlp, TargetsAgree) {
  same_bits<float, uint32_t>(GetParam(), DType::F32);
  same_bits<double, uint64_t>(GetParam(), DType::F64);
}

// A form for some arguments alone has the bits of the one for all.
template <typename T, typename Word>
void same_as(Expr (*all)(Expr), Expr (*some)(Expr), DType type, T (*argument)(T any)) {
  for (const Target& target : runnable()) {
    Kernel expected(apply(all, type), target), got(apply(some, type), target);
    std::vector<T> x = samples<T, Word>(1 << 18);
    for (T& v : x) v = argument(v);
    std::vector<T> y(x.size()), z(x.size());
    expected({x.data(), y.data()}, {static_cast<int64_t>(x.size())});
    got({x.data(), z.data()}, {static_cast<int64_t>(x.size())});
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_TRUE(std::bit_cast<Word>(y[i]) == std::bit_cast<Word>(z[i]) || (y[i] != y[i] && z[i] != z[i]))
          << x[i] << ": " << y[i] << " and " << z[i] << " on " << target.name;
  }
}
template <typename T>
T below_zero(T v) {
  return v > 0 ? -v : v;
}
template <typename T>
T up_to_one(T v) {
  return std::abs(v) > 1 ? 1 / std::abs(v) : std::abs(v);
}
TEST(MathUlpOfOne, ExponentialsBelowZeroAreTheSame) {
  same_as<float, uint32_t>(math::exp, math::exp_of_nonpositive, DType::F32, below_zero);
  same_as<double, uint64_t>(math::exp, math::exp_of_nonpositive, DType::F64, below_zero);
}
TEST(MathUlpOfOne, LogarithmsUpToTwoAreTheSame) {
  same_as<float, uint32_t>(math::log1p, math::log1p_up_to_one, DType::F32, up_to_one);
  same_as<double, uint64_t>(math::log1p, math::log1p_up_to_one, DType::F64, up_to_one);
}

// The angles that everyone knows are the floats nearest to them.
TEST(MathUlpOfOne, WellKnownAngles) {
  struct Known {
    Expr (*rule)(Expr);
    float of;
    double angle;
  };
  constexpr double pi = std::numbers::pi;
  const Known known[] = {{math::atan, 1, pi / 4},  {math::atan, -1, -pi / 4}, {math::atan, INFINITY, pi / 2},
                         {math::asin, 1, pi / 2},  {math::asin, -1, -pi / 2}, {math::asin, 0.5, pi / 6},
                         {math::acos, -1, pi},     {math::acos, 0, pi / 2},   {math::acos, 1, 0},
                         {math::acos, 0.5, pi / 3}};
  for (const Target& target : runnable())
    for (const auto& [rule, of, angle] : known) {
      std::vector<float> x{of}, y(1);
      Kernel(apply(rule, DType::F32), target)({x.data(), y.data()}, {1});
      EXPECT_EQ(y[0], static_cast<float>(angle)) << of << " on " << target.name;
    }
}

using Rule2 = Expr (*)(Expr, Expr);

template <typename T>
double worst_of_two(Rule2 rule, long double (*truth)(long double, long double), DType type,
                    const Target& target, const std::vector<T>& a, const std::vector<T>& b) {
  Builder build("apply");
  auto x = build.add_buffer(type, false, "x"), y = build.add_buffer(type, false, "y");
  auto out = build.add_buffer(type, true, "out");
  build.vector_for(build.index(0), build.size(Dim::symbol("n")), 16,
                   [&](Expr i) { build.store(out, i, rule(build.load(x, i), build.load(y, i))); });
  Kernel kernel(build.finish(), target);
  std::vector<T> got(a.size());
  kernel({const_cast<T*>(a.data()), const_cast<T*>(b.data()), got.data()}, {static_cast<int64_t>(a.size())});
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    double error = ulps<T>(got[i], truth(a[i], b[i]), false);
    EXPECT_LT(error, 1e9) << a[i] << ", " << b[i] << ": " << got[i] << ", not " << truth(a[i], b[i]);
    worst = std::max(worst, error);
  }
  return worst;
}

template <typename T, typename Word>
void two_arguments(DType type, double pow_bound, double atan2_bound) {
  std::vector<T> a, b, points = edges<T>();
  for (T x : points)
    for (T y : points)
      for (T z : {y, T(2.5)}) a.push_back(x), b.push_back(z);
  std::mt19937_64 random(23);
  std::uniform_real_distribution<double> exponent(-20, 20), unit(-1, 1);
  for (int i = 0; i < 200000; ++i) {
    a.push_back(std::bit_cast<T>(static_cast<Word>(random())));
    b.push_back(std::bit_cast<T>(static_cast<Word>(random())));
    a.push_back(static_cast<T>(std::exp2(exponent(random))));  // for pow: results of all sizes
    b.push_back(static_cast<T>(unit(random) * (sizeof(T) == 4 ? 120 : 1000) /
                               std::max(1.0, std::fabs(std::log2(double(a.back()))))));
  }
  std::vector<T> bases = points;  // the exponents with forms of their own, and their neighbours
  for (int i = 0; i < 5000; ++i) bases.push_back(static_cast<T>(unit(random) * std::exp2(exponent(random))));
  for (T base : bases)
    for (T z : {T(0),   T(0.5),  T(1),   T(2), T(3),  T(-1), T(-0.5), T(-2), T(-3),  T(4),
                T(1.5), T(-1.5), T(2.5), T(5), T(-6), T(12), T(15.5), T(16), T(-16), T(16.5)})
      a.push_back(base), b.push_back(z);
  for (const Target& target : runnable()) {
    double p = worst_of_two<T>(math::pow, std::pow, type, target, a, b);
    double t = worst_of_two<T>(math::atan2, std::atan2, type, target, a, b);
    std::printf("pow %.3f, atan2 %.3f ulp in %s\n", p, t, sizeof(T) == 4 ? "f32" : "f64");
    EXPECT_LE(p, pow_bound);
    EXPECT_LE(t, atan2_bound);
  }
}

TEST(MathUlpOfTwo, Float32) { two_arguments<float, uint32_t>(DType::F32, 2, 2); }
TEST(MathUlpOfTwo, Float64) { two_arguments<double, uint64_t>(DType::F64, 4, 4); }

// What a product was rounded by, with fused multiply-add exactly, and without.
template <typename T, typename Word>
void rests_of_products(DType type) {
  constexpr int digits = std::numeric_limits<T>::digits;
  const std::vector<T> a = samples<T, Word>(1 << 16);
  std::vector<T> b(a.rbegin(), a.rend());
  for (const Target& target : runnable()) {
    Builder build("rest");
    auto x = build.add_buffer(type, false, "x"), y = build.add_buffer(type, false, "y");
    auto out = build.add_buffer(type, true, "out");
    build.vector_for(build.index(0), build.size(Dim::symbol("n")), 16, [&](Expr i) {
      build.store(out, i, math::two_product(build.load(x, i), build.load(y, i)).low);
    });
    Kernel kernel(build.finish(), target);
    std::vector<T> got(a.size());
    kernel({const_cast<T*>(a.data()), b.data(), got.data()}, {static_cast<int64_t>(a.size())});
    int measured = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const T product = a[i] * b[i];
      // Where nothing of it is denormal, and no part overflows.
      if (!(std::fabs(product) < std::numeric_limits<T>::max()) ||
          !(std::fabs(product) > std::ldexp(std::numeric_limits<T>::min(), 2 * digits)) ||
          !(std::min(std::fabs(a[i]), std::fabs(b[i])) > std::ldexp(std::numeric_limits<T>::min(), digits)))
        continue;
      ++measured;
      // The lower halves of two float64 have one bit more than their product can.
      const T off = target.fma || digits == 24 ? 0 : std::ldexp(std::fabs(product), -2 * digits + 3);
      ASSERT_NEAR(got[i], std::fma(a[i], b[i], -product), off)
          << a[i] << " times " << b[i] << " on " << target.name;
    }
    EXPECT_GT(measured, 1 << 14);
  }
}
TEST(MathUlpOfTwo, RestsOfProducts) {
  rests_of_products<float, uint32_t>(DType::F32);
  rests_of_products<double, uint64_t>(DType::F64);
}

INSTANTIATE_TEST_SUITE_P(All, MathUlp, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace ig::codegen::test
