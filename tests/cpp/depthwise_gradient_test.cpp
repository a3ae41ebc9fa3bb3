// What the kernel of a depthwise convolution's gradient by its weights asks for ahead: the next row of
// places, of both arrays, where these are far from the processor; else nothing, since each request takes a
// slot that a load could have.
#include <gtest/gtest.h>

#include <string>

#include "codegen/kernel.h"
#include "codegen/target.h"
#include "ir/graph.h"
#include "llvm_test_util.h"
#include "tensor/passes.h"

namespace ig::codegen {
namespace {

using test::count;

// The kernel's loops, for an image of [2, 9, 9, 32] and three by three taps.
std::string loops(bool far) {
  auto graph = Graph::parse(R"(graph @g(%x: f32[2, 9, 9, 32], %dy: f32[2, 9, 9, 32]) {
  %w = convolution(%x, %dy) {layout = "f01b_i01o->01bf", strides = [1, 1], padding = [1, 1, 1, 1], feature_group_count = 1, lhs_dilation = [], rhs_dilation = [1, 1], batch_group_count = 32, accumulate = f32} : f32[3, 3, 1, 32]
  return %w
})");
  run_passes(*graph, {});
  const Kernel kernel =
      lower(graph->body().first(), {false, false}, Target::named("x86-64-v3"), {.far = far});
  EXPECT_EQ(kernel.kind, "depthwise_gradient");
  return kernel.function->str();
}

TEST(DepthwiseGradient, TheNextRowIsAskedForWhereItIsFar) {
  const std::string far = loops(true), near = loops(false);
  EXPECT_EQ(count(near, "prefetch"), 0);
  // A row has three stretches: where the left tap sees nothing, all see the image, the right one does not.
  EXPECT_EQ(count(far, "prefetch in0["), 3) << far;
  EXPECT_EQ(count(far, "prefetch in1["), 3) << far;
}

}  // namespace
}  // namespace ig::codegen
