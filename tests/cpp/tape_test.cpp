// Eager autograd without Python: nodes, passes, and threads that share a tape, which no lock of an
// interpreter keeps apart here.
#include "frontends/tape/tape.h"

#include <gtest/gtest.h>

#include <thread>

#include "ops/attrs.h"
#include "ops/table.h"
#include "tensor/eager.h"

namespace ig::tape {
namespace {

Tensor number(double value) { return Tensor::scalar(DType::F64, value); }
double value_of(const Tensor& x) { return x.literal().as_double(0); }
Tensor run(const char* op, std::vector<Tensor> operands) { return eager::run(ops::get(op), operands, {})[0]; }
Tensor gradient_of(const Tensor& leaf) {
  Edge edge = edge_of(leaf);
  return edge.node->watches.at(edge.result).grad;
}
Tensor slope(const Tensor& y, const Tensor& x, BackwardOptions options = {}) {
  Tensor one;
  return grad(std::span(&y, 1), std::span(&x, 1), std::span(&one, 1), options)[0];
}
void back(const Tensor& y, BackwardOptions options = {}) {
  Tensor one;
  backward(std::span(&y, 1), std::span(&one, 1), options);
}

TEST(Tape, GradientsOfALeaf) {
  Tensor x = as_leaf(number(3)), y = run("multiply", {x, x});
  EXPECT_TRUE(requires_grad(y));
  EXPECT_FALSE(is_leaf(y));
  EXPECT_EQ(edge_of(y).node->name(), "multiply");
  back(y);
  EXPECT_EQ(value_of(gradient_of(x)), 6);
  back(run("add", {x, number(1)}));
  EXPECT_EQ(value_of(gradient_of(x)), 7);
}

TEST(Tape, ASecondPassNeedsWhatWasSaved) {
  Tensor x = as_leaf(number(3)), y = run("multiply", {x, x});
  back(y, {.retain_graph = true});
  back(y);
  EXPECT_THROW(back(y), Error);
  EXPECT_EQ(value_of(gradient_of(x)), 12);
  Tensor z = run("add", {x, number(1)});  // it saved nothing
  back(z);
  back(z);
  EXPECT_EQ(value_of(gradient_of(x)), 14);
}

TEST(Tape, DerivativesOfGradients) {
  Tensor x = as_leaf(number(2)), y = run("multiply", {run("multiply", {x, x}), x});
  Tensor first = slope(y, x, {.retain_graph = true, .create_graph = true});
  Tensor second = slope(first, x, {.retain_graph = true, .create_graph = true});
  EXPECT_EQ(value_of(first), 12);
  EXPECT_EQ(value_of(second), 12);
  EXPECT_EQ(value_of(slope(second, x)), 6);
}

TEST(Tape, WhatIsDetachedEndsThere) {
  Tensor x = as_leaf(number(3));
  EXPECT_FALSE(requires_grad(run("stop_gradient", {x})));
  EXPECT_FALSE(requires_grad(x.unlinked()));
  mode().grad = false;
  EXPECT_FALSE(requires_grad(run("multiply", {x, x})));
  mode().grad = true;
  // A derivative of zero is one all the same.
  Tensor y = run("floor", {x});
  ASSERT_TRUE(requires_grad(y));
  back(y);
  EXPECT_EQ(value_of(gradient_of(x)), 0);
}

TEST(Tape, ChainsOfAnyLengthAreTakenApart) {
  Tensor x = as_leaf(number(1));
  {
    Tensor y = x;
    for (int i = 0; i < 200000; ++i) y = run("add", {y, number(1)});
  }
  EXPECT_EQ(leaves(), 1u);
}

TEST(Tape, ThreadsShareIt) {
  Tensor x = as_leaf(number(3)), y = run("multiply", {run("sine", {x}), x});
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  double want = value_of(slope(y, x, {.retain_graph = true}));
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        if (value_of(slope(y, x, {.retain_graph = true})) != want) ++wrong;
        back(run("multiply", {x, number(2)}));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(value_of(gradient_of(x)), 4 * 200 * 2);
}

}  // namespace
}  // namespace ig::tape
