// Derivatives and batching in C++ alone: a small network trained by a compiled step, many problems solved at
// once by vmap, second derivatives, and a gradient of one's own.
#include <intaglio/transforms.h>

#include <cstdio>

using ig::Array;

int main() {
  // A line is fitted by descent: the step, its gradient inside, is one compiled program.
  Array x = ig::array({0.0, 1.0, 2.0, 3.0}), y = ig::array({1.0, 3.0, 5.0, 7.0});
  using Line = std::pair<Array, Array>;
  auto loss = [=](Line line) {
    Array difference = line.first * x + line.second - y;
    return ig::sum(difference * difference);
  };
  auto step = ig::jit([=](Array slope, Array offset) {
    auto [value, gradient] = ig::value_and_grad(loss)(Line(slope, offset));
    return std::vector<Array>{slope - 0.02 * gradient.first, offset - 0.02 * gradient.second, value};
  });
  Array slope = ig::scalar(0.0), offset = ig::scalar(0.0);
  for (int i = 0; i < 300; ++i) {
    std::vector<Array> next = step(slope, offset);
    slope = next[0], offset = next[1];
  }
  std::printf("fitted: %.3f x + %.3f, %zu trace\n", slope.item<double>(), offset.item<double>(),
              step.traces());

  // Newton's method for the roots of x^2 = a, written for one a, with derivatives by jvp, for many at once.
  auto root = [](Array a) {
    Array at = a * 0.0 + 1.0;
    for (int i = 0; i < 6; ++i) {
      auto f = [&](Array x) { return x * x - a; };
      auto [value, slope] = ig::jvp(f, std::tuple(at), std::tuple(at * 0.0 + 1.0));
      at = at - value / slope;
    }
    return at;
  };
  Array roots = ig::vmap(root)(ig::array({1.0, 4.0, 9.0}));
  std::printf("roots: %.3f %.3f %.3f\n", roots.values<double>()[0], roots.values<double>()[1],
              roots.values<double>()[2]);

  auto energy = [](Array p) { return ig::sum(p * p * p) + ig::sum(p) * ig::sum(p); };
  std::vector<double> h = ig::hessian(energy)(ig::array({1.0, 2.0})).values<double>();
  std::printf("hessian: [%g %g; %g %g]\n", h[0], h[1], h[2], h[3]);

  // The value as it is, the gradient no longer than 1.
  auto clipped =
      ig::custom_vjp([](Array x) { return x; }, [](Array x) { return std::pair(x, std::vector<Array>{}); },
                     [](std::vector<Array>, Array cotangent) {
                       Array length = ig::sqrt(ig::sum(cotangent * cotangent));
                       return std::tuple(cotangent / ig::where(length > 1.0, length, 1.0));
                     });
  Array gradient =
      ig::grad([=](Array x) { return ig::sum(10.0 * clipped(x)); })(ig::array({1.0, 2.0, 3.0, 4.0}));
  std::printf("clipped: %g\n", gradient.values<double>()[0]);
}
