// The text of loop functions, whole, and what the builder folds and the analysis finds.
#include <gtest/gtest.h>

#include <algorithm>

#include "loop/loop.h"
#include "support/error.h"

namespace ig::loop {
namespace {

TEST(LoopPrint, RowSumAsGoldenText) {
  Builder b("row_sum");
  auto x = b.add_buffer(DType::F32, false, "x"), out = b.add_buffer(DType::F32, true, "out");
  auto scratch = b.add_scratch(DType::F32, Dim::symbol("n") * 2, "tmp");
  Expr n = b.size(Dim::symbol("n"));
  auto acc = b.local(DType::F32, 8, 1, "acc");
  b.assign(acc, b.constant(DType::F32, 0));
  b.vector_for(b.index(0), n, 8, [&](Expr i) {
    Expr v = b.load(x, b.block() * n + i);
    b.assign(acc, fma(v, v, b.read(acc)));
  });
  b.fail_if(n == b.index(0), 17, n);
  b.unrolled(0, 2, [&](Expr k) { b.store(scratch, k, b.constant(DType::F32, 0.1)); });
  b.if_then(
      n > b.index(3), [&] { b.store(out, b.block(), b.reduce_lanes(acc, Reduction::Add)); },
      [&] { b.store(out, b.block(), b.load(scratch, b.index(0))); });
  EXPECT_EQ(b.finish()->str(), R"(kernel row_sum(x: f32, out out: f32) sizes n block i0 {
  scratch tmp: f32[2*n]
  local acc0: f32 x8
  acc0 = 0:f32
  vector i1 in 0 .. n by 8 {
    %0 = x[((i0 * n) + i1)]
    acc0 = fma(%0, %0, acc0)
  }
  fail 17 value n if (n == 0)
  unrolled i2 in 0 .. 2 {
    tmp[i2] = 0.1:f32
  }
  if (n > 3) {
    out[i0] = reduce_add(acc0)
  } else {
    out[i0] = tmp[0]
  }
}
)");
}

// Kernels are known by their text, so it tells one that runs once from one of many blocks.
TEST(LoopPrint, OneBlockIsPartOfTheText) {
  Builder b("fill");
  auto out = b.add_buffer(DType::F32, true, "out");
  b.store(out, b.block(), b.constant(DType::F32, 1));
  auto function = b.finish();
  const Hash128 many = function->hash();
  EXPECT_EQ(function->str(), "kernel fill(out out: f32) block i0 {\n  out[i0] = 1:f32\n}\n");
  function->one_block = true;
  EXPECT_EQ(function->str(), "kernel fill(out out: f32) one block i0 {\n  out[i0] = 1:f32\n}\n");
  EXPECT_NE(function->hash(), many);
}

TEST(LoopPrint, TranspositionAsGoldenText) {
  Builder b("turn");
  auto x = b.add_buffer(DType::F32, false, "x"), out = b.add_buffer(DType::F32, true, "out");
  Expr n = b.size(Dim::symbol("n"));
  b.transpose({out, b.block() * n, n}, {x, b.block(), b.index(7)}, n, b.index(5));
  EXPECT_EQ(b.finish()->str(), R"(kernel turn(x: f32, out out: f32) sizes n block i0 {
  out[(i0 * n)] by n = transpose x[i0] by 7, n x 5
}
)");
}

TEST(LoopPrint, PrefetchIsText) {
  Builder b("ahead");
  auto in = b.add_buffer(DType::F32, false, "x");
  b.prefetch(in, b.index(7));
  EXPECT_NE(b.finish()->str().find("  prefetch x[7]\n"), std::string::npos);
}

TEST(LoopPrint, ColumnsAreText) {
  Builder b("columns");
  auto in = b.add_buffer(DType::F32, false, "x");
  auto columns = b.local(DType::F32, 4, 4, "column");
  b.vector_for(b.index(0), b.index(4), 4,
               [&](Expr) { b.load_columns(columns, {in, b.index(7), b.index(20)}, b.index(3)); });
  EXPECT_NE(b.finish()->str().find("    column0 = columns x[7] by 20, 3 rows\n"), std::string::npos);
}

TEST(LoopPrint, LookupsNameTheWholeTable) {
  static const Table halves = {0, 0.5f, 1, 1.5f, 2, 2.5f, 3, 3.5f, 4, 4.5f, 5, 5.5f, 6, 6.5f, 7, 0.1f};
  static const Table same = halves;
  auto make = [](const Table& table) {
    Builder b("look");
    auto in = b.add_buffer(DType::I32, false, "x"), out = b.add_buffer(DType::F32, true, "out");
    b.store(out, b.index(0), lookup(table, b.load(in, b.index(0))));
    return b.finish();
  };
  EXPECT_NE(make(halves)->str().find(
                "out[0] = lookup(x[0], [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 0.1])"),
            std::string::npos);
  EXPECT_EQ(make(halves)->hash(), make(same)->hash());
  Builder b("float");
  EXPECT_THROW(lookup(halves, b.constant(DType::F32, 1)), Error);
}

TEST(LoopBuilder, TranspositionsStandOutsideOfVectorLoops) {
  Builder b("turn");
  auto x = b.add_buffer(DType::F32, false, "x"), out = b.add_buffer(DType::F32, true, "out");
  EXPECT_THROW(b.vector_for(b.index(0), b.index(8), 8,
                            [&](Expr i) {
                              b.transpose({out, i, b.index(8)}, {x, i, b.index(8)}, b.index(8), b.index(8));
                            }),
               Error);
}

TEST(LoopBuilder, FoldsIndexArithmeticAndSharesExpressions) {
  Builder b("f");
  Expr n = b.size(Dim::symbol("n")), zero = b.index(0), one = b.index(1);
  EXPECT_EQ((n * one + zero).node(), n.node());
  EXPECT_EQ((b.index(6) * b.index(7)).node(), b.index(42).node());
  EXPECT_EQ((n + b.index(2) + b.index(3)).node(), (b.index(5) + n).node());
  EXPECT_EQ((n * b.index(2) * b.index(3)).node(), (n * b.index(6)).node());
  EXPECT_EQ((n - n).node(), zero.node());
  EXPECT_EQ(select(b.index(1) < b.index(2), n, zero).node(), n.node());
  EXPECT_EQ((n % one).node(), zero.node());
  Expr x = b.constant(DType::F32, 2);
  EXPECT_NE((x * 1.0).node(), x.node()) << "floating point is left as it was written";
  EXPECT_THROW(n + x, Error);
}

TEST(LoopBuilder, PutsIndicesTogetherThatWereTakenApart) {
  Builder b("f");
  auto out = b.add_buffer(DType::I64, true, "out");
  b.serial_for(b.index(0), b.size(Dim::symbol("n")), [&](Expr i) {
    auto same = [&](Expr made, Expr whole) { EXPECT_EQ(made.node(), whole.node()); };
    Expr half = i / b.index(2), two = b.index(2), rows = b.index(28), all = b.index(56);
    same(i % all / two, half % rows);
    same(i % all % two, i % two);
    same(i / all * all + i % all, i);
    same(i / all * b.index(112) + i % all * two, i * two);
    // By one number, and put together by parts of another.
    same(i / all * all + i % all / two * two, half * two);
    same(i / all * all + (i % all / two * two + b.index(1)), half * two + b.index(1));
    same(half / rows * rows + half % rows, half);
    // In sums of more.
    Expr front = b.block() * b.index(1024);
    same((front + i / all * all) + i % all, front + i);
    same((front + i / all) * all + i % all / two * two, front * all + half * two);
    // What does not fit together stays.
    EXPECT_NE((i / all * b.index(57) + i % all).node(), i.node());
    EXPECT_NE((i / all * all + i % rows).node(), i.node());
    EXPECT_NE((i % b.index(57) / two).node(), (half % rows).node());
    b.store(out, i, front);
  });
  // The quotients are those of C++, which round towards zero: the same below zero.
  for (int64_t i = -300; i < 300; ++i) {
    EXPECT_EQ(i % 56 / 2, i / 2 % 28);
    EXPECT_EQ(i % 56 % 2, i % 2);
    EXPECT_EQ(i / 56 * 56 + i % 56 / 2 * 2, i / 2 * 2);
  }
}

TEST(LoopBuilder, SizesThatAreCombinedAreOne) {
  Dim n = Dim::symbol("n"), m = Dim::symbol("m"), k = Dim::symbol("k");
  auto make = [](const Dim& rows, const Dim& columns) {
    Builder b("rows");
    auto out = b.add_buffer(DType::F32, true, "out");
    b.serial_for(b.index(0), b.size(ceildiv(rows, Dim(int64_t{4}))),
                 [&](Expr i) { b.store(out, i * b.size(columns), b.constant(DType::F32, 1)); });
    return b.finish();
  };
  auto matrix = make(n, m), cube = make(n * k, m);
  EXPECT_EQ(matrix->hash(), cube->hash()) << cube->str();
  EXPECT_EQ(cube->sizes, (std::vector<std::string>{(n * k).str(), "m"}));
}

TEST(LoopBuilder, SizesThatNobodyAsksForAreNoParameters) {
  Builder b("flat");
  auto out = b.add_buffer(DType::I64, true, "out");
  Expr rows = b.size(Dim::symbol("rows")), columns = b.size(Dim::symbol("columns"));
  b.serial_for(b.index(0), rows, [&](Expr i) {
    // An index taken apart, and put together again.
    Expr whole = i / columns * columns + i % columns;
    EXPECT_EQ(whole.node(), i.node());
    b.store(out, whole, i);
  });
  EXPECT_EQ(b.finish()->sizes, std::vector<std::string>{"rows"});
}

TEST(LoopBuilder, NamesDoNotChangeTheHash) {
  auto make = [](std::string name, double c) {
    Builder b(name);
    auto out = b.add_buffer(DType::F64, true, name + "_out");
    b.store(out, b.size(Dim::symbol(name + "_n")), b.constant(DType::F64, c));
    return b.finish()->hash();
  };
  EXPECT_EQ(make("a", 1), make("b", 1));
  EXPECT_NE(make("a", 1), make("a", 2));
  EXPECT_NE(make("a", 0.0), make("a", -0.0));
}

TEST(LoopAnalysis, Strides) {
  Builder b("f");
  auto buffer = b.add_buffer(DType::I64, false, "x");
  Expr n = b.size(Dim::symbol("n"));
  b.serial_for(b.index(0), n, [&](Expr i) {
    uint32_t var = i->id;
    EXPECT_EQ(stride_in(i, var), 1);
    EXPECT_EQ(stride_in(n * n, var), 0);
    EXPECT_EQ(stride_in(i * b.index(3) - i + n, var), 2);
    EXPECT_EQ(stride_in(b.let(-i), var), -1);
    EXPECT_EQ(stride_in(i * n, var), std::nullopt);
    EXPECT_EQ(stride_in(b.load(buffer, i), var), std::nullopt);
    EXPECT_FALSE(depends_on(b.load(buffer, n), var));
    EXPECT_TRUE(depends_on(i / b.index(2), var));
  });
}

TEST(LoopAnalysis, ComparisonsTurn) {
  Builder b("f");
  auto out = b.add_buffer(DType::I64, true, "out");
  Expr n = b.size(Dim::symbol("n"));
  uint32_t column = 0;
  b.vector_for(b.index(0), b.index(100), 8, [&](Expr i) {
    column = i->id;
    auto count = [&](Expr condition) { return loop::select(condition, b.index(1), b.index(0)); };
    Expr sum = count(i - 3 < b.index(10));          // from 13 on no more
    sum = sum + count(b.index(20) < i + 1);         // from 20 on
    sum = sum + count((i + 2) - 1 >= b.index(31));  // from 30 on
    sum = sum + count(i <= b.index(39));            // from 40 on no more
    sum = sum + count(i == b.index(50));            // from 50 on, and from 51 on no more
    sum = sum + count(i * 2 + 1 < b.index(120)) + count(i * 4 == b.index(241));  // from 60 on no more; never
    sum = sum + count(b.index(131) - i * 2 < b.index(0)) + count(i * 3 < i + 140);  // from 66 on; from 70 on
    Expr held = loop::greater(loop::lesser(i, b.index(90)),
                              b.index(0));        // where it is held: 91 (it is never below 0)
    sum = sum + count(held * 2 <= b.index(150));  // from 76 on no more
    sum = sum + count(i < n) + count(i % b.index(3) == b.index(0));
    b.store(out, i, sum);
  });
  std::vector<int64_t> turns = loop::turns_of_comparisons(b.function(), column);
  std::ranges::sort(turns);
  EXPECT_EQ(turns, (std::vector<int64_t>{13, 20, 30, 40, 50, 51, 60, 66, 70, 76, 91}));
}

TEST(LoopAnalysis, ComparisonsOfQuotientsTurn) {
  Builder b("f");
  auto out = b.add_buffer(DType::I64, true, "out");
  uint32_t column = 0;
  b.vector_for(b.index(0), b.index(300), 8, [&](Expr i) {
    column = i->id;
    auto count = [&](Expr condition) { return loop::select(condition, b.index(1), b.index(0)); };
    Expr pixel = i / b.index(3);
    Expr sum = count(pixel - 1 < b.index(2));             // from 9 on no more
    sum = sum + count(b.index(7) < pixel + 1);            // from 21 on
    sum = sum + count((pixel + 2) - 1 >= b.index(9));     // from 24 on
    sum = sum + count(b.index(10) >= pixel);              // from 33 on no more
    sum = sum + count(pixel == b.index(20));              // from 60 on, and from 63 on no more
    sum = sum + count(pixel / b.index(10) > b.index(2));  // from 90 on
    sum = sum + count(pixel * 2 < b.index(100)) + count(pixel < i) + count(i % b.index(3) < b.index(1));
    b.store(out, i, sum);
  });
  std::vector<int64_t> turns = loop::turns_of_comparisons(b.function(), column);
  std::ranges::sort(turns);
  EXPECT_EQ(turns, (std::vector<int64_t>{9, 21, 24, 33, 60, 63, 90}));
}

TEST(LoopAnalysis, ComparisonsOfQuotientsAreDecidedByRanges) {
  Builder b("f");
  auto out = b.add_buffer(DType::Bool, true, "out");
  auto decided = [](Expr e) { return e->op == Op::Const ? std::optional(e->bits[0] != 0) : std::nullopt; };
  b.vector_for(b.index(6), b.index(21), 8, [&](Expr i) {
    Expr pixel = i / b.index(3), colour = i % b.index(3), n = b.size(Dim::symbol("n"));
    EXPECT_EQ(decided(pixel >= b.index(2)), true);
    EXPECT_EQ(decided(pixel > b.index(6)), false);
    EXPECT_EQ(decided(pixel < b.index(6)), std::nullopt);
    EXPECT_EQ(decided(colour < b.index(3)), true);
    EXPECT_EQ(decided(colour >= b.index(2)), std::nullopt);
    EXPECT_EQ(decided(i % b.index(30) > b.index(5)), true);
    EXPECT_EQ(decided((i - 7) / b.index(3) >= b.index(0)), std::nullopt);  // it may be below zero
    EXPECT_EQ(decided(i / n >= b.index(0)), std::nullopt);
    b.store(out, i, pixel < b.index(6));
  });
}

}  // namespace
}  // namespace ig::loop
