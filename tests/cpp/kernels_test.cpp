// What kernels promise beyond their references: sums in the type asked for, bits that depend on neither rows
// nor threads, packed weights in their own type, and text of a program's machine code.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include <fmt/format.h>

#include "codegen/jit.h"
#include "ops/builder.h"
#include "ops/contraction.h"
#include "ops/families/array_tools.h"
#include "ops/table.h"
#include "runtime/thread_pool.h"
#include "tensor/program.h"
#include "tensor_of.h"

namespace ig {
namespace {

Literal random_matrix(DType dtype, std::vector<int64_t> dims, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Literal out = Literal::allocate(dtype, std::move(dims));
  for (int64_t i = 0; i < out.elements(); ++i) ops::tools::set_real(out, i, normal(random));
  return out;
}

std::unique_ptr<Graph> product_graph(const Type& x, const Type& y, const Literal* constant,
                                     DType accumulate) {
  auto graph = std::make_unique<Graph>("product");
  Value left = graph->body().add_arg(x);
  ops::Builder build(graph->body());
  Value right = nullptr;
  if (constant)
    right = build.constant(*constant);
  else
    right = graph->body().add_arg(y);
  graph->body().set_results(
      {build("dot_general", {left, right},
             {ops::kLhsContract % Ints{1}, ops::kRhsContract % Ints{0}, ops::kAccumulate % accumulate})});
  return graph;
}

Tensor multiply(const Literal& x, const Literal& y, bool constant = false, DType accumulate = DType::F32) {
  auto graph = product_graph(x.type(), y.type(), constant ? &y : nullptr, accumulate);
  std::vector<Tensor> inputs{tensor_of(x)};
  if (!constant) inputs.push_back(tensor_of(y));
  return compile(*graph)->run(inputs)[0];
}

Literal rows_of(const Literal& matrix, int64_t rows) {
  Literal out = Literal::allocate(matrix.dtype(), {rows, matrix.dims()[1]});
  std::memcpy(out.mutable_data(), matrix.data(), out.bytes());
  return out;
}

TEST(Kernels, ProductsSumInTheTypeAskedFor) {
  // 2^24 + 1 - 2^24 is 1 in float64 and 0 in float32.
  Literal x = Literal::allocate(DType::F32, {1, 3}), y = Literal::allocate(DType::F32, {3, 20});
  ops::tools::set_real(x, 0, 16777216.0);
  ops::tools::set_real(x, 1, 1);
  ops::tools::set_real(x, 2, -16777216.0);
  for (int64_t i = 0; i < y.elements(); ++i) ops::tools::set_real(y, i, 1);
  for (bool constant : {false, true}) {
    Tensor wide = multiply(x, y, constant, DType::F64), narrow = multiply(x, y, constant, DType::F32);
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(static_cast<const float*>(wide.data())[i], 1.0f);
      EXPECT_EQ(static_cast<const float*>(narrow.data())[i], 0.0f);
    }
  }
}

TEST(Kernels, ARowsBitsDependOnNothingElse) {
  Literal x = random_matrix(DType::F32, {100, 700}, 1), y = random_matrix(DType::F32, {700, 90}, 2);
  Tensor whole = multiply(x, y);
  for (int64_t rows : {1, 2, 5, 6, 7, 16, 97})
    for (bool constant : {false, true}) {
      Tensor part = multiply(rows_of(x, rows), y, constant);
      EXPECT_EQ(std::memcmp(part.data(), whole.data(), static_cast<size_t>(rows) * 90 * 4), 0)
          << rows << " rows" << (constant ? ", constant" : "");
    }
}

TEST(Kernels, BitsDoNotDependOnThreads) {
  Literal x = random_matrix(DType::F32, {300, 300}, 3), y = random_matrix(DType::F32, {300, 300}, 4);
  auto graph = product_graph(x.type(), y.type(), nullptr, DType::F32);
  auto program = compile(*graph);
  std::vector<Tensor> inputs{tensor_of(x), tensor_of(y)};
  rt::ThreadPool& pool = rt::ThreadPool::instance();
  int before = pool.num_threads();
  pool.set_num_threads(1);
  Tensor one = program->run(inputs)[0];
  pool.set_num_threads(4);
  Tensor four = program->run(inputs)[0];
  pool.set_num_threads(before);
  EXPECT_EQ(std::memcmp(one.data(), four.data(), 300 * 300 * 4), 0);
}

TEST(Kernels, NarrowWeightsArePackedAsTheyAre) {
  for (DType dtype : {DType::F16, DType::BF16}) {
    Literal x = random_matrix(dtype, {9, 40}, 5), y = random_matrix(dtype, {40, 35}, 6);
    const Literal operands[] = {x, y};
    Literal want = ops::evaluate(*product_graph(x.type(), y.type(), nullptr, DType::F32), operands)[0];
    Tensor packed = multiply(x, y, true), plain = multiply(x, y, false);
    EXPECT_EQ(std::memcmp(packed.data(), plain.data(), want.bytes()), 0);
    if (codegen::Target::host().fma) {
      EXPECT_EQ(std::memcmp(packed.data(), want.data(), want.bytes()), 0);
    }
  }
}

// The powers of softmax are computed once, though three loops of its kernel stand on them: they are scaled
// once, by an instruction of AVX-512 or a shift into the exponent, for each register of a group of 32
// columns.
TEST(Kernels, SoftmaxComputesItsPowersOnce) {
  auto graph =
      Graph::parse("graph @g(%x: f32[64, 256]) { %y = softmax(%x) {axis = -1} : f32[64, 256] return %y }");
  std::string text = compile(*graph)->assembly();
  const int bytes = codegen::Target::host().vector_bytes;
  const char* scaled = bytes == 64 ? "vscalefps\t" : "pslld\t$20";
  int found = 0;
  for (size_t at = text.find(scaled); at != std::string::npos; at = text.find(scaled, at + 1)) ++found;
  EXPECT_EQ(found, 32 * 4 / bytes) << text;
}

// Whatever number of rows are taken at a time, and on whatever target: one after the other.
TEST(Kernels, ColumnsAreSummedRowAfterRow) {
  for (int64_t rows : {1, 2, 3, 4, 5, 7, 8, 63, 130})
    for (int64_t columns : {65, 1100}) {
      Literal x = random_matrix(DType::F32, {rows, columns}, 7);
      auto values = static_cast<const float*>(x.data());
      std::vector<float> want(static_cast<size_t>(columns), 0.0f);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) want[static_cast<size_t>(c)] += values[r * columns + c];
      for (const char* shape : {"", "n"}) {
        auto graph = Graph::parse(
            *shape ? fmt::format(
                         "graph @g(%x: f32[n, {}]) where n {{ %y = reduce_sum(%x) {{axes = [0]}} : f32[{}] "
                         "return %y }}",
                         columns, columns)
                   : fmt::format(
                         "graph @g(%x: f32[{}, {}]) {{ %y = reduce_sum(%x) {{axes = [0]}} : f32[{}] return "
                         "%y }}",
                         rows, columns, columns));
        Tensor got = compile(*graph)->run({{tensor_of(x)}})[0];
        EXPECT_EQ(std::memcmp(got.data(), want.data(), want.size() * 4), 0)
            << rows << " x " << columns << shape;
      }
    }
}

// Rows are written part by part, where arrays are put together or have borders: parts of any width.
TEST(Kernels, RowsOfPartsAreThoseParts) {
  for (int64_t first : {1, 3, 33, 130})
    for (int64_t then : {1, 31, 64, 200})
      for (const char* target : {"", "x86-64-v2"}) {
        const int64_t both = first + then, all = 2 * both + then + 5;
        auto graph = Graph::parse(fmt::format(
            "graph @g(%x: f32[5, {0}], %y: f32[5, {1}], %z: f32[]) {{"
            "  %j = concatenate(%x, %y) {{axis = 1}} : f32[5, {2}]"
            "  %p = pad(%j, %z) {{low = <1, 3>, high = <0, 2>, interior = [0, 0]}} : f32[6, {3}]"
            "  %w = concatenate(%y, %j) {{axis = 1}} : f32[5, {4}]"
            "  %q = pad(%w, %z) {{low = <0, -1>, high = <1, {5}>, interior = [0, 0]}} : f32[6, {6}]"
            "  %a = concatenate(%p, %q) {{axis = 1}} : f32[6, {7}]"
            "  %r = add(%a, %a) : f32[6, {7}]"
            "  return %j, %r }}",
            first, then, both, both + 5, then + both, 1, then + both, all));
        const Literal inputs[] = {random_matrix(DType::F32, {5, first}, 11),
                                  random_matrix(DType::F32, {5, then}, 12),
                                  random_matrix(DType::F32, {}, 13)};
        const std::vector<Literal> want = ops::evaluate(*graph, inputs);
        CompileOptions options;
        options.target = target;
        std::vector<Tensor> tensors;
        for (const Literal& input : inputs) tensors.push_back(tensor_of(input));
        const std::vector<Tensor> got = compile(*graph, options)->run(tensors);
        for (size_t i = 0; i < want.size(); ++i)
          EXPECT_EQ(std::memcmp(got[i].data(), want[i].data(), want[i].bytes()), 0)
              << first << " and " << then << ", result " << i << " on " << target;
      }
}

// Where an array has a border along the first axis, rows in it and rows behind it have loops of their own, so
// that none asks of its elements which it is.
TEST(Kernels, BordersInFrontOfRowsTakeNoMasks) {
  if (!codegen::Target::named("x86-64-v3").runs_here()) return;
  for (const char* shape : {"64, 128", "64, 40, 3"}) {
    const std::string rest = std::string(shape) == "64, 128" ? "0" : "0, 0";
    auto graph = Graph::parse(
        fmt::format("graph @g(%x: f32[{0}], %z: f32[]) {{"
                    "  %a = pad(%x, %z) {{low = <3, {1}>, high = <0, {1}>, interior = [0, {1}]}} : f32[67{2}]"
                    "  %b = pad(%x, %z) {{low = <0, {1}>, high = <3, {1}>, interior = [0, {1}]}} : f32[67{2}]"
                    "  %r = add(%a, %b) : f32[67{2}]"
                    "  return %r }}",
                    shape, rest, std::string(shape).substr(2)));
    CompileOptions options;
    options.target = "x86-64-v3";
    const std::string text = compile(*graph, options)->assembly();
    for (const char* masked : {"mask", "blend"}) EXPECT_EQ(text.find(masked), text.npos) << text;
    EXPECT_NE(text.find("vaddps"), text.npos) << text;
  }
}

std::unique_ptr<Graph> convolution_graph(const Literal& x, const Literal& w, const Literal* constant) {
  auto graph = std::make_unique<Graph>("convolution");
  Value image = graph->body().add_arg(x.type());
  ops::Builder build(graph->body());
  Value kernel = constant ? build.constant(*constant) : graph->body().add_arg(w.type());
  graph->body().set_results({build(
      "convolution", {image, kernel},
      {ops::kConvLayout % std::string("b01f_oi01->b01f"), ops::kConvStrides % Ints{1, 1},
       ops::kConvPadding % Ints{1, 1, 1, 1}, ops::kLhsDilation % Ints{}, ops::kRhsDilation % Ints{},
       ops::kFeatureGroups % int64_t{1}, ops::kBatchGroups % int64_t{1}, ops::kAccumulate % DType::F32})});
  return graph;
}

TEST(Kernels, AnImagesBitsDependOnNeitherThreadsNorTheBatch) {
  Literal x = random_matrix(DType::F32, {9, 7, 11, 20}, 5), w = random_matrix(DType::F32, {40, 20, 3, 3}, 6);
  const int64_t image = 7 * 11;
  Literal last = Literal::allocate(DType::F32, {1, 7, 11, 20});
  std::memcpy(last.mutable_data(), static_cast<const float*>(x.data()) + 8 * image * 20, last.bytes());
  rt::ThreadPool& pool = rt::ThreadPool::instance();
  const int before = pool.num_threads();
  std::vector<Tensor> results;
  for (int threads : {1, 4})
    for (bool constant : {false, true}) {
      pool.set_num_threads(threads);
      std::vector<Tensor> inputs{tensor_of(x)}, one{tensor_of(last)};
      if (!constant) inputs.push_back(tensor_of(w)), one.push_back(tensor_of(w));
      results.push_back(compile(*convolution_graph(x, w, constant ? &w : nullptr))->run(inputs)[0]);
      Tensor alone = compile(*convolution_graph(last, w, constant ? &w : nullptr))->run(one)[0];
      EXPECT_EQ(std::memcmp(alone.data(), static_cast<const float*>(results[0].data()) + 8 * image * 40,
                            image * 40 * sizeof(float)),
                0);
    }
  pool.set_num_threads(before);
  for (const Tensor& result : results)
    EXPECT_EQ(std::memcmp(result.data(), results[0].data(), 9 * image * 40 * sizeof(float)), 0);
}

TEST(Kernels, AProgramShowsItsAssembly) {
  Type matrix = Type::parse("f32[64, 64]");
  CompileOptions options;
  options.target = "x86-64-v2";
  std::string text = compile(*product_graph(matrix, matrix, nullptr, DType::F32), options)->assembly();
  EXPECT_NE(text.find("contraction_1:"), std::string::npos) << text.substr(0, 400);
  EXPECT_NE(text.find("mulps"), std::string::npos);
}

// The inner loops of large products and convolutions keep all running sums in registers.
void expect_no_spill(const Graph& graph) {
  CompileOptions options;
  options.target = "x86-64-v3";
  std::string text = compile(graph, options)->assembly();
  size_t fused = 0;
  for (size_t at = text.find("vfmadd"); at != std::string::npos; at = text.find("vfmadd", at + 1)) {
    size_t end = text.find('\n', at);
    EXPECT_EQ(text.substr(at, end - at).find("rsp"), std::string::npos) << text.substr(at, end - at);
    ++fused;
  }
  EXPECT_GE(fused, 24u);
}

TEST(Kernels, ProductsDoNotSpill) {
  if (!codegen::Target::named("x86-64-v3").runs_here()) return;
  Type matrix = Type::parse("f32[600, 600]");
  expect_no_spill(*product_graph(matrix, matrix, nullptr, DType::F32));
}

TEST(Kernels, ConvolutionsDoNotSpill) {
  if (!codegen::Target::named("x86-64-v3").runs_here()) return;
  Literal x = random_matrix(DType::F32, {1, 14, 14, 64}, 7), w = random_matrix(DType::F32, {64, 64, 3, 3}, 8);
  expect_no_spill(*convolution_graph(x, w, nullptr));
  expect_no_spill(*convolution_graph(x, w, &w));
}

}  // namespace
}  // namespace ig
