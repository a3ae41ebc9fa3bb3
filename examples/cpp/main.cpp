// Capture, compile and run in C++ alone: a branch on a value, a size that varies, and a graph saved as text.
#include <intaglio/intaglio.h>

#include <cstdio>

int main() {
  // The branch depends on a value: each outcome is a trace of its own, chosen by what the arguments give.
  auto risky = ig::jit([](ig::Array x) { return ig::sum(x) > 0 ? x * 2.0 : x - 1.0; });
  for (float sign : {1.0f, -1.0f, 1.0f, -1.0f}) {
    ig::Array y = risky(ig::array({sign, 2 * sign}));
    std::printf("risky: %g %g\n", y.values<float>()[0], y.values<float>()[1]);
  }
  std::printf("traces of risky: %zu\n", risky.traces());

  // The second size that an axis takes makes it symbolic, so many sizes are two traces.
  auto layer = ig::jit([](ig::Array x, ig::Array w, ig::Array b) { return ig::relu(ig::matmul(x, w) + b); });
  ig::Array w = ig::array<float>({1, 0, 0, 1, 1, 1}, {3, 2}), b = ig::array({0.5f, -0.5f});
  for (int64_t rows : {2, 3, 5, 8}) {
    std::vector<float> ones(static_cast<size_t>(3 * rows), 1.0f);
    ig::Array y = layer(ig::array(ones, {rows, 3}), w, b);
    std::printf("layer: %lld rows, first %g\n", static_cast<long long>(y.size(0)), y.values<float>()[0]);
  }
  std::printf("traces of layer: %zu\n", layer.traces());

  // One closed graph, as text, which the intaglio command and Graph::parse read.
  ig::Dim n = ig::Dim::symbol("n");
  ig::record::Traced traced = ig::trace([](ig::Array x) { return ig::relu(x) + 1.0; },
                                        {{ig::Type::tensor(ig::DType::F32, {n}), "x"}}, "shifted");
  std::fputs(traced.graph->str().c_str(), stdout);
  std::shared_ptr<ig::Program> program = ig::compile(*traced.graph);
  ig::Tensor x = ig::array({-1.0f, 3.0f}).tensor();
  ig::Array y = program->run(std::vector<ig::Tensor>{x})[0];
  std::printf("compiled: %g %g\n", y.values<float>()[0], y.values<float>()[1]);
}
