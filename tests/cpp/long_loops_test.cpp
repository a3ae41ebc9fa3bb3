// Vector loops that compute much for an element: they have fewer lanes where nothing hangs on how many, their
// code is there once, masked, and the bits are those of one element at a time, between pages that may not be
// touched. And float16, whose comparisons stay in vectors.
#include "codegen/long_loops.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "llvm_test_util.h"

namespace ig::codegen::test {
namespace {

using loop::Builder;
using loop::Expr;

const Target& v3() {
  static const Target target = Target::named("x86-64-v3");
  return target;
}

// About so many operations on x.
Expr much(Builder& b, Expr x, int operations) {
  Expr y = x;
  for (int i = 0; i < operations / 4; ++i) y = (y * x + (0.5 + i)) * (1.0 / (1 + i)) - x;
  return b.let(y);
}

std::unique_ptr<loop::Function> plain(DType type, int operations, int lanes) {
  Builder b("plain");
  const uint32_t in = b.add_buffer(type, false, "in"), out = b.add_buffer(type, true, "out");
  b.vector_for(b.index(0), b.size(Dim::symbol("end")), lanes,
               [&](Expr i) { b.store(out, i, much(b, b.load(in, i), operations)); });
  return b.finish();
}

const loop::Stmt& last_loop(const loop::Function& f) { return *f.body.back(); }

TEST(LongLoops, HaveFewerLanes) {
  struct Case {
    DType type;
    int operations, lanes, want;
  };
  // Lanes of a register: 8 of float32, 4 of float64.
  for (const Case& c :
       {Case{DType::F32, 100, 32, 32}, Case{DType::F32, 480, 32, 32}, Case{DType::F32, 2000, 32, 16},
        Case{DType::F32, 8000, 32, 16}, Case{DType::F32, 8000, 8, 8}, Case{DType::F64, 8000, 16, 8},
        Case{DType::F64, 800, 32, 16}, Case{DType::F64, 200, 32, 16}}) {
    auto f = plain(c.type, c.operations, c.lanes);
    narrow_long_loops(*f, v3());
    EXPECT_EQ(last_loop(*f).lanes, c.want) << c.operations << " operations";
  }
}

TEST(LongLoops, TakeTheirOwnLocalsAlong) {
  Builder b("own");
  const uint32_t in = b.add_buffer(DType::F32, false, "in"), out = b.add_buffer(DType::F32, true, "out");
  b.vector_for(b.index(0), b.index(100), 32, [&](Expr i) {
    b.store(out, i, b.fold(b.index(9), b.load(in, i), [&](Expr, Expr sum) { return much(b, sum, 2000); }));
  });
  auto f = b.finish();
  narrow_long_loops(*f, v3());
  EXPECT_EQ(last_loop(*f).lanes, 16);
  EXPECT_EQ(f->locals[0].lanes, 16);
}

// What lanes hold from one loop to the next, or give together, has the lanes that it had.
TEST(LongLoops, LeaveLanesThatOthersRead) {
  Builder b("folded");
  const uint32_t in = b.add_buffer(DType::F32, false, "in"), out = b.add_buffer(DType::F32, true, "out");
  const uint32_t sum = b.local(DType::F32, 32, 1, "sum");
  b.assign(sum, b.constant(DType::F32, 0));
  b.vector_for(b.index(0), b.index(96), 32,
               [&](Expr i) { b.assign(sum, b.read(sum) + much(b, b.load(in, i), 2000)); });
  b.store(out, b.index(0), b.reduce_lanes(sum, loop::Reduction::Add));
  auto f = b.finish();
  narrow_long_loops(*f, v3());
  EXPECT_EQ(f->body[1]->lanes, 32);
  EXPECT_EQ(f->locals[sum].lanes, 32);
}

size_t lines(const std::string& text) { return static_cast<size_t>(std::ranges::count(text, '\n')); }

TEST(LongLoops, HaveTheirCodeOnce) {
  for (const char* name : {"x86-64-v3", "x86-64-v4"}) {
    const Target target = Target::named(name);
    auto size = [&](int operations) {
      return lines(compile_assembly(*plain(DType::F32, operations, 32), target));
    };
    EXPECT_LT(size(440), size(360)) << name;  // of 360 there is some of it twice
  }
}

TEST(LongLoops, RestsAreOneRegisterAtATime) {
  for (const char* name : {"x86-64-v3", "x86-64-v4"}) {
    const Target target = Target::named(name);
    auto size = [&](Dim count) {
      Builder b("rest");
      const uint32_t in = b.add_buffer(DType::F32, false, "in"), out = b.add_buffer(DType::F32, true, "out");
      b.vector_for(b.index(0), b.size(count), 64,
                   [&](Expr i) { b.store(out, i, much(b, b.load(in, i), 100)); });
      return lines(compile_assembly(*b.finish(), target));
    };
    const size_t groups = size(Dim(640)), any = size(Dim::symbol("end"));
    EXPECT_LT(any, groups + groups / 2) << name;
  }
}

// Where a group begins is told by how many elements lie between two of them, which in the rest are fewer.
TEST(LongLoops, PlacesInARestAreThoseOfItsGroups) {
  auto places = [](int lanes) {
    Builder b("places");
    const uint32_t out = b.add_buffer(DType::I64, true, "out");
    b.vector_for(b.index(0), b.size(Dim::symbol("end")), lanes, [&](Expr i) {
      Expr block = i / b.index(32), within = i % b.index(32);
      Expr at = block * 7 + within + i / b.index(48) + i % b.index(16);
      for (int k = 0; k < 12; ++k) at = at * block + within * k;
      b.store(out, i, at);
    });
    return b.finish();
  };
  for (const Target& target : runnable()) {
    const Kernel one(places(1), target), group(places(32), target);
    for (int64_t count = 0; count < 200; ++count) {
      std::vector<int64_t> want(static_cast<size_t>(count)), got(want.size());
      one({want.data()}, {count});
      group({got.data()}, {count});
      ASSERT_EQ(got, want) << target.name << ", " << count << " elements";
    }
  }
}

template <typename T>
void same_bits(DType type, int operations) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> some(-2, 2);
  for (const Target& target : runnable())
    for (int lanes : {16, 32}) {
      const Kernel one(plain(type, operations, 1), target), group(plain(type, operations, lanes), target);
      for (size_t count : {0, 1, 3, 15, 16, 17, 31, 32, 33, 64, 100})
        for (bool at_end : {false, true}) {
          const Guarded x(count * sizeof(T), at_end), want(count * sizeof(T), at_end),
              got(count * sizeof(T), at_end);
          for (size_t i = 0; i < count; ++i) x.as<T>()[i] = static_cast<T>(some(random));
          one({x.data(), want.data()}, {static_cast<int64_t>(count)});
          group({x.data(), got.data()}, {static_cast<int64_t>(count)});
          ASSERT_EQ(count ? std::memcmp(got.data(), want.data(), count * sizeof(T)) : 0, 0)
              << target.name << ", " << lanes << " lanes, " << count << " elements";
        }
    }
}

// Of 100 operations the rest is groups of its own, of 600 all groups are masked.
TEST(LongLoops, FloatsHaveTheBitsOfOneByOne) {
  for (int operations : {100, 600}) same_bits<float>(DType::F32, operations);
}
TEST(LongLoops, DoublesHaveTheBitsOfOneByOne) {
  for (int operations : {100, 600}) same_bits<double>(DType::F64, operations);
}

// LLVM narrows a comparison of widened numbers to where they came from, and takes that apart lane by lane.
TEST(LongLoops, Float16IsComparedInVectors) {
  Builder b("compared");
  const uint32_t in = b.add_buffer(DType::F16, false, "in"), out = b.add_buffer(DType::F16, true, "out");
  b.vector_for(b.index(0), b.index(64), 32, [&](Expr i) {
    Expr x = convert(b.load(in, i), DType::F32), zero = b.constant(DType::F32, 0);
    b.store(
        out, i,
        convert(select(x > zero, x, select(x == b.constant(DType::F32, 65504), zero, x * 2.0)), DType::F16));
  });
  auto f = b.finish();
  for (const char* name : {"x86-64-v3", "x86-64-v4"}) {
    const std::string text = compile_assembly(*f, Target::named(name));
    EXPECT_EQ(text.find("ucomiss"), std::string::npos) << name << '\n' << text;
  }
}

}  // namespace
}  // namespace ig::codegen::test
