// The transforms of include/intaglio/transforms.h: each of them from C++, on lambdas, nested, and in ig::jit.
#include <gtest/gtest.h>

#include <cmath>

#include "intaglio/transforms.h"

namespace ig {
namespace {

std::vector<double> numbers(const Array& x) {
  if (x.dtype() == DType::F64) return x.values<double>();
  std::vector<float> values = x.values<float>();
  return {values.begin(), values.end()};
}
void expect_near(const Array& x, std::vector<double> wanted, double within = 1e-6) {
  std::vector<double> have = numbers(x);
  ASSERT_EQ(have.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(have[i], wanted[i], within) << "element " << i;
}
template <typename F>
std::string message_of(const F& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

const Array kX = array({1.0, 2.0, 3.0});
Array cubes(Array x) { return sum(x * x * x); }

TEST(CppTransforms, Grad) {
  expect_near(grad(cubes)(kX), {3, 12, 27});
  auto [value, gradient] = value_and_grad(cubes)(kX);
  expect_near(value, {36});
  expect_near(gradient, {3, 12, 27});
  auto product = [](Array x, Array y) { return sum(x * y); };
  expect_near(grad<1>(product)(kX, 2.0 * kX), {1, 2, 3});
  auto [by_x, by_y] = grad<0, 1>(product)(kX, 2.0 * kX);
  expect_near(by_x, {2, 4, 6});
  expect_near(by_y, {1, 2, 3});
}

TEST(CppTransforms, GradOfTreesWithAuxiliaries) {
  using Layers = std::vector<std::pair<Array, Array>>;
  auto loss = [](Layers layers, Array x) {
    for (const auto& [w, b] : layers) x = tanh(matmul(x, w) + b);
    return std::pair(sum(x), x);
  };
  Layers layers(2, {array({0.5, 0.0, 0.0, 0.5}, {2, 2}), array({0.1, 0.2})});
  auto [gradient, out] = grad(loss)(layers, array({1.0, -1.0}, {1, 2}));
  ASSERT_EQ(gradient.size(), 2u);
  double h0 = std::tanh(0.6), o0 = std::tanh(0.5 * h0 + 0.1);
  EXPECT_NEAR(numbers(out)[0], o0, 1e-12);
  EXPECT_NEAR(numbers(gradient[1].second)[0], 1 - o0 * o0, 1e-12);
  std::map<std::string, Array> named{{"b", array({0.0})}, {"w", array({2.0})}};
  auto line = [](std::map<std::string, Array> p, Array x) { return sum(p["w"] * x + p["b"]); };
  std::map<std::string, Array> by_name = grad(line)(named, kX);
  expect_near(by_name["w"], {6});
  expect_near(by_name["b"], {3});
}

TEST(CppTransforms, InAnyOrder) {
  auto second = grad([](Array x) { return sum(grad(cubes)(x)); });
  expect_near(second(kX), {6, 12, 18});
  auto jitted = jit([](Array x) { return grad(cubes)(x); });
  expect_near(jitted(kX), {3, 12, 27});
  expect_near(jitted(2.0 * kX), {12, 48, 108});
  EXPECT_EQ(jitted.traces(), 1u);
  auto rows = vmap([](Array x) { return grad(cubes)(x); });
  expect_near(rows(array({1.0, 2.0, 3.0, 4.0}, {2, 2})), {3, 12, 27, 48});
  auto of_rows = grad([](Array m) { return sum(vmap([](Array x) { return cubes(x); })(m)); });
  expect_near(of_rows(array({1.0, 2.0, 3.0, 4.0}, {2, 2})), {3, 12, 27, 48});
  record::Traced traced = trace([](Array x) { return grad(cubes)(x); }, {{kX.tensor().type(), "x"}});
  EXPECT_EQ(traced.graph->inputs().size(), 1u);
}

TEST(CppTransforms, BranchesOnValues) {
  auto kinked = [](Array x) { return sum(x) > 0 ? sum(x * x) : sum(-x); };
  expect_near(grad(kinked)(kX), {2, 4, 6});
  expect_near(grad(kinked)(-kX), {-1, -1, -1});
  auto jitted = jit([=](Array x) { return grad(kinked)(x); });
  expect_near(jitted(kX), {2, 4, 6});
  expect_near(jitted(-kX), {-1, -1, -1});
}

TEST(CppTransforms, VjpJvpLinearize) {
  auto both = [](Array x, Array y) { return std::pair(x * y, exp(y)); };
  Array y = array({0.5, 1.0, 1.5}), one = array({1.0, 1.0, 1.0}), none = array({0.0, 0.0, 0.0});
  auto [value, pull] = vjp(both, kX, y);
  expect_near(value.first, {0.5, 2, 4.5});
  auto [by_x, by_y] = pull({one, none});
  expect_near(by_x, {0.5, 1, 1.5});
  expect_near(by_y, {1, 2, 3});
  auto [out, tangent] = jvp(both, {kX, y}, {none, one});
  expect_near(tangent.first, {1, 2, 3});
  expect_near(tangent.second, {std::exp(0.5), std::exp(1.0), std::exp(1.5)});
  auto [again, push] = linearize(both, kX, y);
  expect_near(push(one, none).first, {0.5, 1, 1.5});
  expect_near(push(none, one).second, numbers(tangent.second));
  auto transposed = linear_transpose([](Array x) { return 3.0 * call("flip", {x.tensor()})[0]; }, kX);
  expect_near(std::get<0>(transposed(kX)), {9, 6, 3});
}

TEST(CppTransforms, WholeNumbersDoNotMove) {
  auto pick = [](Array x, Array i) {
    return call("take", {x.tensor(), i.tensor()}, {{"axis", int64_t{0}}})[0];
  };
  Array index = array<int64_t>({2, 0});
  auto [value, pull] = vjp(pick, kX, index);
  auto [by_x, by_i] = pull(array({1.0, 10.0}));
  expect_near(by_x, {10, 0, 1});
  EXPECT_EQ(by_i.values<int64_t>(), (std::vector<int64_t>{0, 0}));
}

TEST(CppTransforms, Matrices) {
  auto f = [](Array x, Array s) { return s * x * x; };
  Array s = scalar(2.0);
  expect_near(jacfwd(f)(kX, s), {4, 0, 0, 0, 8, 0, 0, 0, 12});
  expect_near(jacrev(f)(kX, s), {4, 0, 0, 0, 8, 0, 0, 0, 12});
  expect_near(jacfwd<1>(f)(kX, s), {1, 4, 9});
  expect_near(jacrev<1>(f)(kX, s), {1, 4, 9});
  EXPECT_EQ(jacrev<1>(f)(kX, s).rank(), 1);
  expect_near(hessian(cubes)(kX), {6, 0, 0, 0, 12, 0, 0, 0, 18});
  auto jitted = jit([](Array x) { return hessian(cubes)(x); });
  expect_near(jitted(kX), {6, 0, 0, 0, 12, 0, 0, 0, 18});
}

TEST(CppTransforms, Vmap) {
  Array m = array({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {2, 3});
  auto total = [](Array x) { return sum(x); };
  expect_near(vmap(total)(m), {6, 15});
  expect_near(vmap(total, {.in_axes = {-1}})(m), {5, 7, 9});
  auto scaled = [](Array x, Array y) { return x * y; };
  Array turned = vmap(scaled, {.in_axes = {0, kNotMapped}, .out_axes = {1}})(m, kX);
  expect_near(turned, {1, 4, 4, 10, 9, 18});
  auto shares = [](Array x) {
    return x / call("axis_sum", {x.tensor()}, {{"axis_name", std::string("rows")}})[0];
  };
  expect_near(vmap(shares, {.axis_name = "rows"})(array({1.0, 3.0})), {0.25, 0.75});
  auto constant = [](Array x) { return x + 1.0; };
  expect_near(vmap(constant, {.in_axes = {kNotMapped}, .axis_size = Dim(2)})(scalar(1.0)), {2, 2});
}

TEST(CppTransforms, RulesOfOnesOwn) {
  auto slow = custom_jvp([](Array x) { return log(1.0 + exp(x)); },
                         [](std::tuple<Array> primals, std::tuple<Array> tangents) {
                           Array x = std::get<0>(primals);
                           return std::pair(log(1.0 + exp(x)), sigmoid(x) * std::get<0>(tangents));
                         });
  auto total = [=](Array x) { return sum(slow(x)); };
  expect_near(grad(total)(array({100.0, 0.0})), {1, 0.5});
  expect_near(slow(array({0.0})), {std::log(2.0)});
  auto clipped = custom_vjp(
      [](Array x) { return x; }, [](Array x) { return std::pair(x, std::vector<Array>{}); },
      [](std::vector<Array>, Array ct) { return std::tuple(where(ct > 1.0, ct * 0.0 + 1.0, ct)); });
  auto ten = [=](Array x) { return sum(10.0 * clipped(x)); };
  expect_near(grad(ten)(kX), {1, 1, 1});
  expect_near(jit([=](Array x) { return grad(ten)(x); })(kX), {1, 1, 1});
  expect_near(vmap([=](Array x) { return grad(ten)(x); })(array({1.0, 2.0}, {2, 1})), {1, 1});
}

TEST(CppTransforms, WhatIsKept) {
  auto deep = [](Array x) { return tanh(tanh(tanh(x))); };
  auto kept = [&](auto f) {
    record::Traced traced = trace([=](Array x) { return sum(f(x)); }, {{kX.tensor().type(), "x"}});
    ops::SplitRegion parts = transforms::vjp(*traced.graph, {true}, {true});
    return std::count(parts.residuals.begin(), parts.residuals.end(), -1);
  };
  // Work that is element-wise is computed again, from the argument; a product is kept.
  auto product = [](Array x) { return tanh(matmul(x, x) * x); };
  EXPECT_EQ(kept(deep), 0);
  EXPECT_EQ(kept(product), 1);
  EXPECT_EQ(kept(checkpoint(deep)), 0);
  EXPECT_EQ(kept(checkpoint(deep, "everything")), 3);
  auto plain = grad([=](Array x) { return sum(deep(x)); });
  auto again = grad([=](Array x) { return sum(checkpoint(deep)(x)); });
  EXPECT_EQ(numbers(plain(kX)), numbers(again(kX)));
  auto half = grad([](Array x) { return sum(x * stop_gradient(x)); });
  expect_near(half(kX), {1, 2, 3});
}

TEST(CppTransforms, TypesAlone) {
  std::vector<Type> types =
      eval_shape([](Array x, Array w) { return std::pair(matmul(x, w), sum(x)); },
                 {Type::tensor(DType::F32, {1000000, 4}), Type::tensor(DType::F32, {4, 7})});
  ASSERT_EQ(types.size(), 2u);
  EXPECT_EQ(types[0].str(), "f32[1000000, 7]");
  EXPECT_EQ(types[1].str(), "f32[]");
}

TEST(CppTransforms, Errors) {
  EXPECT_EQ(message_of([] { grad([](Array x) { return x; })(kX); })
                .find("grad: the function gives f64[3], but must give one real number\n  at: "
                      "cpp_transforms_test.cpp:"),
            0u);
  std::string text = message_of([] { grad(cubes)(array<int64_t>({1})); });
  EXPECT_NE(text.find("grad: an argument is i64[1], and derivatives are taken by floats"), text.npos) << text;
  EXPECT_NE(text.find("\n  why: a whole number"), text.npos);
  EXPECT_NE(text.find("\n  hint: convert it"), text.npos);
  text = message_of([] { vmap([](Array x, Array y) { return x + sum(y); })(kX, array({1.0, 2.0})); });
  EXPECT_NE(
      text.find("vmap: the mapped axes have different sizes:\n    array 0: 3 along axis 0 of f64[3]\n    "
                "array 1: 2 along axis 0 of f64[2]\n  at: cpp_transforms_test.cpp:"),
      text.npos)
      << text;
  text = message_of([] { vjp([](Array x) { return x; }, kX).second(array({1.0})); });
  EXPECT_NE(text.find("vjp: cotangent 0 is f64[1], but f64[3] is needed"), text.npos) << text;
  text = message_of([] {
    auto wrong = custom_vjp([](Array x) { return x; }, [](Array x) { return std::pair(x, x); },
                            [](Array, Array ct) { return std::tuple(sum(ct)); });
    grad([=](Array x) { return sum(wrong(x)); })(kX);
  });
  EXPECT_NE(text.find("custom_vjp: cotangent 0 of the rule is f64[], but f64[3] is needed"), text.npos)
      << text;
}

}  // namespace
}  // namespace ig
