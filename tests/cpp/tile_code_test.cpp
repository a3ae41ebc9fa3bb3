// How much code the kernels of products have: tiles come in two heights, but long work behind or between the
// sums is written once. LLVM takes as long as there is code.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <regex>
#include <string>
#include <string_view>

#include "codegen/jit.h"
#include "codegen/kernel.h"
#include "codegen/target.h"
#include "ir/graph.h"
#include "llvm_test_util.h"
#include "loop/canonical.h"
#include "tensor/passes.h"

namespace ig::codegen {
namespace {

using test::count;

constexpr const char* kTargets[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};

// What `show` writes of the graph's kernels.
std::string written(std::string_view text, std::string_view target_name,
                    const std::function<std::string(const loop::Function&, const Target&)>& show) {
  auto graph = Graph::parse(text);
  run_passes(*graph, {});
  const Target target = Target::named(target_name);
  std::string out;
  for (const Node* node : graph->body())
    if (node->op().name() == "fusion") {
      const std::vector<bool> constant(node->operands().size(), false);
      out += show(*lower(node, constant, target).function, target);
    }
  return out;
}
std::string loops_of(std::string_view text, std::string_view target) {
  return written(text, target,
                 [](const auto& function, const auto&) { return loop::canonical_text(function); });
}
std::string llvm_of(std::string_view text, std::string_view target) {
  return written(text, target,
                 [](const auto& function, const auto& own) { return compile_ir(function, own, false); });
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

// Both of these functions take one absolute value.
constexpr const char* kProduct = R"(graph @g(%x: f32[ROWS, 64], %w: f32[64, 96]) SIZES {
  %p = dot_general(%x, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[ROWS, 96]
  %e = erf(%p) : f32[ROWS, 96]
  %y = tanh(%e) : f32[ROWS, 96]
  return %y
})";

TEST(TileCode, WorkBehindSumsIsThereOnce) {
  // 103 rows: tall tiles, and one for what is left. Any number: tall ones, and low ones.
  for (const auto& [rows, sizes] : {std::pair("103", ""), std::pair("n", "where n in [1, inf]")})
    for (const char* target : kTargets) {
      const std::string loops = loops_of(replaced(replaced(kProduct, "ROWS", rows), "SIZES", sizes), target);
      EXPECT_EQ(count(loops, "abs("), 2) << rows << " rows, " << target;
    }
}

// With registers for masks the last strip of columns, which may be narrow, takes the code of the others.
TEST(TileCode, EdgesAreThereOnceWhereThereAreMasks) {
  const std::string text = replaced(replaced(kProduct, "ROWS", "n"), "SIZES", "where n in [1, inf]");
  const std::string code = llvm_of(replaced(text, "96]", "500]"), "x86-64-v4");
  EXPECT_EQ(count(code, "call <32 x float> @llvm.fabs"), 2) << code;
}

constexpr const char* kAttention =
    R"(graph @g(%q: f32[2, N, 32], %k: f32[2, N, 32], %v: f32[2, N, 32]) SIZES {
  %y = scaled_dot_product_attention(%q, %k, %v) {causal = false, scale = 0x0p+0} : f32[2, N, 32]
  return %y
})";

// Each row of scores has one power of many, and one of a single number where it is scaled down.
TEST(TileCode, PowersBetweenSumsAreThereOnce) {
  for (const auto& [n, sizes] : {std::pair("128", ""), std::pair("n", "where n in [1, inf]")})
    for (const char* target : kTargets) {
      const std::string loops =
          loops_of(replaced(replaced(kAttention, "N,", std::string(n) + ","), "SIZES", sizes), target);
      EXPECT_EQ(count(loops, "< -87:f32"), 2) << n << " queries, " << target;
    }
}

// Keys are packed by the function that all kernels call: a pointer is.
TEST(TileCode, PackingIsCalled) {
  const std::string text = replaced(replaced(kAttention, "N,", "128,"), "SIZES", "");
  for (const char* target : kTargets) EXPECT_GE(count(llvm_of(text, target), "call void %"), 1) << target;
}

// A product of sizes that are not known says by formulas how many blocks it has, and how much work that is.
TEST(TileCode, ProductsOfAnySizes) {
  auto graph = Graph::parse(
      R"(graph @g(%x: f32[m, k], %w: f32[k, n]) where k in [0, inf], m in [0, inf], n in [0, inf] {
  %p = dot_general(%x, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[m, n]
  return %p
})");
  run_passes(*graph, {});
  const Target target = Target::named("x86-64-v3");
  const Kernel kernel = lower(graph->body().first(), {false, false}, target);
  ASSERT_TRUE(kernel.grains);
  struct Case {
    int64_t m, k, n, blocks;
  };
  for (const Case& c : {Case{64, 784, 512, 4},
                        {128, 512, 64, 2},
                        {8, 8, 300, 4},
                        {512, 512, 512, 12},
                        {1000, 1, 2048, 48},
                        {64, 64, 64, 1},
                        {7, 3, 0, 0}}) {
    const SymbolValues sizes{{"m", c.m}, {"k", c.k}, {"n", c.n}};
    EXPECT_EQ(kernel.blocks.evaluate(sizes), c.blocks) << c.m << " " << c.n;
    EXPECT_EQ(kernel.grains->evaluate(sizes), c.m * c.k * c.n / work_of_grain(target, 4))
        << c.m << " " << c.n;
  }
}

// Blocks of a product whose right operand comes packed are for two and four threads alike: none waits for the
// others while they do a last one.
TEST(TileCode, FewBlocksAreAnEvenNumber) {
  struct Case {
    int64_t m, k, n, blocks;
  };
  for (const Case& c : {Case{196, 384, 64, 4},
                        {49, 960, 160, 4},
                        {49, 960, 320, 8},
                        {49, 1152, 192, 4},
                        {49, 960, 161, 4},
                        {49, 960, 333, 8}}) {
    const std::string text = fmt::format(
        R"(graph @g(%x: f32[{0}, {1}], %w: f32[{1}, {2}]) {{
  %p = dot_general(%x, %w) {{lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32}} : f32[{0}, {2}]
  return %p
}})",
        c.m, c.k, c.n);
    auto graph = Graph::parse(text);
    run_passes(*graph, {});
    const Kernel kernel = lower(graph->body().first(), {false, true}, Target::named("x86-64-v3"));
    EXPECT_EQ(kernel.blocks, Dim(c.blocks)) << c.m << "x" << c.k << "x" << c.n;
  }
}

// Few rows and many have a kernel each, of which one runs; where sizes are known to be few, there is one
// alone.
TEST(TileCode, ProductsOfManyRowsAreKernelsOfTheirOwn) {
  // `rows`: between what; k and n are named by their numbers where these are known.
  auto lowered = [](std::string_view rows, std::string_view element, bool may = true,
                    std::string_view known = "") {
    std::string text = R"(graph @g(%x: T[m, k], %w: T[k, n]) where SIZESm in [ROWS] {
  %p = dot_general(%x, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : T[m, n]
  return %p
})";
    text = replaced(text, "ROWS", rows);
    text = replaced(text, "SIZES", known.empty() ? "k in [0, inf], n in [0, inf], " : "");
    if (!known.empty())
      text = replaced(replaced(text, "k]", std::string(known) + "]"), "[k,", "[" + std::string(known) + ",");
    if (!known.empty()) text = replaced(text, "n]", std::string(known) + "]");
    auto graph = Graph::parse(replaced(text, "T[", std::string(element) + "["));
    run_passes(*graph, {});
    return lower(graph->body().first(), {false, false}, Target::named("x86-64-v3"), {.may_go_twice = may});
  };
  const Kernel both = lowered("0, inf", "f32");
  ASSERT_TRUE(both.when && both.other && both.other->when);
  EXPECT_TRUE(both.packings.empty());
  ASSERT_EQ(both.other->packings.size(), 1u);
  const Kernel::Packing& packing = both.other->packings[0];
  EXPECT_EQ(packing.operand, 1);
  for (int64_t m : {0, 1, 319, 320, 5000})
    for (int64_t n : {0, 1, 4096, 100'000}) {
      const SymbolValues sizes{{"m", m}, {"k", 1000}, {"n", n}};
      const bool many = m >= 320 && n <= 4096;  // a large one is packed by blocks
      EXPECT_EQ(both.when->evaluate(sizes), !many) << m << " " << n;
      EXPECT_EQ(both.other->when->evaluate(sizes), many) << m << " " << n;
      EXPECT_EQ(packing.elements.evaluate(sizes), (n + 15) / 16 * 16 * 1000);
    }
  for (const Kernel& one :
       {lowered("0, 319", "f32"), lowered("0, inf", "bf16"), lowered("0, inf", "f32", false)})
    EXPECT_TRUE(!one.when && !one.other && one.packings.empty());
  const Kernel of_weights = lowered("0, inf", "f32", true, "300");
  ASSERT_TRUE(of_weights.other);
  EXPECT_EQ(of_weights.other->packings.size(), 1u);
  // Where there are many for sure, that is the kernel.
  const Kernel many = lowered("320, inf", "f32", true, "300");
  EXPECT_TRUE(!many.when && !many.other);
  EXPECT_EQ(many.packings.size(), 1u);
}

// One row by a matrix that lies across: parts of three squares share the row's elements where a square is
// less than a line; where a square's lines share one place in the cache, the second of two stays behind, and
// the first and the last of them are read alone.
TEST(TileCode, OneRowReadsPartsOfThreeSquaresOrTwoApart) {
  auto of_row = [](std::string_view k, std::string_view target) {
    return loops_of(replaced(R"(graph @g(%x: f32[1, K], %w: f32[960, K]) {
  %p = dot_general(%x, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], accumulate = f32} : f32[1, 960]
  return %p
})",
                             "K", k),
                    target);
  };
  EXPECT_EQ(count(of_row("1000", "x86-64-v3"), " = columns "), 3);
  EXPECT_EQ(count(of_row("1000", "x86-64-v4"), " = columns "), 2);
  // A line is two squares; those behind the last line go one by one.
  EXPECT_EQ(count(of_row("1024", "x86-64-v3"), " = columns "), 2 + 4 + 2 + 2);
  EXPECT_EQ(count(of_row("512", "x86-64-v3"), " = columns "), 4 + 2);
}

// While a strip of packed B is used, the next one is asked for: the part of it that belongs to the same
// chunk.
TEST(TileCode, TheNextStripIsAskedForWithinItsChunk) {
  const std::string loops = loops_of(R"(graph @g(%x: f32[768, 2048], %w: f32[2048, 512]) {
  %p = dot_general(%x, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[768, 512]
  return %p
})",
                                     "x86-64-v3");
  const std::regex ask(
      R"(prefetch b1\[\(\(\(\(\(i\d+ \+ 16\) \* 2048\) \+ \(i\d+ \* 16\)\) \+ \(\(%\d+ / 6\) \* %\d+\)\) \+ %\d+\)\])");
  EXPECT_TRUE(std::regex_search(loops, ask)) << loops;
}

}  // namespace
}  // namespace ig::codegen
