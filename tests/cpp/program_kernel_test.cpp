// Kernels of kernels: what lies in scratch and in registers, which results may stand in the memory of
// operands, and that how they were put together is the same in each process.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "codegen/kernel.h"
#include "ops/table.h"
#include "passes/pass.h"
#include "passes/program_kernel.h"

namespace ig::codegen {
namespace {

// The one kernel that the graph becomes.
Kernel only_kernel(std::string_view text) {
  std::unique_ptr<Graph> graph = Graph::parse(text);
  passes::Options options;
  options.verify = true;
  passes::run(*graph, passes::default_pipeline(), options);
  const Node* only = nullptr;
  for (const Node* node : graph->body()) {
    if (!passes::is_kernel(node) || passes::is_relabel(node)) continue;
    EXPECT_EQ(only, nullptr) << graph->str();
    only = node;
  }
  EXPECT_EQ(passes::kind_of_kernel(only), "program") << graph->str();
  return lower(only, std::vector<bool>(only->operands().size(), false), Target::host());
}

bool may_share(const Kernel& kernel, int result, int operand) {
  return std::ranges::find(kernel.in_place, std::pair{result, operand}) != kernel.in_place.end();
}

constexpr std::string_view kNumbers = R"(
graph @main(%x: f32[5, 7], %y: f32[5, 7], %z: f32[9]) {
  %m = reduce_min(%x) {axes = [0]} : f32[7]
  %a = reduce_max(%z) {axes = [0]} : f32[]
  %b = reduce_sum(%m) {axes = [0]} : f32[]
  %c = add(%a, %b) : f32[]
  %d = broadcast_in_dim(%c) {shape = <5, 7>, broadcast_dimensions = []} : f32[5, 7]
  %e = multiply(%d, %y) : f32[5, 7]
  %f = subtract(%e, %x) : f32[5, 7]
  return %m, %a, %f
}
)";

TEST(ProgramKernel, NumbersAreInRegisters) {
  Kernel kernel = only_kernel(kNumbers);
  EXPECT_TRUE(kernel.function->scratch.empty()) << kernel.function->str();
  EXPECT_EQ(kernel.blocks, Dim(int64_t{1}));
}

TEST(ProgramKernel, ResultsStandWhereNothingIsReadAnyMore) {
  Kernel kernel = only_kernel(kNumbers);
  for (int operand = 0; operand < 3; ++operand) {
    EXPECT_TRUE(
        may_share(kernel, 2, operand));  // %f: read before, or last by its kernel, each at its element
    EXPECT_FALSE(may_share(kernel, 1, operand));  // %a is a number, stored at the end
  }
  EXPECT_FALSE(may_share(kernel, 0, 0));  // %m: %x is read again
  Kernel later = only_kernel(R"(
graph @main(%x: f32[5, 7]) {
  %a = sort(%x) {axis = 1, descending = false, is_stable = true} : f32[5, 7]
  %b = reduce_sum(%a) {axes = [0]} : f32[7]
  %c = broadcast_in_dim(%b) {shape = <5, 7>, broadcast_dimensions = [1]} : f32[5, 7]
  %d = multiply(%c, %x) : f32[5, 7]
  return %a, %d
}
)");
  EXPECT_FALSE(may_share(later, 0, 0));  // %x is read again
  EXPECT_TRUE(may_share(later, 1, 0));
}

TEST(ProgramKernel, ScratchIsTakenAgain) {
  constexpr std::array kFolds = {"reduce_sum", "reduce_max", "reduce_min", "reduce_prod"};
  constexpr std::array kOps = {"subtract", "add", "multiply", "maximum"};
  constexpr size_t kSteps = 8;  // each its own, so that none repeats
  std::string text = "graph @main(%v0: f32[3, 4]) {\n";
  for (size_t i = 0; i < kSteps; ++i) {
    size_t axis = i % 2;
    text += fmt::format("  %s{0} = {1}(%v{0}) {{axes = [{2}]}} : f32[{3}]\n", i, kFolds[i / 2], axis,
                        axis ? 3 : 4);
    text += fmt::format(
        "  %w{0} = broadcast_in_dim(%s{0}) {{shape = <3, 4>, broadcast_dimensions = [{1}]}} : "
        "f32[3, 4]\n",
        i, 1 - axis);
    text += fmt::format("  %v{} = {}(%v{}, %w{}) : f32[3, 4]\n", i + 1, kOps[i / 2], i, i);
  }
  text += fmt::format("  return %v{}\n}}\n", kSteps);
  Kernel kernel = only_kernel(text);
  size_t numbers = 0;
  for (const Dim& elements : kernel.function->scratch_elements) numbers += elements == Dim(int64_t{12});
  EXPECT_EQ(numbers, 0u) << kernel.function->str();  // each lies where the result will
  EXPECT_LE(kernel.function->scratch.size(), 5u);
}

TEST(ProgramKernel, IsTheSameEachTime) {
  EXPECT_EQ(only_kernel(kNumbers).function->hash(), only_kernel(kNumbers).function->hash());
}

}  // namespace
}  // namespace ig::codegen
