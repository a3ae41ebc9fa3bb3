// The control flow of include/intaglio/control.h: eager and compiled, its derivatives and batches, and its
// errors.
#include <gtest/gtest.h>

#include <cmath>

#include "intaglio/control.h"

namespace ig {
namespace {

std::vector<double> numbers(const Array& x) {
  if (x.dtype() == DType::I64) {
    std::vector<int64_t> values = x.values<int64_t>();
    return {values.begin(), values.end()};
  }
  return x.values<double>();
}
void expect_near(const Array& x, std::vector<double> wanted, double within = 1e-9) {
  std::vector<double> have = numbers(x);
  ASSERT_EQ(have.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(have[i], wanted[i], within) << "element " << i;
}
// The function as it stands, and jitted, give the same.
template <typename F>
void expect_both(const F& f, const Array& x, std::vector<double> wanted) {
  expect_near(f(x), wanted);
  expect_near(jit(f)(x), wanted);
}
// The whole text of an error; the number of its line, which moves, is LINE.
template <typename F>
std::string message_of(const F& function) {
  try {
    function();
  } catch (const Error& error) {
    std::string text = error.what();
    size_t at = text.find("cpp_control_test.cpp:");
    if (at == text.npos) return text;
    size_t digits = at + std::string("cpp_control_test.cpp:").size(), end = digits;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
    return text.replace(digits, end - digits, "LINE");
  }
  return "nothing was thrown";
}

const Array kX = array({1.0, 2.0, 3.0});

Array twice_or_back(Array x) {
  return cond(sum(x) > 0.0, [](Array v) { return v * 2.0; }, [](Array v) { return -v; }, x);
}
Array root_of(Array a) {
  auto going = [=](Array r) { return abs(r * r - a) > 1e-12 * a; };
  auto step = [=](Array r) { return (r + a / r) * 0.5; };
  return while_loop(going, step, a);
}
std::pair<Array, Array> leaky(Array decay, Array xs) {
  auto step = [=](Array carried, Array x) {
    Array next = carried * decay + x;
    return std::pair(next, next * next);
  };
  return scan(step, scalar(0.0), xs);
}

TEST(CppControl, Cond) {
  expect_both(twice_or_back, kX, {2, 4, 6});
  expect_both(twice_or_back, -kX, {1, 2, 3});
  // A branch runs alone: the other one may be wrong for these arguments.
  int runs = 0;
  auto count = [&](Array v) {
    ++runs;
    return v;
  };
  cond(scalar(0) > 1, count, [](Array v) { return v + 1.0; }, kX);
  EXPECT_EQ(runs, 0);
  // What a branch reads from around it is an operand of the node; trees come and go.
  using Pair = std::pair<Array, std::vector<Array>>;
  auto reads = jit([](Array flag, Array x) {
    auto yes = [=](Pair p) { return Pair(p.first + x, {p.second[0] * 2.0}); };
    auto no = [](Pair p) { return p; };
    Pair out = cond(flag, yes, no, Pair(x, {x}));
    return std::vector<Array>{out.first, out.second[0]};
  });
  std::vector<Array> on = reads(scalar(1), kX), off = reads(scalar(0), kX);
  expect_near(on[0], {2, 4, 6});
  expect_near(on[1], {2, 4, 6});
  expect_near(off[1], {1, 2, 3});
}

TEST(CppControl, Switch) {
  auto power = [](Array n, Array x) {
    return switch_(n,
                   std::tuple([](Array v) { return v * 0.0 + 1.0; }, [](Array v) { return v; },
                              [](Array v) { return v * v; }),
                   x);
  };
  auto compiled = jit(power);
  std::vector<double> wanted[] = {{1, 1, 1}, {1, 1, 1}, {1, 2, 3}, {1, 4, 9}, {1, 4, 9}};
  for (int n = -1; n < 4; ++n) {
    expect_near(power(scalar(n), kX), wanted[n + 1]);
    expect_near(compiled(scalar(n), kX), wanted[n + 1]);
  }
  EXPECT_EQ(compiled.traces(), 1u);
  std::vector<std::function<Array(Array)>> listed{[](Array v) { return v + 1.0; },
                                                  [](Array v) { return v - 1.0; }};
  expect_near(switch_(scalar(1), listed, kX), {0, 1, 2});
}

TEST(CppControl, WhileLoop) {
  expect_both(root_of, scalar(2.0), {std::sqrt(2.0)});
  auto compiled = jit([](Array n) {
    using Carry = std::tuple<Array, Array>;
    auto going = [](Carry c) { return std::get<0>(c) != 1; };
    auto step = [](Carry c) {
      auto [n, count] = c;
      Array next = cond(n > 3.0, [](Array v) { return v - 2.0; }, [](Array v) { return v - 1.0; }, n);
      return Carry(next, count + 1);
    };
    return std::get<1>(while_loop(going, step, Carry(n, n * 0)));
  });
  expect_near(compiled(scalar(7.0)), {4});  // 7, 5, 3, 2, 1
}

TEST(CppControl, ScanStacksAndGoesBack) {
  auto [last, squares] = leaky(scalar(0.5), kX);
  expect_near(last, {4.25});
  expect_near(squares, {1, 6.25, 18.0625});
  auto compiled = jit([](Array decay, Array xs) {
    auto [last, squares] = leaky(decay, xs);
    return std::vector<Array>{last, squares};
  });
  expect_near(compiled(scalar(0.5), kX)[1], {1, 6.25, 18.0625});
  auto back = [](Array xs) {
    auto step = [](Array sum, Array x) { return std::pair(sum + x, sum); };
    return scan(step, scalar(0.0), xs, {.reverse = true}).second;
  };
  expect_both(back, kX, {5, 3, 0});
  auto empty =
      scan([](Array c, Array x) { return std::pair(c + x, x); }, scalar(1.0), array(std::vector<double>{}));
  expect_near(empty.first, {1});
  EXPECT_EQ(empty.second.shape(), Dims{Dim(int64_t{0})});
}

TEST(CppControl, ForiLoopAndMap) {
  auto factorial = [](Array one) { return fori_loop(1, 6, [](Array i, Array p) { return p * i; }, one); };
  expect_both(factorial, scalar(int64_t{1}), {120});
  auto until = [](Array n) {
    return fori_loop(scalar(0), n, [](Array i, Array sum) { return sum + i; }, scalar(int64_t{0}));
  };
  expect_both(until, scalar(5), {10});
  expect_near(fori_loop(3, 1, [](Array, Array v) { return v * 2.0; }, scalar(1.0)), {1});
  auto lengths = [](Array rows) { return map([](Array row) { return sum(row * row); }, rows); };
  expect_both(lengths, array({3.0, 4.0, 6.0, 8.0}, {2, 2}), {25, 100});
}

TEST(CppControl, Derivatives) {
  expect_near(grad([](Array x) { return sum(twice_or_back(x) * x); })(kX), {4, 8, 12});
  auto branched = [](Array x) { return sum(twice_or_back(x)); };
  expect_near(jit([=](Array x) { return grad(branched)(x); })(-kX), {-1, -1, -1});
  // Reverse and forward mode through a loop whose number of steps is not known.
  expect_near(grad(root_of)(scalar(2.0)), {0.5 / std::sqrt(2.0)}, 1e-6);
  auto [value, slope] =
      jvp([](Array a) { return root_of(a); }, std::tuple(scalar(2.0)), std::tuple(scalar(1.0)));
  expect_near(slope, {0.5 / std::sqrt(2.0)}, 1e-6);
  auto end = [](Array decay) { return leaky(decay, kX).first; };  // d² + 2 d + 3
  expect_near(grad(end)(scalar(0.5)), {3});
  auto slope_of = [=](Array decay) { return grad(end)(decay); };
  expect_near(jit([=](Array decay) { return grad(slope_of)(decay); })(scalar(0.5)), {2});
  auto sums = [](Array xs) { return sum(leaky(scalar(0.5), xs).second); };
  expect_near(grad(sums)(kX), {2 + 2.5 + 2.125, 5 + 4.25, 8.5});
  auto powers = [](Array x) { return fori_loop(0, 3, [=](Array, Array v) { return v * x; }, scalar(1.0)); };
  expect_near(grad(powers)(scalar(2.0)), {12});
  expect_near(
      hessian([](Array x) { return sum(map([](Array v) { return v * v * v; }, x)); })(array({1.0, 2.0})),
      {6, 0, 0, 12});
}

TEST(CppControl, UnderVmap) {
  expect_near(vmap(root_of)(array({1.0, 4.0, 9.0})), {1, 2, 3});
  expect_near(vmap(twice_or_back)(array({1.0, 2.0, -3.0, -4.0}, {2, 2})), {2, 4, 3, 4});
  auto total = [](Array row) { return leaky(scalar(1.0), row).first; };
  expect_near(jit([=](Array rows) { return vmap(total)(rows); })(array({1.0, 2.0, 3.0, 4.0}, {2, 2})),
              {3, 7});
}

TEST(CppControl, GraphsHoldOneNode) {
  record::Traced traced =
      trace([](Array x) { return fori_loop(0, 1000, [](Array, Array v) { return v + v; }, x); },
            {{Type::tensor(DType::F64, {Dim(int64_t{3})}), "x"}});
  std::string text = traced.graph->str();
  EXPECT_NE(text.find("scan("), text.npos) << text;
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 20);
}

TEST(CppControl, Refused) {
  auto same = [](Array v) { return v; };
  EXPECT_EQ(message_of([&] { cond(kX > 0.0, same, same, kX); }),
            "cond: the predicate is bool[3], but one value decides\n"
            "  at: cpp_control_test.cpp:LINE\n"
            "  why: a branch or step is taken as a whole; there is none for each element\n"
            "  hint: reduce it with ig::call(\"any\", …), or choose element by element with ig::where");
  auto branches = jit([&](Array x) { return cond(sum(x) > 0.0, same, [](Array v) { return sum(v); }, x); });
  EXPECT_EQ(message_of([&] { branches(kX); }),
            "cond: what false_fun gives, 0 is f64[], but f64[3] is needed\n"
            "  at: cpp_control_test.cpp:LINE\n"
            "  why: which branch runs is known only when the graph runs, and nothing is converted between "
            "branches\n"
            "  hint: convert with ig::call(\"astype\", …), or broadcast, so that both have one type");
  EXPECT_EQ(message_of([&] { switch_(scalar(1.0), std::tuple(same, same), kX); }),
            "switch_: the index is f64[], but must be an integer\n"
            "  at: cpp_control_test.cpp:LINE\n"
            "  why: it counts the branches from 0\n"
            "  hint: convert it with ig::call(\"astype\", …), or use ig::cond");
  EXPECT_EQ(message_of([&] { switch_(scalar(1), std::vector<std::function<Array(Array)>>{}, kX); }),
            "switch_: there is no branch\n"
            "  at: cpp_control_test.cpp:LINE\n"
            "  why: the list of branches is empty\n"
            "  hint: give at least one function");
  auto grows = [](Array x) {
    return while_loop([](Array v) { return sum(v) < 10.0; }, [](Array v) { return sum(v); }, x);
  };
  const std::string carried =
      "while_loop: what the body gives, 0 is f64[], but f64[3] is needed\n"
      "  at: cpp_control_test.cpp:LINE\n"
      "  why: each step begins with what the one before gave\n"
      "  hint: convert with ig::call(\"astype\", …), or broadcast, so that both have one type";
  EXPECT_EQ(message_of([&] { grows(kX); }), carried);
  EXPECT_EQ(message_of([&] { jit(grows)(kX); }), carried);
  auto add = [](Array c, Array x) { return std::pair(c + x, x); };
  EXPECT_EQ(message_of([&] { scan(add, kX, scalar(1.0)); }),
            "scan: array 0 of xs is a scalar, and has no axis to scan over\n"
            "  at: cpp_control_test.cpp:LINE\n"
            "  why: each step takes a slice of the first axis\n"
            "  hint: read it in the body instead, or give it an axis");
  EXPECT_EQ(message_of([&] { scan(add, scalar(0.0), kX, {.length = 4}); }),
            "scan: the first sizes differ: 4 and 3\n"
            "  at: cpp_control_test.cpp:LINE\n"
            "  why: each step takes one slice of each array\n"
            "  hint: all arrays of xs, and the length, must agree");
  auto alone = [](Array c, std::tuple<> none) { return std::pair(c, none); };
  EXPECT_EQ(message_of([&] { scan(alone, scalar(0.0), std::tuple<>()); }),
            "scan: the number of steps is not known\n"
            "  at: cpp_control_test.cpp:LINE\n"
            "  why: there is nothing to scan over, and no length\n"
            "  hint: give {.length = n}");
}

}  // namespace
}  // namespace ig
