// Indices that are taken apart (i / n, i % n), on every target that this machine runs: each lane reads its
// own element, whichever runs a group of lanes lies in, and no byte outside the buffers.
#include <gtest/gtest.h>

#include "llvm_test_util.h"

namespace ig::codegen::test {
namespace {

using loop::Builder;
using loop::Expr;

// Elements [first, first + n) of an array of [outer, middle, inner]: of its axes alone, of two of them, and
// the place along the first that they skip.
struct Shape {
  int64_t outer, middle, inner;
};

std::unique_ptr<loop::Function> reads(const Shape& s, int lanes, DType type) {
  Builder b("reads");
  auto of_middle = b.add_buffer(type, false, "of_middle"), of_inner = b.add_buffer(type, false, "of_inner"),
       of_ends = b.add_buffer(type, false, "of_ends"), out = b.add_buffer(type, true, "out");
  Expr first = b.size(Dim::symbol("first")), n = b.size(Dim::symbol("n"));
  b.vector_for(b.index(0), n, lanes, [&](Expr i) {
    Expr flat = first + i, row = flat / b.index(s.inner), place = flat % b.index(s.inner);
    Expr middle = row % b.index(s.middle), outer = row / b.index(s.middle);
    b.store(out, i, b.load(of_middle, middle));
    b.store(out, n + i, b.load(of_inner, place));
    b.store(out, n * b.index(2) + i, b.load(of_ends, outer * b.index(s.inner) + place));
  });
  return b.finish();
}

template <typename T>
void check(DType type, const Target& target, bool at_end) {
  const Shape shapes[] = {{3, 5, 3},  {2, 3, 16},  {4, 3, 17}, {2, 64, 49},
                          {3, 2, 64}, {2, 2, 100}, {2, 3, 256}};
  for (const Shape& s : shapes)
    for (int lanes : {8, 64}) {
      if (lanes == 8 && type != DType::F32) continue;
      Kernel kernel(reads(s, lanes, type), target);
      const int64_t all = s.outer * s.middle * s.inner;
      Guarded of_middle(static_cast<size_t>(s.middle) * sizeof(T), at_end),
          of_inner(static_cast<size_t>(s.inner) * sizeof(T), at_end),
          of_ends(static_cast<size_t>(s.outer * s.inner) * sizeof(T), at_end);
      for (int64_t i = 0; i < s.middle; ++i) of_middle.as<T>()[i] = static_cast<T>(i + 1);
      for (int64_t i = 0; i < s.inner; ++i) of_inner.as<T>()[i] = static_cast<T>(i % 100 + 2);
      for (int64_t i = 0; i < s.outer * s.inner; ++i) of_ends.as<T>()[i] = static_cast<T>(i % 119 + 3);
      for (int64_t first : {int64_t{0}, int64_t{1}, s.inner - 1, all / 2, all - 1})
        for (int64_t n : {int64_t{1}, int64_t{7}, int64_t{64}, int64_t{65}, all}) {
          n = std::min(n, all - first);
          Guarded out(static_cast<size_t>(3 * n) * sizeof(T), at_end);
          ASSERT_EQ(kernel({of_middle.data(), of_inner.data(), of_ends.data(), out.data()}, {first, n}), 0);
          for (int64_t i = 0; i < n; ++i) {
            const int64_t row = (first + i) / s.inner, place = (first + i) % s.inner;
            ASSERT_EQ(out.as<T>()[i], of_middle.as<T>()[row % s.middle])
                << target.name << " inner " << s.inner << " first " << first << " i " << i;
            ASSERT_EQ(out.as<T>()[n + i], of_inner.as<T>()[place]);
            ASSERT_EQ(out.as<T>()[2 * n + i], of_ends.as<T>()[row / s.middle * s.inner + place]);
          }
        }
    }
}

TEST(LlvmRuns, EachLaneReadsItsOwnElementBetweenGuardPages) {
  for (const Target& target : runnable())
    for (bool at_end : {false, true}) {
      check<float>(DType::F32, target, at_end);
      check<double>(DType::F64, target, at_end);
      check<int8_t>(DType::I8, target, at_end);
    }
}

}  // namespace
}  // namespace ig::codegen::test
