// What lies across a kernel's walk is turned over by tiles, walked another way, or written out first: which
// of these does not show in the bits. Each program reads a transposed (and reversed) array; the other one is
// given the same array as it lies after that.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/target.h"
#include "ops/attrs.h"
#include "ops/builder.h"
#include "ops/families/array_tools.h"
#include "ops/shape_attrs.h"
#include "tensor/program.h"
#include "tensor_of.h"

namespace ig {
namespace {

struct Case {
  std::vector<int64_t> shape;
  Ints permutation, reversed, axes;  // axes folded; none: element-wise work alone
};

// The expression of what is read, by one name.
Value program(ops::Builder& build, Value read, const std::string& what, const Ints& axes) {
  if (what == "moved") return build("add", {read, read}, {});
  if (what == "sum") return build("reduce_sum", {build("multiply", {read, read}, {})}, {ops::kAxes % axes});
  if (what == "max") return build("reduce_max", {read}, {ops::kAxes % axes});
  if (what == "first") return build("reduce_argmax", {read}, {ops::kAxes % Ints{axes.back()}});
  // Two stages: each element less the largest of its fold.
  Value largest = build("reduce_max", {read}, {ops::kAxes % axes});
  Ints kept;
  for (int64_t axis = 0; axis < read->type().rank(); ++axis)
    if (std::ranges::find(axes, axis) == axes.end()) kept.push_back(axis);
  return build("subtract", {read, build.broadcast(largest, read->type().dims, kept)}, {});
}

void check(const Case& c, DType dtype, const char* target) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  Literal x = Literal::allocate(dtype, c.shape);
  for (int64_t i = 0; i < x.elements(); ++i) {
    if (is_float(dtype))
      ops::tools::set_real(x, i, 4 * normal(random));
    else
      ops::tools::set_whole(x, i, static_cast<int64_t>(random() % 100));
  }
  auto view = [&](ops::Builder& build, Value v) {
    v = build("transpose", {v}, {ops::kPermutation % c.permutation});
    return c.reversed.empty() ? v : build("reverse", {v}, {ops::kReversed % c.reversed});
  };
  Graph moved("moved");
  {
    ops::Builder build(moved.body());
    moved.body().set_results({view(build, moved.body().add_arg(x.type()))});
  }
  const Literal t = ops::evaluate(moved, std::span(&x, 1))[0];
  CompileOptions options;
  options.target = target;
  std::vector<std::string> programs = {"moved"};
  if (!c.axes.empty()) programs = {"sum", "max", "first", "stages"};
  for (const std::string& what : programs) {
    Graph across("across"), along("along");
    for (Graph* graph : {&across, &along}) {
      ops::Builder build(graph->body());
      Value read = graph->body().add_arg((graph == &across ? x : t).type());
      if (graph == &across) read = view(build, read);
      graph->body().set_results({program(build, read, what, c.axes)});
    }
    Tensor got = compile(across, options)->run({{tensor_of(x)}})[0];
    Tensor want = compile(along, options)->run({{tensor_of(t)}})[0];
    EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0)
        << fmt::format("{} of {} by {}, {} reversed, over {}, {} on {}", what, c.shape, c.permutation,
                       c.reversed, c.axes, name(dtype), target);
  }
}

const char* const kTargets[] = {"", "x86-64-v3", "x86-64-v2"};

TEST(Across, FoldsHaveTheBitsOfTheirOrder) {
  const Case cases[] = {
      {{65, 130}, {1, 0}, {}, {1}},                // rows that lie across
      {{65, 130}, {1, 0}, {}, {0}},                // columns, turned over
      {{65, 130}, {1, 0}, {0, 1}, {0}},            // from end to start
      {{65, 130}, {1, 0}, {}, {0, 1}},             // all
      {{3, 2500}, {1, 0}, {}, {0}},                // pieces of columns
      {{2500, 9}, {1, 0}, {}, {1}},                // long rows
      {{66000, 5}, {1, 0}, {}, {1}},               // pieces of rows
      {{5, 7, 9}, {2, 0, 1}, {}, {1}},             // vectors along another axis than the last one kept
      {{6, 20, 30, 8}, {0, 3, 1, 2}, {}, {2, 3}},  // places of an image with its features last
      {{6, 20, 30, 8}, {0, 3, 1, 2}, {}, {0, 2, 3}},
      {{4, 11, 13, 7}, {2, 3, 1, 0}, {}, {0, 1, 2, 3}},
      {{7, 40, 3}, {0, 2, 1}, {}, {2}},  // colours
      {{7, 3, 40}, {0, 2, 1}, {}, {2}},
      {{7, 3, 40}, {0, 2, 1}, {}, {1}},
      {{0, 40}, {1, 0}, {}, {0}},
  };
  for (const Case& c : cases)
    for (DType dtype : {DType::F32, DType::F64, DType::F16})
      for (const char* target : kTargets)
        if (dtype == DType::F32 || *target == '\0') check(c, dtype, target);
}

TEST(Across, ElementsAreMovedAsTheyAre) {
  for (int64_t colours : {2, 3, 4, 5})
    for (int64_t places : {1, 15, 33, 1030})
      for (DType dtype : {DType::U8, DType::F16, DType::F32, DType::I64})
        for (const char* target : kTargets)
          for (const Ints& reversed : {Ints{}, Ints{1}, Ints{2}}) {
            if (dtype == DType::I64 && *target != '\0') continue;
            check({{2, colours, places}, {0, 2, 1}, reversed, {}}, dtype, target);
            check({{2, places, colours}, {0, 2, 1}, reversed, {}}, dtype, target);
            check({{2, places, colours}, {1, 2, 0}, reversed, {}}, dtype, target);
          }
}

}  // namespace
}  // namespace ig
