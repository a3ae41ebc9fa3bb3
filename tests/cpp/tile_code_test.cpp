// How much code the kernels of products have: tiles come in two heights, but long work behind or between the
// sums is written once. LLVM takes as long as there is code.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "codegen/kernel.h"
#include "codegen/target.h"
#include "ir/graph.h"
#include "loop/canonical.h"
#include "tensor/passes.h"

namespace ig::codegen {
namespace {

constexpr const char* kTargets[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};

// The loops of the graph's kernels.
std::string loops_of(std::string_view text, std::string_view target) {
  auto graph = Graph::parse(text);
  run_passes(*graph, {});
  std::string out;
  for (const Node* node : graph->body())
    if (node->op().name() == "fusion") {
      const std::vector<bool> constant(node->operands().size(), false);
      out += loop::canonical_text(*lower(node, constant, Target::named(target)).function);
    }
  return out;
}

int count(std::string_view text, std::string_view part) {
  int out = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++out;
  return out;
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

// Each row of scores has one power of many, and one of a single number where it is scaled down.
TEST(TileCode, PowersBetweenSumsAreThereOnce) {
  constexpr const char* kAttention =
      R"(graph @g(%q: f32[2, N, 32], %k: f32[2, N, 32], %v: f32[2, N, 32]) SIZES {
  %y = scaled_dot_product_attention(%q, %k, %v) {causal = false, scale = 0x0p+0} : f32[2, N, 32]
  return %y
})";
  for (const auto& [n, sizes] : {std::pair("128", ""), std::pair("n", "where n in [1, inf]")})
    for (const char* target : kTargets) {
      const std::string loops =
          loops_of(replaced(replaced(kAttention, "N,", std::string(n) + ","), "SIZES", sizes), target);
      EXPECT_EQ(count(loops, "< -87:f32"), 2) << n << " queries, " << target;
    }
}

}  // namespace
}  // namespace ig::codegen
