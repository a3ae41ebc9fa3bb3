// Kernels of every family on buffers that end exactly at a page that may not be touched, and on buffers that
// begin right behind one, for odd sizes, on each target: a byte read or written outside of a buffer ends the
// test program. The results are compared with the references, and with each other: where a buffer stands must
// not change a bit.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>

#include "codegen/kernel.h"
#include "llvm_test_util.h"
#include "ops/attention_attrs.h"
#include "ops/builder.h"
#include "ops/contraction.h"
#include "ops/families/array_tools.h"
#include "ops/memory.h"
#include "ops/shape_attrs.h"
#include "ops/table.h"
#include "ops/window_attrs.h"
#include "passes/pass.h"
#include "plan/plan.h"

namespace ig::codegen {
namespace {

using test::Guarded;
using Build = std::function<std::vector<Value>(ops::Builder&, std::span<const Value>)>;

struct Case {
  std::string name;
  std::vector<std::string> inputs;
  Build build;
  double bound = 0;  // of the relative difference from the reference; 0: equal where fma is one rounding
  std::set<size_t> constants{};  // inputs that are known when the program is made
  std::string kind{};            // of the last kernel
  bool twice = false;            // whether there may be two kernels
  SymbolValues sizes{};          // of symbols among the sizes of the inputs, which the kernels do not know
  bool far = false;              // whether kernels are told that their arrays lie far from the processor
};

Literal random_literal(const Type& type, const SymbolValues& sizes, std::mt19937& random) {
  std::vector<int64_t> shape;
  for (const Dim& dim : type.dims) shape.push_back(dim.evaluate(sizes));
  Literal out = Literal::allocate(type.dtype, shape);
  std::uniform_int_distribution<int> whole(-40, 40);
  for (int64_t i = 0; i < out.elements(); ++i) {
    int v = whole(random);
    if (is_float(type.dtype))
      ops::tools::set_real(out, i, v / 16.0);
    else
      ops::tools::set_whole(out, i, type.dtype == DType::Bool ? v > 0 : std::abs(v));
  }
  return out;
}

using Buffer = std::shared_ptr<Guarded>;

Buffer guarded_copy(const Literal& literal, bool at_end) {
  auto out = std::make_shared<Guarded>(literal.bytes(), at_end);
  if (literal.bytes() != 0) std::memcpy(out->data(), literal.data(), literal.bytes());
  return out;
}

// Compiles and runs the graph kernel by kernel.
std::vector<Literal> run_guarded(const Graph& source, std::span<const Literal> inputs, const Case& c,
                                 const Target& target, bool at_end) {
  std::unique_ptr<Graph> graph = source.clone();
  passes::Options options;
  options.disabled.insert("join-kernels");  // each kernel is to have pages of its own around what it touches
  options.disabled.insert("one-term-products");  // products of one term reach their kernel as parts do
  passes::run(*graph, passes::default_pipeline(), options);
  std::map<Value, Buffer> buffers;
  for (size_t i = 0; i < inputs.size(); ++i) buffers[graph->inputs()[i]] = guarded_copy(inputs[i], at_end);
  std::string kind;
  for (Node* node : graph->body()) {
    if (node == graph->body().terminator()) break;
    if (const AttrValue* value = node->attrs().find("value"); value && node->operands().empty()) {
      buffers[node->result()] = guarded_copy(std::get<Literal>(*value), at_end);
      continue;
    }
    if (ops::is_relabel(node)) {
      buffers[node->result()] = buffers.at(node->operand(0));
      continue;
    }
    std::vector<bool> constant;
    for (Value v : node->operands())
      constant.push_back(v->node() == nullptr ? c.constants.contains(v->index())
                                              : v->node()->operands().empty());
    Kernel whole = lower(node, constant, target, {.far = c.far, .may_go_twice = c.twice});
    Kernel& kernel = whole.when && whole.when->evaluate(c.sizes) == 0 ? *whole.other : whole;
    if (kernel.when) {
      EXPECT_NE(kernel.when->evaluate(c.sizes), 0);
    }
    EXPECT_TRUE(kernel.when || c.sizes.empty() || c.inputs[1].starts_with("bf16")) << "there is one kernel";
    kind = kernel.kind;
    auto number = [&](const Dim& dim) { return dim.evaluate(c.sizes); };
    std::vector<Buffer> of_call;
    for (Value v : node->operands()) of_call.push_back(buffers.at(v));
    for (Value v : node->results()) {
      auto bytes = static_cast<size_t>(number(v->type().elements())) * size_of(v->type().dtype);
      of_call.push_back(buffers[v] = std::make_shared<Guarded>(bytes, at_end));
    }
    auto call = [&](const loop::Function& function, std::span<const Buffer> arguments, const Dim& blocks,
                    const Dims& own_sizes) {
      const loop::Function* list[] = {&function};
      std::vector<int64_t> sizes;
      for (const Dim& size : own_sizes) sizes.push_back(number(size));
      size_t bytes = 0;
      for (size_t i = 0; i < function.scratch.size(); ++i)
        bytes +=
            (static_cast<size_t>(number(function.scratch_elements[i])) * size_of(function.scratch[i].type) +
             rt::kScratchSpare + 63) /
            64 * 64;
      Guarded scratch(bytes, at_end);
      std::vector<void*> pointers;
      for (const Buffer& b : arguments) pointers.push_back(b->data());
      int64_t error[2] = {};
      rt::KernelArgs args;
      args.buffers = pointers.data();
      args.dims = sizes.data();
      args.scratch = scratch.data();
      args.error = error;
      EXPECT_EQ(compile(list, target, 1)[0].fn(&args, 0, number(blocks)), 0);
    };
    auto run = [&](const Kernel& one) {
      Dims sizes;
      for (const std::string& formula : one.function->sizes) sizes.push_back(Dim::parse(formula));
      call(*one.function, of_call, one.blocks, sizes);
    };
    for (const Kernel::Packing& packing : kernel.packings) {
      Buffer& operand = of_call[static_cast<size_t>(packing.operand)];
      size_t element = size_of(node->operand(static_cast<size_t>(packing.operand))->type().dtype);
      auto packed =
          std::make_shared<Guarded>(static_cast<size_t>(number(packing.elements)) * element, at_end);
      const Buffer both[] = {operand, packed};
      call(*packing.pack, both, packing.blocks, packing.sizes);
      operand = packed;
    }
    for (const auto& [dtype, elements] : kernel.temporaries)
      of_call.push_back(
          std::make_shared<Guarded>(static_cast<size_t>(number(elements)) * size_of(dtype), at_end));
    if (kernel.first) run(*kernel.first);
    run(kernel);
  }
  if (!c.kind.empty()) {
    EXPECT_EQ(kind, c.kind);
  }
  std::vector<Literal> out;
  for (Value v : graph->outputs()) {
    std::vector<int64_t> shape;
    for (const Dim& dim : v->type().dims) shape.push_back(dim.evaluate(c.sizes));
    out.push_back(Literal::allocate(v->type().dtype, shape));
    if (out.back().bytes() != 0)
      std::memcpy(out.back().mutable_data(), buffers.at(v)->data(), out.back().bytes());
  }
  return out;
}

void expect_close(const Literal& got, const Literal& want, double bound) {
  for (int64_t i = 0; i < want.elements(); ++i) {
    if (!is_float(want.dtype())) {
      ASSERT_EQ(got.as_int(i), want.as_int(i)) << "element " << i;
      continue;
    }
    double a = got.as_double(i), b = want.as_double(i);
    ASSERT_LE(std::abs(a - b), bound * std::max(1.0, std::abs(b)))
        << "element " << i << ": " << a << " for " << b;
  }
}

bool same_bits(const Literal& a, const Literal& b) {
  return a.bytes() == b.bytes() && (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

void check(const Case& c) {
  SCOPED_TRACE(c.name);
  Graph graph("guarded");
  std::vector<Value> arguments;
  std::mt19937 random(7);
  std::vector<Literal> inputs;
  for (const auto& [symbol, size] : c.sizes) graph.dims.declare(symbol, {0, Range{}.high});
  for (const std::string& text : c.inputs) {
    arguments.push_back(graph.body().add_arg(Type::parse(text)));
    inputs.push_back(random_literal(arguments.back()->type(), c.sizes, random));
  }
  ops::Builder build(graph.body());
  graph.body().set_results(c.build(build, arguments));
  std::vector<Literal> want = ops::evaluate(graph, inputs);
  std::vector<Target> targets = test::runnable();
  targets.push_back(Target::host());
  std::vector<Literal> with_fma;
  for (const Target& target : targets) {
    SCOPED_TRACE(target.name);
    std::vector<Literal> at_end = run_guarded(graph, inputs, c, target, true);
    std::vector<Literal> at_start = run_guarded(graph, inputs, c, target, false);
    for (size_t i = 0; i < want.size(); ++i) {
      bool exact = c.bound == 0 && (target.fma || !is_float(want[i].dtype()));
      expect_close(at_end[i], want[i], exact ? 0 : std::max(c.bound, 1e-5));
      EXPECT_TRUE(same_bits(at_end[i], at_start[i])) << "the bits depend on where buffers stand";
      if (target.fma && !with_fma.empty()) {
        EXPECT_TRUE(same_bits(at_end[i], with_fma[i])) << "the bits depend on the target";
      }
    }
    if (target.fma && with_fma.empty()) with_fma = std::move(at_end);
  }
}

// x [m, k] or turned over, times y [k, n] or turned over.
Case product(std::string dtype, int64_t m, int64_t k, int64_t n, bool turn_x, bool turn_y, bool constant,
             bool long_tail) {
  auto matrix = [&](int64_t rows, int64_t columns) {
    return fmt::format("{}[{}, {}]", dtype, rows, columns);
  };
  Case c;
  c.name = fmt::format("{} {}x{}x{}{}{}{}{}", dtype, m, k, n, turn_x ? " turned left" : "",
                       turn_y ? " turned right" : "", constant ? " constant" : "",
                       long_tail ? " and work behind" : "");
  c.inputs = {turn_x ? matrix(k, m) : matrix(m, k), turn_y ? matrix(n, k) : matrix(k, n),
              fmt::format("{}[{}]", dtype, n)};
  c.kind = "contraction";
  if (constant) c.constants = {1};
  c.build = [=](ops::Builder& b, std::span<const Value> v) {
    Value out = b("dot_general", {v[0], v[1]},
                  {ops::kLhsContract % Ints{turn_x ? 0 : 1}, ops::kRhsContract % Ints{turn_y ? 1 : 0}});
    Value bias = b.broadcast_to(v[2], out->type().dims);
    out = b("add", {out, bias});
    if (long_tail) {
      out = b("multiply", {out, bias});
      out = b("maximum", {out, bias});
      out = b("subtract", {out, bias});
      out = b("minimum", {out, bias});
    }
    return std::vector<Value>{out};
  };
  return c;
}

TEST(GuardPages, MatrixProducts) {
  int turn = 0;
  for (auto [m, k, n] : {std::array<int64_t, 3>{1, 1, 1},
                         {1, 37, 70},
                         {3, 9, 1030},
                         {2, 300, 5},
                         {7, 13, 17},
                         {16, 33, 48},
                         {13, 700, 33},
                         {70, 65, 1},
                         {131, 40, 67},
                         {1, 1024, 50},  // rows that share places in the cache
                         {3, 512, 21}})
    for (bool constant : {false, true}) {
      ++turn;
      check(product("f32", m, k, n, false, false, constant, turn % 2 == 0));
      check(product("f32", m, k, n, turn % 3 == 0, true, constant, turn % 2 == 1));
    }
  check(product("f32", 70, 130, 600, true, false, false, false));
}

// Few rows pack the other operand block by block; many have it packed before.
TEST(GuardPages, MatrixProductsOfAnySizes) {
  auto any_rows = [](std::string dtype, int64_t m, int64_t k, int64_t n, bool turn_y, bool long_tail) {
    Case c = product(dtype, m, k, n, false, turn_y, false, long_tail);
    c.name += " of any rows";
    c.inputs[0] = fmt::format("{}[m, {}]", dtype, k);
    c.sizes = {{"m", m}};
    c.twice = true;
    return c;
  };
  auto any = [](std::string dtype, int64_t m, int64_t k, int64_t n, bool turn_x, bool turn_y,
                bool long_tail) {
    Case c = product(dtype, m, k, n, turn_x, turn_y, false, long_tail);
    c.name += " of any sizes";
    c.inputs = {dtype + (turn_x ? "[k, m]" : "[m, k]"), dtype + (turn_y ? "[n, k]" : "[k, n]"),
                dtype + "[n]"};
    c.sizes = {{"m", m}, {"k", k}, {"n", n}};
    c.twice = true;
    return c;
  };
  int turn = 0;
  for (auto [m, k, n] : {std::array<int64_t, 3>{1, 1, 1},
                         {7, 13, 17},
                         {192, 19, 65},
                         {193, 1, 3},
                         {193, 0, 9},
                         {200, 21, 130},
                         {0, 5, 7},
                         {260, 7, 0},
                         {301, 33, 48},
                         {385, 9, 1030}}) {
    ++turn;
    check(any("f32", m, k, n, false, false, turn % 2 == 0));
    check(any("f32", m, k, n, turn % 3 == 0, true, turn % 2 == 1));
  }
  check(any("f32", 195, 2100, 35, false, false, true));  // several chunks
  check(any("f32", 195, 2100, 35, true, true, false));
  for (int64_t m : {3, 330, 700})
    for (bool turned : {false, true}) {
      check(any_rows("f32", m, 90, 83, turned, m == 330));
      check(any_rows("f64", m, 9, 1100, turned, m == 700));
    }
  check(any("f64", 230, 1030, 19, false, true, false));
  check(any("bf16", 230, 40, 35, false, false, true));
  check(any("i32", 230, 40, 35, false, true, true));
}

TEST(GuardPages, MatrixProductsOfOtherTypes) {
  for (const char* dtype : {"f64", "f16", "bf16", "i32", "i8"})
    for (bool constant : {false, true}) {
      check(product(dtype, 5, 21, 19, false, true, constant, constant));
      check(product(dtype, 14, 9, 35, true, false, constant, !constant));
    }
}

// Few rows, or one column: squares of the other operand are turned over in registers.
TEST(GuardPages, ProductsThatTurnSquares) {
  int turn = 0;
  for (const char* dtype : {"f32", "f64", "i32", "i64"})
    for (int64_t k : {4, 9, 16, 35})
      for (int64_t n : {1, 7, 15, 16, 33, 48, 63}) {
        ++turn;
        check(product(dtype, 1 + turn % 4, k, n, false, true, false, turn % 3 == 0));
        check(product(dtype, n, k, 1, false, turn % 2 == 0, false, turn % 3 == 1));
      }
  // Lines of columns that share one place in the cache: the second of two squares runs behind the first one,
  // by fewer lines where there are no more.
  for (int64_t k : {1024, 3072})
    for (int64_t n : {7, 16, 35}) check(product("f32", 1, k, n, false, true, false, n == 35));
  Case few = product("f32", 1, 67, 35, false, true, false, false);
  few.name += " of a wider matrix";
  few.inputs[1] = "f32[35, 1024]";
  few.build = [build = few.build](ops::Builder& b, std::span<const Value> v) {
    const Value cut = b("slice", {v[1]},
                        {ops::kStart % Dims{int64_t{0}, int64_t{5}},
                         ops::kLimit % Dims{int64_t{35}, int64_t{72}}, ops::kSliceStrides % Ints{1, 1}});
    const Value all[] = {v[0], cut, v[2]};
    return build(b, all);
  };
  check(few);
}

TEST(GuardPages, BatchedProducts) {
  // Heads as attention has them: [batch, place, head, feature], read in place.
  check({.name = "heads",
         .inputs = {"f32[2, 9, 3, 5]", "f32[2, 11, 3, 5]"},
         .build =
             [](ops::Builder& b, std::span<const Value> v) {
               Value q = b.transpose(v[0], {0, 2, 1, 3}), k = b.transpose(v[1], {0, 2, 1, 3});
               return std::vector<Value>{b("dot_general", {q, k},
                                           {ops::kLhsBatch % Ints{0, 1}, ops::kRhsBatch % Ints{0, 1},
                                            ops::kLhsContract % Ints{3}, ops::kRhsContract % Ints{3}})};
             },
         .kind = "contraction"});
}

TEST(GuardPages, Convolutions) {
  auto convolution = [](std::string dtype, std::string image, std::string kernel, Ints strides, Ints padding,
                        int64_t groups, std::string layout, bool constant, Ints gaps = {},
                        bool turned = false, std::string kind = "contraction") {
    Case c;
    c.name =
        fmt::format("convolution {} {} {} {}{}", dtype, image, kernel, layout, constant ? " constant" : "");
    c.inputs = {dtype + image, dtype + kernel};
    if (constant) c.constants = {1};
    c.kind = kind;
    c.build = [=](ops::Builder& b, std::span<const Value> v) {
      Value y = b("convolution", {v[0], v[1]},
                  {ops::kConvLayout % layout, ops::kConvStrides % strides, ops::kConvPadding % padding,
                   ops::kFeatureGroups % groups, ops::kLhsDilation % gaps, ops::kRhsDilation % Ints{},
                   ops::kBatchGroups % int64_t{1}, ops::kAccumulate % DType::F32});
      return std::vector<Value>{turned ? b.transpose(y, {0, 3, 1, 2}) : y};
    };
    return c;
  };
  for (bool constant : {false, true}) {
    check(convolution("f32", "[2, 3, 7, 9]", "[21, 3, 3, 3]", {1, 1}, {1, 1, 1, 1}, 1, "bf01_oi01->bf01",
                      constant));
    check(convolution("f32", "[1, 5, 13, 11]", "[8, 5, 1, 1]", {1, 1}, {0, 0, 0, 0}, 1, "bf01_oi01->bf01",
                      constant));
    check(convolution("f32", "[1, 9, 12, 6]", "[3, 2, 3, 10]", {2, 1}, {1, 0, 0, 2}, 2, "b01f_01io->b01f",
                      constant));
    check(convolution("f16", "[1, 3, 17]", "[5, 3, 4]", {2}, {2, 1}, 1, "bf0_oi0->bf0", constant));
    check(convolution("f64", "[1, 4, 5, 5]", "[4, 1, 3, 3]", {1, 1}, {1, 1, 1, 1}, 4, "bf01_oi01->bf01",
                      constant));
    // Several chunks of places; weights that are walked by rows of taps; more than two axes; features last.
    check(convolution("f32", "[2, 3, 33, 31]", "[20, 3, 7, 7]", {2, 2}, {3, 3, 3, 3}, 1, "bf01_oi01->bf01",
                      constant));
    check(convolution("f32", "[1, 64, 17, 18]", "[15, 64, 3, 3]", {1, 1}, {1, 1, 1, 1}, 1, "bf01_oi01->bf01",
                      constant));
    check(convolution("f32", "[1, 2, 500]", "[6, 2, 5]", {1}, {4, 0}, 1, "bf0_oi0->bf0", constant));
    check(convolution("f32", "[1, 5, 6, 7, 8]", "[5, 5, 2, 3, 3]", {1, 2, 1}, {1, 0, 1, 1, 0, 2}, 1,
                      "bf012_oi012->bf012", constant));
    check(convolution("f32", "[1, 9, 70, 10]", "[3, 3, 10, 20]", {1, 1}, {1, 1, 1, 1}, 1, "b01f_01io->b01f",
                      constant));
    check(convolution("f64", "[1, 6, 9, 33]", "[40, 3, 2, 4]", {1, 3}, {0, 1, 2, 2}, 2, "bf01_oi01->bf01",
                      constant));
    // Weights that the second cache does not hold; gaps in the image; many small images; images side by side;
    // finished values that the kernel turns over.
    check(convolution("f32", "[1, 5, 6, 300]", "[17, 300, 3, 3]", {1, 1}, {1, 1, 1, 1}, 1, "b01f_oi01->b01f",
                      constant));
    check(convolution("f32", "[1, 3, 5, 6]", "[7, 3, 3, 3]", {1, 1}, {1, 2, 1, 1}, 1, "bf01_oi01->bf01",
                      constant, {2, 3}));
    check(convolution("f64", "[2, 4, 5, 3]", "[3, 3, 3, 4]", {2, 1}, {3, 2, 0, 1}, 1, "b01f_01io->b01f",
                      constant, {3, 2}));
    check(convolution("f32", "[11, 3, 4, 5]", "[18, 5, 3, 3]", {1, 1}, {1, 1, 1, 1}, 1, "b01f_oi01->b01f",
                      constant));
    check(convolution("f32", "[9, 5, 6, 13]", "[9, 7, 2, 3]", {1, 1}, {1, 0, 0, 1}, 1, "f01b_io01->b01f",
                      constant));
    check(convolution("f16", "[3, 9, 10, 6]", "[21, 6, 3, 3]", {1, 2}, {1, 1, 1, 1}, 1, "b01f_oi01->b01f",
                      constant, {}, true));
    // Narrow groups, taken together: features last, and first.
    check(convolution("f32", "[2, 5, 9, 36]", "[36, 4, 3, 3]", {1, 1}, {1, 1, 1, 1}, 9, "b01f_oi01->b01f",
                      constant));
    check(convolution("f32", "[1, 15, 6, 7]", "[10, 3, 2, 3]", {2, 1}, {0, 1, 1, 0}, 5, "bf01_oi01->bf01",
                      constant));
    // Depthwise, by rows: strips outside of the rows and inside, a last strip of a few features, both ends
    // cut.
    check(convolution("f32", "[2, 7, 13, 20]", "[20, 1, 3, 3]", {1, 1}, {1, 1, 1, 1}, 20, "b01f_oi01->b01f",
                      constant));
    check(convolution("f32", "[1, 5, 112, 32]", "[32, 1, 3, 5]", {2, 1}, {1, 1, 2, 2}, 32, "b01f_oi01->b01f",
                      constant));
    check(convolution("f64", "[1, 3, 4, 9]", "[9, 1, 2, 3]", {1, 2}, {0, 1, 0, 2}, 9, "b01f_oi01->b01f",
                      constant, {1, 2}));
  }
  // By minimal filtering: features last and first, odd numbers of places, results turned over, borders cut
  // off.
  for (bool constant : {false, true})
    for (bool twice : {false, true}) {
      auto filtering = [&](std::string dtype, std::string image, std::string kernel, Ints padding,
                           std::string layout, bool turned = false) {
        Case c =
            convolution(dtype, image, kernel, {1, 1}, padding, 1, layout, constant, {}, turned, "winograd");
        c.twice = twice;
        check(c);
      };
      filtering("f32", "[1, 10, 11, 16]", "[3, 3, 16, 37]", {1, 1, 1, 1}, "b01f_01io->b01f");
      filtering("f32", "[2, 19, 9, 15]", "[16, 19, 3, 3]", {1, 2, 0, 1}, "bf01_oi01->bf01");
      filtering("f64", "[1, 13, 12, 17]", "[20, 17, 3, 3]", {1, 1, 1, 1}, "b01f_oi01->b01f", true);
      filtering("f32", "[33, 2, 12, 14]", "[3, 3, 33, 18]", {-1, 1, 2, -1}, "fb10_10io->bf01");
      filtering("f64", "[16, 1, 30, 11]", "[16, 48, 3, 3]", {0, 0, 0, 0}, "fb01_io01->f01b");
      // Gradients by the taps.
      filtering("f32", "[2, 17, 11, 10]", "[2, 37, 11, 10]", {1, 1, 1, 1}, "fb01_io01->fb01");
      filtering("f64", "[1, 12, 11, 33]", "[1, 10, 11, 16]", {0, 0, 1, 1}, "f01b_i01o->01bf");
      filtering("f32", "[1, 11, 12, 16]", "[1, 12, 10, 24]", {2, 1, -1, 1}, "f01b_i01o->b01f", true);
    }
  // Depthwise: vectors along the last axis, its ends apart.
  for (const char* dtype : {"f32", "f16", "i32"})
    for (int64_t stride : {1, 2})
      check(convolution(dtype, "[1, 3, 6, 75]", "[3, 1, 3, 5]", {1, stride}, {1, 1, 2, 2}, 3,
                        "bf01_oi01->bf01", false));
  for (const char* dtype : {"f32", "f16", "i32"})
    for (int64_t features : {3, 16, 37})
      check(convolution(dtype, fmt::format("[2, 9, 8, {}]", features), fmt::format("[{}, 1, 3, 3]", features),
                        {1, 2}, {1, 1, 1, 1}, features, "b01f_oi01->b01f", features == 16));
}

// Gradients by the weights of depthwise convolutions. Where the arrays are far away, a row of places asks for
// the next one meanwhile, of which the last has none.
TEST(GuardPages, DepthwiseGradients) {
  for (bool far : {false, true})
    for (const char* dtype : {"f32", "f64", "bf16"})
      for (int64_t features : {3, 16, 37})
        for (int64_t stride : {1, 2}) {
          const int64_t rows = 5, columns = 9, row_places = (rows + 1 - 3) / stride + 1,
                        column_places = (columns + 2 - 3) / stride + 1;
          Case c;
          c.name =
              fmt::format("depthwise gradient {} {} by {}{}", dtype, features, stride, far ? " far" : "");
          c.inputs = {fmt::format("{}[2, {}, {}, {}]", dtype, rows, columns, features),
                      fmt::format("{}[2, {}, {}, {}]", dtype, row_places, column_places, features)};
          c.bound = std::string_view(dtype) == "bf16" ? 1e-2 : 1e-5;
          c.kind = "depthwise_gradient";
          c.far = far;
          // What the last places do not reach of the image is cut off its high end.
          const int64_t row_cut = (row_places - 1) * stride + 3 - rows - 1,
                        column_cut = (column_places - 1) * stride + 3 - columns - 1;
          c.build = [=](ops::Builder& b, std::span<const Value> v) {
            return std::vector<Value>{
                b("convolution", {v[0], v[1]},
                  {ops::kConvLayout % std::string("f01b_i01o->01bf"), ops::kConvStrides % Ints{1, 1},
                   ops::kConvPadding % Ints{1, row_cut, 1, column_cut}, ops::kFeatureGroups % int64_t{1},
                   ops::kLhsDilation % Ints{}, ops::kRhsDilation % Ints{stride, stride},
                   ops::kBatchGroups % features, ops::kAccumulate % DType::F32})};
          };
          check(c);
        }
}

TEST(GuardPages, Windows) {
  for (const char* dtype : {"f32", "f16", "i64"})
    for (const char* op : {"reduce_window_max", "reduce_window_sum"})
      for (int64_t width : {9, 131})
        for (int64_t stride : {1, 2})
          check({.name = fmt::format("{} {} {} by {}", op, dtype, width, stride),
                 .inputs = {fmt::format("{}[2, 5, {}]", dtype, width)},
                 .build =
                     [=](ops::Builder& b, std::span<const Value> v) {
                       return std::vector<Value>{
                           b(op, {v[0]},
                             {ops::kWindow % Ints{1, 3, 3}, ops::kWindowStrides % Ints{1, 2, stride},
                              ops::kWindowDilations % Ints{1, 1, 1},
                              ops::kWindowPadding % Ints{0, 0, 1, 0, 1, 2}})};
                     },
                 .kind = "heavy"});
}

TEST(GuardPages, Attention) {
  auto attention = [](std::string dtype, std::string q, std::string k, std::string v, std::string mask,
                      bool causal, double bound) {
    Case c;
    c.name = fmt::format("attention {} {} {} {} {}{}", dtype, q, k, v, mask, causal ? " causal" : "");
    c.inputs = {dtype + q, dtype + k, dtype + v};
    if (!mask.empty()) c.inputs.push_back(mask);
    c.bound = bound;
    c.kind = "contraction";
    c.build = [=](ops::Builder& b, std::span<const Value> in) {
      return std::vector<Value>{b("scaled_dot_product_attention", std::vector<Value>(in.begin(), in.end()),
                                  {ops::kCausal % causal, ops::kScale % 0.0})};
    };
    return c;
  };
  for (bool causal : {false, true}) {
    check(attention("f32", "[2, 7, 5]", "[2, 131, 5]", "[2, 131, 19]", "", causal, 1e-5));
    check(attention("f32", "[1, 3, 61, 16]", "[1, 3, 140, 16]", "[1, 3, 140, 33]", "bool[1, 1, 1, 140]",
                    causal, 1e-5));
    check(attention("f32", "[50, 3]", "[50, 3]", "[50, 2]", "f32[50, 50]", causal, 1e-5));
    check(attention("f64", "[3, 13, 4]", "[3, 9, 4]", "[3, 9, 8]", "bool[3, 13, 9]", causal, 1e-12));
    check(attention("f16", "[2, 5, 8]", "[2, 20, 8]", "[2, 20, 5]", "bool[20]", causal, 4e-3));
  }
}

TEST(GuardPages, AttentionGradient) {
  struct Sizes {
    std::string batch;  // "" or "2, 3, "
    int64_t queries, keys, features, columns;
  };
  auto gradient = [](std::string dtype, const Sizes& of, std::string mask, bool causal, bool by_mask,
                     double bound) {
    auto shape = [&](int64_t rows, int64_t columns) {
      return fmt::format("{}[{}{}, {}]", dtype, of.batch, rows, columns);
    };
    Case c;
    c.name = fmt::format("attention gradient {} {} {}{}", shape(of.queries, of.features),
                         shape(of.keys, of.columns), mask, causal ? " causal" : "");
    c.inputs = {shape(of.queries, of.features), shape(of.keys, of.features), shape(of.keys, of.columns),
                shape(of.queries, of.columns)};
    if (!mask.empty()) c.inputs.push_back(mask);
    c.bound = bound;
    c.kind = "contraction";
    c.build = [=](ops::Builder& b, std::span<const Value> in) {
      std::vector<Value> forward(in.begin(), in.begin() + 3);
      if (in.size() > 4) forward.push_back(in[4]);
      std::vector<Value> all =
          b.many("attention_with_sums", forward, {ops::kCausal % causal, ops::kScale % 0.0});
      all.insert(all.begin(), forward.begin(), forward.begin() + 3);
      all.push_back(in[3]);
      if (in.size() > 4) all.push_back(in[4]);
      return b.many("attention_gradient", all,
                    {ops::kCausal % causal, ops::kScale % 0.0, ops::kMaskGradient % by_mask});
    };
    return c;
  };
  for (bool causal : {false, true}) {
    check(gradient("f32", {"9, ", 7, 131, 5, 19}, "", causal, false, 1e-4));
    check(gradient("f32", {"1, 3, ", 61, 140, 16, 33}, "bool[1, 1, 1, 140]", causal, false, 1e-4));
    check(gradient("f32", {"", 50, 50, 3, 2}, "f32[50, 50]", causal, true, 1e-4));
    check(gradient("f32", {"2, 3, ", 20, 30, 4, 4}, "f32[3, 20, 30]", causal, true, 1e-4));
    check(gradient("f64", {"3, ", 13, 9, 4, 8}, "bool[3, 13, 9]", causal, false, 1e-11));
    check(gradient("f16", {"2, ", 5, 20, 8, 5}, "bool[20]", causal, false, 2e-2));
  }
}

TEST(GuardPages, Loops) {
  auto twice = [](ops::Builder& b, std::span<const Value> v) {
    return std::vector<Value>{b("add", {b("multiply", {v[0], v[1]}), v[0]})};
  };
  for (const char* dtype : {"f32", "f64", "f16", "bf16", "i8", "i16", "i64"})
    for (const char* shape : {"[1]", "[5, 13]", "[3, 43]", "[0, 4]"})
      check({.name = std::string("chain ") + dtype + shape,
             .inputs = {std::string(dtype) + shape, std::string(dtype) + shape},
             .build = twice,
             .bound = 1e-6,
             .kind = "loop"});
}

TEST(GuardPages, LoopsAcross) {
  for (const char* dtype : {"f32", "f64", "f16", "u8", "i64", "bool"})
    for (auto [rows, columns] : {std::pair{5, 4}, {67, 9}, {64, 130}, {3, 70}})
      check({.name = fmt::format("turned over {} {}x{}", dtype, rows, columns),
             .inputs = {fmt::format("{}[2, {}, {}]", dtype, rows, columns),
                        fmt::format("{}[2, {}, {}]", dtype, columns, rows)},
             .build =
                 [](ops::Builder& b, std::span<const Value> v) {
                   Value x = b.transpose(v[0], {0, 2, 1});
                   return std::vector<Value>{x->type().dtype == DType::Bool ? b("or", {x, v[1]})
                                                                            : b("add", {x, v[1]})};
                 },
             .kind = "loop"});
}

// The colours of pixels, points, repeated elements: a number for each of a row, and one for each row.
TEST(GuardPages, LoopsOverShortRows) {
  for (const char* dtype : {"f32", "f64", "f16", "u8", "i64"})
    for (int64_t row : {2, 3, 4, 5, 6, 7, 8, 11, 12, 15})
      for (auto [before, rows] : {std::pair<int64_t, int64_t>{1, 1}, {3, 2}, {1, 67}, {2, 40}, {1, 3001}}) {
        if (rows > 1000 && row > 3) continue;
        check({.name = fmt::format("short rows {} {}x{}x{}", dtype, before, rows, row),
               .inputs = {fmt::format("{}[{}, {}, {}]", dtype, before, rows, row),
                          fmt::format("{}[{}]", dtype, row), fmt::format("{}[{}, {}]", dtype, before, rows)},
               .build =
                   [](ops::Builder& b, std::span<const Value> v) {
                     const Dims& dims = v[0]->type().dims;
                     Value scaled = b("multiply", {v[0], b.broadcast(v[2], dims, {0, 1})});
                     return std::vector<Value>{b("add", {scaled, b.broadcast(v[1], dims, {2})})};
                   },
               .bound = 1e-6,
               .kind = "loop"});
      }
}

TEST(GuardPages, Folds) {
  auto fold = [](const char* op, Ints axes) {
    return [=](ops::Builder& b, std::span<const Value> v) {
      return std::vector<Value>{b(op, {b("add", {v[0], v[0]})}, {ops::kAxes % axes})};
    };
  };
  for (const char* dtype : {"f32", "f64", "f16", "i32", "u8"})
    for (const char* op : {"reduce_sum", "reduce_max", "reduce_argmin"}) {
      auto add = [&](const char* shape, Ints axes, const char* kind) {
        check({.name = fmt::format("{} {}{}", op, dtype, shape),
               .inputs = {std::string(dtype) + shape},
               .build = fold(op, axes),
               .bound = 1e-3,
               .kind = kind});
      };
      add("[3, 77]", {1}, "row");
      add("[9, 5]", {0}, "column");
      add("[3, 5, 7]", {0, 2}, "column");
    }
  check({.name = "many columns",
         .inputs = {"f32[9, 1100]"},
         .build = fold("reduce_sum", {0}),
         .bound = 1e-5,
         .kind = "column"});
}

TEST(GuardPages, Softmax) {
  for (const char* shape : {"f32[3, 37]", "f32[2, 300]", "f64[5, 9]", "f16[4, 65]"})
    check({.name = std::string("softmax ") + shape,
           .inputs = {shape},
           .build =
               [](ops::Builder& b, std::span<const Value> v) {
                 return std::vector<Value>{b("softmax", {v[0]}, {ops::kAxis % int64_t{1}})};
               },
           .bound = 2e-3,
           .kind = "row"});
}

}  // namespace
}  // namespace ig::codegen
