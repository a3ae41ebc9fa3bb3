// What expressions can be: named cases, and random expressions whose values never leave their ranges, nor
// differ from what a comparison was decided to be.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "loop/ranges.h"

namespace ig::loop {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Fixture {
  explicit Fixture(DType type = DType::F32) : in(b.add_buffer(type, false, "in")), x(load(0)), y(load(1)) {}
  Expr load(int64_t i) { return b.load(in, b.index(i)); }
  FloatRange range(Expr e) { return ranges.of_float(e); }

  Builder b{"test"};
  uint32_t in;
  Expr x, y;
  Ranges ranges;
};

void expect_range(const FloatRange& got, double low, double high, bool nan) {
  EXPECT_EQ(got.low, low);
  EXPECT_EQ(got.high, high);
  EXPECT_EQ(got.nan, nan);
}

TEST(Ranges, OfWhatIsLoadedNothingIsKnown) {
  Fixture f;
  expect_range(f.range(f.x), -kInfinity, kInfinity, true);
  expect_range(f.range(f.x + 1.0), -kInfinity, kInfinity, true);
}

TEST(Ranges, ChoicesAreBoundedByWhatTheyAsk) {
  Fixture f;
  Expr zero = f.b.constant(DType::F32, 0);
  Expr relu = select(zero > f.x, zero, f.x);
  expect_range(f.range(relu), 0, kInfinity, true);  // NaN stays
  expect_range(f.range(select(f.x > zero, f.x, zero)), 0, kInfinity, false);
  Expr clamped = select(relu > 6.0, f.b.constant(DType::F32, 6), relu);
  expect_range(f.range(clamped), 0, 6, true);
  expect_range(f.range(f.b.let(clamped)), 0, 6, true);
  // Where the bound may be NaN, the choice says nothing.
  expect_range(f.range(select(f.y > f.x, zero, f.x)), -kInfinity, kInfinity, true);
}

TEST(Ranges, SignsOfSquaresRootsAndMagnitudes) {
  Fixture f;
  EXPECT_EQ(f.range(f.x * f.x).low, 0);
  EXPECT_EQ(f.range(abs(f.x) + 1.0).low, std::nextafter(1.0f, 0.0f));
  EXPECT_EQ(f.range(-abs(f.x)).high, 0);
  EXPECT_EQ(f.range(sqrt(f.x)).low, 0);
  EXPECT_EQ(f.range(sqrt(abs(f.x))).low, 0);
  expect_range(f.range(convert(convert(f.x, DType::U8), DType::F32)), 0, std::nextafter(256.0f, 1e9f), false);
}

TEST(Ranges, DenormalsMayBeZero) {
  Fixture f;
  const FloatRange tiny = f.range(f.b.constant(DType::F32, 1e-40));
  expect_range(tiny, 0, FLT_MIN, false);
  EXPECT_FALSE(f.ranges.decided(Op::Gt, f.b.constant(DType::F32, 1e-40), f.b.constant(DType::F32, 0)));
}

// Comparisons are false where one side is NaN, but for Ne, so that NaN leaves only some of them undecided.
TEST(Ranges, ComparisonsThatAreDecided) {
  Fixture f;
  Expr a = abs(f.x), low = f.b.constant(DType::F32, -87), same = f.b.constant(DType::F32, 0);
  EXPECT_EQ(f.ranges.decided(Op::Lt, a, low), std::optional(false));
  EXPECT_EQ(f.ranges.decided(Op::Gt, low, a), std::optional(false));
  EXPECT_EQ(f.ranges.decided(Op::Eq, a, low), std::optional(false));
  EXPECT_EQ(f.ranges.decided(Op::Ne, a, low), std::optional(true));
  EXPECT_EQ(f.ranges.decided(Op::Gt, a, low), std::nullopt);  // NaN is not
  EXPECT_EQ(f.ranges.decided(Op::Lt, a, same), std::optional(false));
  EXPECT_EQ(f.ranges.decided(Op::Le, a, same), std::nullopt);
  EXPECT_EQ(f.ranges.decided(Op::Ne, f.x, f.x), std::nullopt);
  EXPECT_EQ(f.ranges.decided(Op::Eq, same, f.b.constant(DType::F32, -0.0)), std::optional(true));
  EXPECT_EQ(f.ranges.decided(Op::Ne, low, low), std::optional(false));
  Expr number = select(f.x > 0.0, f.x, same);
  EXPECT_EQ(f.ranges.decided(Op::Ge, number, low), std::optional(true));
}

// Behind a maximum with zero the logistic function has no branch for what lies far below, and no zero is
// added whose sign is lost.
TEST(Ranges, TheLogisticFunctionAboveZeroHasOneBranchLess) {
  auto count = [](bool positive, std::string_view part) {
    Builder b("f");
    const uint32_t in = b.add_buffer(DType::F32, false, "in"), out = b.add_buffer(DType::F32, true, "out");
    b.vector_for(b.index(0), b.index(64), 32, [&](Expr i) {
      Expr x = b.let(b.load(in, i)), zero = b.constant(DType::F32, 0);
      Expr y = b.let(select(zero > x, zero, x) + 0.0);
      b.store(out, i, math::logistic((positive ? y : x) - 0.5));
    });
    const std::string text = b.finish()->str();
    int found = 0;
    for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  EXPECT_GT(count(false, " < "), count(true, " < "));
  EXPECT_EQ(count(true, " < "), 0);
}

TEST(Ranges, AZeroIsDroppedWhereItsSignIsLost) {
  Fixture f;
  Expr positive = f.b.let(f.x + 0.0);  // -0 becomes 0
  EXPECT_EQ((positive - 0.5)->a.node(), f.x.node());
  EXPECT_EQ((positive + 0.5)->a.node(), f.x.node());
  EXPECT_EQ((positive + 0.0)->a.node(), positive.node());
  EXPECT_EQ((positive + 1e-40)->a.node(), positive.node());  // may be flushed
  EXPECT_EQ((positive + f.y)->a.node(), positive.node());
  EXPECT_EQ((positive * 0.5)->a.node(), positive.node());
  EXPECT_EQ(((f.x + -0.0) - 0.5)->a->op, Op::Add);
}

// A random expression over two numbers, and its value by the processor's own arithmetic.
template <typename T>
struct Random {
  static constexpr DType kType = sizeof(T) == 4 ? DType::F32 : DType::F64;

  Fixture f{kType};
  std::vector<Expr> all{f.x, f.y};
  std::mt19937_64 random;
  explicit Random(uint64_t seed) : random(seed) {
    for (double c : {0.0, -0.5, 1.0, 3.0, -87.0, 1e30, 1e-30}) all.push_back(f.b.constant(kType, c));
    while (all.size() < 40) all.push_back(next());
  }
  Expr any() { return all[random() % all.size()]; }
  Expr comparison() {
    Expr a = any(), b = any();
    switch (random() % 6) {
      case 0: return a < b;
      case 1: return a <= b;
      case 2: return a > b;
      case 3: return a >= b;
      case 4: return a == b;
      default: return a != b;
    }
  }
  Expr next() {
    Expr a = any(), b = any();
    switch (random() % 13) {
      case 0: return a + b;
      case 1: return a - b;
      case 2: return a * b;
      case 3: return a / b;
      case 4: return a * a;
      case 5: return -a;
      case 6: return abs(a);
      case 7: return sqrt(a);
      case 8: return fma(a, b, any());
      case 9: return select(a > b, a, b);
      case 10: return select(b < a, b, a);
      case 11: return f.b.let(a);
      default: return select(comparison(), any(), any());
    }
  }

  bool holds(const ExprNode* e, const std::array<T, 2>& in) {
    if (e->op == Op::Const) return e->bits[0] != 0;
    const T a = value(e->a.node(), in), b = value(e->b.node(), in);
    switch (e->op) {
      case Op::Lt: return a < b;
      case Op::Le: return a <= b;
      case Op::Gt: return a > b;
      case Op::Ge: return a >= b;
      case Op::Eq: return a == b;
      default: return a != b;
    }
  }
  T value(const ExprNode* e, const std::array<T, 2>& in) {
    auto part = [&](const Expr& x) { return value(x.node(), in); };
    switch (e->op) {
      case Op::Const:
        if constexpr (sizeof(T) == 4)
          return std::bit_cast<T>(static_cast<uint32_t>(e->bits[0]));
        else
          return std::bit_cast<T>(e->bits[0]);
      case Op::Load: return in.at(e->a->bits[0]);
      case Op::Var: return part(e->a);
      case Op::Add: return part(e->a) + part(e->b);
      case Op::Sub: return part(e->a) - part(e->b);
      case Op::Mul: return part(e->a) * part(e->b);
      case Op::Div: return part(e->a) / part(e->b);
      case Op::Neg: return -part(e->a);
      case Op::Abs: return std::abs(part(e->a));
      case Op::Sqrt: return std::sqrt(part(e->a));
      case Op::Fma: return std::fma(part(e->a), part(e->b), part(e->c));
      case Op::Select: return holds(e->a.node(), in) ? part(e->b) : part(e->c);
      default: ADD_FAILURE() << "no value of operation " << static_cast<int>(e->op); return 0;
    }
  }
  T some() {
    constexpr T kLimits[] = {0,
                             T(-0.0),
                             1,
                             -1,
                             std::numeric_limits<T>::infinity(),
                             -std::numeric_limits<T>::infinity(),
                             std::numeric_limits<T>::quiet_NaN(),
                             std::numeric_limits<T>::max(),
                             std::numeric_limits<T>::min(),
                             std::numeric_limits<T>::denorm_min()};
    if (random() % 3 == 0) return kLimits[random() % std::size(kLimits)];
    std::normal_distribution<T> near(0, 1);
    return near(random) * std::pow(T(10), std::uniform_int_distribution<int>(-20, 20)(random));
  }

  void check() {
    // The comparison is made by other nodes than those that the builder has decided.
    for (int turn = 0; turn < 40; ++turn) {
      const std::array<T, 2> in{some(), some()};
      for (const Expr& e : all) {
        const T got = value(e.node(), in);
        const FloatRange range = f.range(e);
        const bool inside = std::isnan(got) ? range.nan : got >= range.low && got <= range.high;
        ASSERT_TRUE(inside) << got << " is outside of " << range.low << " to " << range.high << " of "
                            << in[0] << " and " << in[1];
      }
      for (int i = 0; i < 10; ++i) {
        const Expr a = any(), b = any();
        const T x = value(a.node(), in), y = value(b.node(), in);
        const std::pair<Op, bool> truths[] = {{Op::Lt, x < y},  {Op::Le, x <= y}, {Op::Gt, x > y},
                                              {Op::Ge, x >= y}, {Op::Eq, x == y}, {Op::Ne, x != y}};
        for (auto [op, truth] : truths)
          ASSERT_EQ(f.ranges.decided(op, a, b).value_or(truth), truth) << x << " and " << y;
      }
    }
  }
};

TEST(Ranges, RandomExpressionsStayInside) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random<float>(seed).check();
    Random<double>(seed).check();
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace ig::loop
