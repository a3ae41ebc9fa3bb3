// Formulas that a kernel has many times are functions of its object: their bits are those of the formulas
// written out, in full groups, in the last one and one by one, with operands that vary, that do not, and that
// are lets; formulas of the same operands share a call; what may not be one is written out.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "llvm_test_util.h"
#include "loop/math_detail.h"

namespace ig::codegen::test {
namespace {

using loop::Builder;
using loop::Expr;
namespace math = loop::math;

constexpr int kTimes = 24;

// What a lowering does: it computes the value and says of what it is a formula.
Expr noted(Builder& b, bool note, Expr value, std::initializer_list<Expr> operands) {
  if (!note) return value;
  loop::Formula formula{value.node(), {}};
  for (Expr operand : operands) formula.operands.push_back(operand.node());
  b.function().formulas.push_back(std::move(formula));
  return value;
}

using Step = std::function<Expr(Builder&, bool note, Expr x, Expr s)>;

// Of each element x and one number s: kTimes steps.
std::unique_ptr<loop::Function> chain(DType type, const Step& step, bool note, int lanes) {
  Builder b("chain");
  const uint32_t in = b.add_buffer(type, false, "in"), number = b.add_buffer(type, false, "number"),
                 out = b.add_buffer(type, true, "out");
  Expr s = b.let(b.load(number, b.index(0))), end = b.size(Dim::symbol("end"));
  b.vector_for(b.index(0), end, lanes, [&](Expr i) {
    Expr x = b.load(in, i);
    for (int k = 0; k < kTimes; ++k) {
      x = step(b, note, x, s) + x * 0.25;
      if (k % 5 == 4) x = b.let(x);
    }
    b.store(out, i, x);
  });
  return b.finish();
}

const std::vector<std::pair<const char*, Step>>& steps() {
  static const std::vector<std::pair<const char*, Step>> all = {
      {"sine", [](Builder& b, bool note, Expr x, Expr) { return noted(b, note, math::sin(x), {x}); }},
      {"tanh", [](Builder& b, bool note, Expr x, Expr) { return noted(b, note, math::tanh(x), {x}); }},
      {"sine and cosine",
       [](Builder& b, bool note, Expr x, Expr) {
         return noted(b, note, math::sin(x), {x}) * noted(b, note, math::cos(x), {x});
       }},
      {"power of one number",
       [](Builder& b, bool note, Expr x, Expr s) {
         Expr a = abs(x) + 0.125;
         return noted(b, note, math::pow(a, s), {a, s});
       }},
      {"formulas of one number alone",
       [](Builder& b, bool note, Expr x, Expr s) { return x * noted(b, note, math::sin(s * 1.5), {s}); }},
  };
  return all;
}

template <typename T>
void same_bits(DType type) {
  std::mt19937 random(11);
  std::uniform_real_distribution<T> some(-2, 2);
  std::vector<T> x(300);
  for (T& v : x) v = some(random);
  x[7] = static_cast<T>(123456.75);  // far out, where sines take their long way
  for (const Target& target : runnable())
    for (const auto& [name, step] : steps())
      for (int lanes : {1, 16, 32}) {
        const Kernel called(chain(type, step, true, lanes), target),
            written(chain(type, step, false, lanes), target);
        for (int64_t count : {0, 1, 31, 32, 33, 300}) {
          std::vector<T> got(x.size(), 1), want(x.size(), 1);
          T number = static_cast<T>(0.75);
          called({x.data(), &number, got.data()}, {count});
          written({x.data(), &number, want.data()}, {count});
          ASSERT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(T)), 0)
              << name << " on " << target.name << ", " << lanes << " lanes, " << count << " elements";
        }
      }
}

size_t calls(const std::string& text, const std::string& of = "formula") {
  const std::string call = "callq\t" + of;
  size_t count = 0;
  for (size_t at = text.find(call); at != std::string::npos; at = text.find(call, at + 1)) ++count;
  return count;
}

TEST(Formulas, FloatsAreThoseWrittenOut) { same_bits<float>(DType::F32); }
TEST(Formulas, DoublesAreThoseWrittenOut) { same_bits<double>(DType::F64); }

// All targets, those too that this machine does not run.
TEST(Formulas, AreCalledWhereTheyAreMany) {
  for (const char* name : {"x86-64-v2", "x86-64-v3", "x86-64-v4"})
    for (size_t k = 0; k < 4; ++k) {
      const auto& [what, step] = steps()[k];
      const std::string text = compile_assembly(*chain(DType::F32, step, true, 32), Target::named(name));
      EXPECT_GE(calls(text), kTimes) << what << " on " << name;
    }
}

TEST(Formulas, HaveTheirCodeOnce) {
  const Target target = Target::named("x86-64-v3");
  const Step& sine = steps()[0].second;
  const std::string called = compile_assembly(*chain(DType::F32, sine, true, 32), target),
                    written = compile_assembly(*chain(DType::F32, sine, false, 32), target);
  EXPECT_EQ(calls(written), 0);
  EXPECT_EQ(calls(written, "rare"), kTimes);  // of a few lanes, out of the way: one function for all
  EXPECT_LT(called.size() * 5, written.size());
}

TEST(Formulas, OfTheSameOperandsShareACall) {
  const Step& step = steps()[2].second;
  const std::string text = compile_assembly(*chain(DType::F32, step, true, 32), Target::named("x86-64-v3"));
  EXPECT_EQ(calls(text), kTimes);  // in full groups as in the last one, which have the same code
}

TEST(Formulas, FewAreWrittenOut) {
  Builder b("few");
  const uint32_t in = b.add_buffer(DType::F32, false, "in"), out = b.add_buffer(DType::F32, true, "out");
  b.vector_for(b.index(0), b.index(64), 32, [&](Expr i) {
    Expr x = b.load(in, i);
    b.store(out, i, noted(b, true, math::exp(x), {x}) + noted(b, true, math::tanh(x), {x}));
  });
  EXPECT_EQ(calls(compile_assembly(*b.finish(), Target::named("x86-64-v3"))), 0);
}

// Divisions of whole numbers trap where the divisor is none, as it may be in lanes that are not there; and a
// formula that reads more than its operands is none.
TEST(Formulas, WhatMayNotBeCalledIsWrittenOut) {
  for (bool divides : {true, false}) {
    Builder b("refused");
    const uint32_t in = b.add_buffer(DType::I32, false, "in"), out = b.add_buffer(DType::I32, true, "out");
    b.vector_for(b.index(0), b.size(Dim::symbol("end")), 32, [&](Expr i) {
      Expr x = b.load(in, i);
      for (int k = 0; k < 40; ++k) {
        Expr y = x;
        for (int part = 0; part < 12; ++part) y = y * (x + part) + (y & x);
        y = divides ? y / x : y + b.load(in, i + k);
        x = noted(b, true, y, {x});
      }
      b.store(out, i, x);
    });
    EXPECT_EQ(calls(compile_assembly(*b.finish(), Target::named("x86-64-v3"))), 0);
  }
}

}  // namespace
}  // namespace ig::codegen::test
