// What fast_math writes into loop functions: nothing without flags, and with them what each allows, by name;
// of another function's text no letter changes.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "codegen/kernel.h"
#include "codegen/target.h"
#include "ir/graph.h"
#include "support/error.h"
#include "tensor/passes.h"

namespace ig::codegen {
namespace {

struct Written {
  std::string text;
  size_t contracted = 0, finite = 0;
};

Written written(std::string_view graph_text, const FastMath& fast_math) {
  auto graph = Graph::parse(graph_text);
  PassRequest request;
  request.fast_math = fast_math;
  run_passes(*graph, request);
  Written out;
  for (const Node* node : graph->body()) {
    if (node->op().name() != "fusion") continue;
    const std::vector<bool> constant(node->operands().size(), false);
    const Kernel kernel = lower(node, constant, Target::host(), {}, false, fast_math);
    out.text += kernel.function->str();
    out.contracted += kernel.relaxed.contracted.size();
    out.finite += kernel.relaxed.finite.size();
  }
  return out;
}

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

constexpr FastMath kContract{true, false, false}, kFinite{false, true, false},
    kReciprocal{false, false, true};

std::string of_three(std::string_view op_one, std::string_view op_two, std::string_view type) {
  return fmt::format(
      "graph @main(%x: {2}, %y: {2}, %z: {2}) {{\n  %p = {0}(%x, %y) : {2}\n  %q = {1}(%p, %z) : {2}\n  "
      "return %q\n}}\n",
      op_one, op_two, type);
}

TEST(FastMath, ContractsAProductWithTheSumThatTakesIt) {
  for (std::string_view op : {"add", "subtract"}) {
    const std::string graph = of_three("multiply", op, "f32[64]");
    const Written plain = written(graph, {}), fused = written(graph, kContract);
    EXPECT_FALSE(holds(plain.text, "fma")) << plain.text;
    EXPECT_TRUE(holds(fused.text, "fma")) << fused.text;
    EXPECT_EQ(plain.contracted, 0u);
    EXPECT_EQ(fused.contracted, 1u);
    EXPECT_EQ(written(graph, kFinite).text, plain.text);
    EXPECT_EQ(written(graph, kReciprocal).text, plain.text);
  }
}

TEST(FastMath, ContractsTheProductOnTheRight) {
  const Written fused = written(R"(
graph @main(%x: f32[64], %y: f32[64], %z: f32[64]) {
  %p = multiply(%x, %y) : f32[64]
  %q = subtract(%z, %p) : f32[64]
  return %q
}
)",
                                kContract);
  EXPECT_TRUE(holds(fused.text, "fma(neg(")) << fused.text;
}

TEST(FastMath, ContractsSumsOfProducts) {
  constexpr std::string_view graph = R"(
graph @main(%x: f32[64, 100], %y: f32[64, 100]) {
  %p = multiply(%x, %y) : f32[64, 100]
  %q = reduce_sum(%p) {axes = [1]} : f32[64]
  return %q
}
)";
  EXPECT_FALSE(holds(written(graph, {}).text, "fma"));
  EXPECT_TRUE(holds(written(graph, kContract).text, "fma"));
}

TEST(FastMath, LeavesWholeNumbersAndHalvesAlone) {
  for (std::string_view type : {"i32[64]", "f16[64]", "bf16[64]"}) {
    const std::string graph = of_three("multiply", "add", type);
    EXPECT_EQ(written(graph, {}).text, written(graph, kContract).text);
  }
  const std::string whole = of_three("maximum", "minimum", "i32[64]");
  EXPECT_EQ(written(whole, {}).text, written(whole, FastMath::all()).text);
}

TEST(FastMath, FiniteExtremesAreOneComparison) {
  const std::string graph = of_three("maximum", "minimum", "f32[64]");
  const Written plain = written(graph, {}), finite = written(graph, kFinite);
  EXPECT_TRUE(holds(plain.text, "bits_i32")) << plain.text;
  EXPECT_FALSE(holds(finite.text, "bits_i32")) << finite.text;
  EXPECT_EQ(plain.finite, 0u);
  EXPECT_EQ(finite.finite, 2u);
  EXPECT_EQ(written(graph, kContract).text, plain.text);
}

TEST(FastMath, FiniteFoldsAreOneComparison) {
  constexpr std::string_view graph = R"(
graph @main(%x: f32[64, 100]) {
  %q = reduce_max(%x) {axes = [1]} : f32[64]
  return %q
}
)";
  EXPECT_LT(written(graph, kFinite).text.size(), written(graph, {}).text.size());
  EXPECT_EQ(written(graph, kFinite).finite, 1u);
}

TEST(FastMath, VectorMathsIsAsItIsWritten) {
  constexpr std::string_view graph = R"(
graph @main(%x: f32[64]) {
  %a = log_plus_one(%x) : f32[64]
  %b = exponential(%a) : f32[64]
  return %b
}
)";
  EXPECT_EQ(written(graph, {}).text, written(graph, kContract).text);
}

TEST(FastMath, NamesAreRead) {
  const std::string names[] = {"contract", "reciprocal"};
  const FastMath flags = FastMath::of(names, "f");
  EXPECT_TRUE(flags.contract && flags.reciprocal && !flags.finite && flags.any());
  EXPECT_FALSE(FastMath().any());
  const std::string wrong[] = {"reassociate"};
  EXPECT_THROW(FastMath::of(wrong, "f"), Error);
  EXPECT_THROW(flags.require_inexact(true, "f"), Error);
  EXPECT_NO_THROW(FastMath().require_inexact(true, "f"));
}

}  // namespace
}  // namespace ig::codegen
