// Control flow in C++ alone: a branch, Newton's method in a loop that stops when it is done, a recurrence as
// a scan, and derivatives through all of them.
#include <intaglio/control.h>

#include <cstdio>

using ig::Array;

int main() {
  // The root of a, by as many steps as it takes; the loop is one node of the graph.
  auto root = [](Array a) {
    auto going = [=](Array r) { return ig::abs(r * r - a) > 1e-9 * a; };
    auto step = [=](Array r) { return (r + a / r) * 0.5; };
    return ig::while_loop(going, step, a);
  };
  std::printf("root of 2: %.6f, its slope: %.6f\n", ig::jit(root)(ig::scalar(2.0)).item<double>(),
              ig::grad(root)(ig::scalar(2.0)).item<double>());

  // Each row of a batch takes as many steps as it needs.
  std::vector<double> roots = ig::vmap(root)(ig::array({1.0, 4.0, 9.0})).values<double>();
  std::printf("roots: %.3f %.3f %.3f\n", roots[0], roots[1], roots[2]);

  // A leaky sum, and all sums on the way.
  auto leaky = [](Array decay, Array xs) {
    auto step = [=](Array sum, Array x) {
      Array next = sum * decay + x;
      return std::pair(next, next);
    };
    return ig::scan(step, ig::scalar(0.0), xs);
  };
  Array xs = ig::array({1.0, 2.0, 3.0});
  auto [last, sums] = leaky(ig::scalar(0.5), xs);
  std::printf("sums: %g %g %g, the last: %g\n", sums.values<double>()[0], sums.values<double>()[1],
              sums.values<double>()[2], last.item<double>());
  auto of_decay = [=](Array decay) { return leaky(decay, xs).first; };
  std::printf("slope by the decay: %g\n", ig::grad(of_decay)(ig::scalar(0.5)).item<double>());

  // A branch of which one side runs, and one of many.
  auto branch = ig::jit([](Array x) {
    return ig::cond(ig::sum(x) > 0.0, [](Array v) { return v * 2.0; }, [](Array v) { return -v; }, x);
  });
  std::printf("branches: %g %g\n", branch(ig::array({1.0, 2.0})).values<double>()[1],
              branch(ig::array({-1.0, -2.0})).values<double>()[1]);
  auto power = [](Array n, Array x) {
    return ig::switch_(n,
                       std::tuple([](Array v) { return v * 0.0 + 1.0; }, [](Array v) { return v; },
                                  [](Array v) { return v * v; }),
                       x);
  };
  std::printf("powers: %g %g %g\n", power(ig::scalar(0), ig::scalar(3.0)).item<double>(),
              power(ig::scalar(1), ig::scalar(3.0)).item<double>(),
              power(ig::scalar(2), ig::scalar(3.0)).item<double>());

  // Both arrays are read in every step; a factorial by a counter.
  Array factorial =
      ig::fori_loop(1, 6, [](Array i, Array product) { return product * i; }, ig::scalar(int64_t{1}));
  std::vector<double> norms =
      ig::map([](Array row) { return ig::sqrt(ig::sum(row * row)); }, ig::array({3.0, 4.0, 6.0, 8.0}, {2, 2}))
          .values<double>();
  std::printf("5! = %lld, lengths: %g %g\n", static_cast<long long>(factorial.item<int64_t>()), norms[0],
              norms[1]);
}
