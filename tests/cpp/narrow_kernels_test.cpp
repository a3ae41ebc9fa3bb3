// The machine code of narrow products and of gathers of short rows, for all levels, of which the host need
// have none: sums stay in registers, few columns are turned over, and rows come in one piece each.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "codegen/kernel.h"
#include "llvm_test_util.h"
#include "ops/families/array_tools.h"
#include "passes/pass.h"

namespace ig::codegen::test {
namespace {

std::string assembly_of(std::string_view text, const char* level) {
  std::unique_ptr<Graph> graph = Graph::parse(text);
  passes::run(*graph, passes::default_pipeline(), passes::Options());
  std::string out;
  for (const Node* node : graph->body())
    if (node->attrs().find("kind"))
      out += compile_assembly(
          *lower(node, std::vector<bool>(node->operands().size(), false), Target::named(level), {}).function,
          Target::named(level));
  return out;
}

std::string product(int64_t m, int64_t k, int64_t n) {
  return fmt::format(
      "graph @g(%a: f32[{0}, {1}], %b: f32[{1}, {2}]) {{ %c = dot_general(%a, %b) {{lhs_batching_dimensions "
      "= [], "
      "rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], "
      "accumulate = f32}} : "
      "f32[{0}, {2}] return %c }}",
      m, k, n);
}

int64_t count(const std::vector<std::string>& lines, std::string_view what) {
  return std::ranges::count_if(lines,
                               [&](const std::string& l) { return l.find(what) != std::string::npos; });
}

TEST(NarrowKernels, SumsOfOneRegisterStayThere) {
  for (int64_t n : {5, 8})
    for (int64_t k : {64, 256}) {
      const auto body = innermost_loop(assembly_of(product(500, k, n), "x86-64-v3"));
      EXPECT_EQ(count(body, "vfmadd"), 10) << k << " " << n;
      EXPECT_EQ(count(body, "(%rsp"), 0) << k << " " << n;
    }
  // Rows that meet in one set of the cache are fewer.
  EXPECT_EQ(count(innermost_loop(assembly_of(product(496, 1024, 8), "x86-64-v3")), "vfmadd"), 8);
}

TEST(NarrowKernels, FewColumnsAreTurnedOver) {
  for (int64_t n : {2, 3})
    for (const char* level : {"x86-64-v3", "x86-64-v4"}) {
      const auto body = innermost_loop(assembly_of(product(500, 250, n), level));
      const int64_t lanes = level == std::string_view("x86-64-v3") ? 8 : 16;
      EXPECT_EQ(count(body, "vfmadd"), 2 * lanes * n) << level << " " << n;  // two squares
      EXPECT_GT(count(body, "vunpck"), 0) << level << " " << n;
    }
  // Short sums do not repay the turning, nor does a vector that is more than half full.
  EXPECT_EQ(count(innermost_loop(assembly_of(product(500, 20, 3), "x86-64-v3")), "vunpck"), 0);
  EXPECT_EQ(count(innermost_loop(assembly_of(product(500, 250, 5), "x86-64-v3")), "vunpck"), 0);
}

TEST(NarrowKernels, RowsAtNamedPlacesComeInOnePiece) {
  auto rows = [](int64_t width, const char* level) {
    return assembly_of(
        fmt::format(
            "graph @g(%x: f32[100, {0}], %i: i64[64, 1]) {{ %y = gather(%x, %i) {{offset_dims = [1], "
            "collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], "
            "start_index_map = [0], index_vector_dim = 1, slice_sizes = <1, {0}>}} : f32[64, {0}] "
            "%z = add(%y, %y) : f32[64, {0}] return %z }}",
            width),
        level);
  };
  for (int64_t width : {2, 4, 6})
    for (const char* level : {"x86-64-v3", "x86-64-v4"}) {
      const std::string text = rows(width, level);
      EXPECT_EQ(text.find("insertps"), std::string::npos) << width << " " << level;
      EXPECT_EQ(text.find("gather"), std::string::npos) << width << " " << level;
    }
}

// Sums of all types and numbers of lanes, whether or not a register holds them.
TEST(NarrowKernels, SettledSumsAreWhatTheyWere) {
  for (DType type : {DType::I8, DType::U16, DType::I32, DType::I64, DType::F32, DType::F64})
    for (int lanes : {2, 4, 8, 16, 32, 64}) {
      loop::Builder b("settled");
      const uint32_t x = b.add_buffer(type, false, "x"), out = b.add_buffer(type, true, "out");
      const uint32_t sum = b.local(type, lanes, 2, "sum");
      b.vector_for(b.index(0), b.index(lanes), lanes, [&](loop::Expr j) {
        for (int64_t i : {0, 1}) {
          b.assign(sum, b.load(x, j), b.index(i));
          b.settle(sum, b.index(i));
          b.assign(sum, b.read(sum, b.index(i)) + b.load(x, j), b.index(i));
        }
        b.store(out, j, b.read(sum, b.index(0)) + b.read(sum, b.index(1)));
      });
      const auto function = b.finish();
      EXPECT_NE(function->str().find("settle sum"), std::string::npos);
      for (const char* level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
        const Target target = Target::named(level);
        EXPECT_FALSE(compile_assembly(*function, target).empty());
        if (!target.runs_here()) continue;
        const loop::Function* list[] = {function.get()};
        const auto compiled = compile(list, target, 1);
        Literal from = Literal::allocate(type, {lanes}), to = Literal::allocate(type, {lanes}),
                want = Literal::allocate(type, {lanes});
        for (int k = 0; k < lanes; ++k) {
          const auto set = [&](Literal& to_set, int64_t value) {
            if (is_float(type))
              ops::tools::set_real(to_set, k, static_cast<double>(value));
            else
              ops::tools::set_whole(to_set, k, value);
          };
          set(from, k % 25), set(want, 4 * (k % 25));
        }
        void* buffers[] = {from.mutable_data(), to.mutable_data()};
        rt::KernelArgs args;
        args.buffers = buffers;
        EXPECT_EQ(compiled[0].fn(&args, 0, 1), 0);
        EXPECT_EQ(to, want) << name(type) << " x " << lanes << " on " << level;
      }
    }
}

}  // namespace
}  // namespace ig::codegen::test
