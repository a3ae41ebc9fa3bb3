// Known answers, worked out by hand or taken from a publication, for the references that no other library
// checks: pad, scatter, select_and_scatter, sort's NaN, threefry, control flow; and the algebra that
// `simplify` states.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/attrs.h"
#include "ops/builder.h"
#include "ops/families/array_tools.h"
#include "ops/order_attrs.h"
#include "ops/random_attrs.h"
#include "ops/shape_attrs.h"
#include "ops/table.h"
#include "ops/window_attrs.h"

namespace ig::ops {
namespace {

using Pairs = std::vector<std::pair<std::string, AttrValue>>;

Literal floats(std::vector<int64_t> dims, std::vector<float> values) {
  return Literal::from<float>(DType::F32, std::move(dims), values);
}
Literal longs(std::vector<int64_t> dims, std::vector<int64_t> values) {
  return Literal::from<int64_t>(DType::I64, std::move(dims), values);
}
std::vector<double> values_of(const Literal& l) {
  std::vector<double> out;
  for (int64_t i = 0; i < l.elements(); ++i)
    out.push_back(is_float(l.dtype()) ? l.as_double(i) : static_cast<double>(l.as_int(i)));
  return out;
}
std::vector<Literal> run(std::string_view op, std::vector<Literal> operands, Pairs attrs = {}) {
  return evaluate(get(op), complete_attrs(get(op), make_attrs(std::move(attrs))), operands);
}
std::vector<double> values(std::string_view op, std::vector<Literal> operands, Pairs attrs = {}) {
  return values_of(run(op, std::move(operands), std::move(attrs))[0]);
}

TEST(Ops2Known, PadWithInnerAndNegativePadding) {
  EXPECT_EQ(values("pad", {floats({3}, {1, 2, 3}), floats({}, {9})},
                   {kPadLow % Dims{-1}, kPadHigh % Dims{2}, kPadInterior % Ints{1}}),
            (std::vector<double>{9, 2, 9, 3, 9, 9}));
}

TEST(Ops2Known, ScatterAddsInOrderAndLeavesOutWhatIsOutside) {
  Pairs attrs{kUpdateWindowDims % Ints{}, kInsertedDims % Ints{0}, kScatterMap % Ints{0},
              kIndexVectorDim % int64_t{1}};
  std::vector<Literal> operands{floats({3}, {1, 2, 3}), longs({4}, {1, -1, 3, 1}),
                                floats({4}, {10, 20, 30, 40})};
  EXPECT_EQ(values("scatter", operands, attrs), (std::vector<double>{1, 40, 3}));
  attrs.push_back(kUpdate % std::string("add"));
  EXPECT_EQ(values("scatter", operands, attrs), (std::vector<double>{1, 52, 3}));
}

TEST(Ops2Known, SelectAndScatterTakesTheFirstGreatest) {
  EXPECT_EQ(values("select_and_scatter_add", {floats({4}, {1, 5, 5, 2}), floats({3}, {1, 10, 100})},
                   {kWindow % Ints{2}}),
            (std::vector<double>{0, 11, 100, 0}));
}

TEST(Ops2Known, SortPutsNanLastAndKeepsEqualOnesInOrder) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  for (bool descending : {false, true}) {
    std::vector<Literal> sorted = run("sort", {floats({5}, {2, nan, 1, 2, 1}), longs({5}, {0, 1, 2, 3, 4})},
                                      {kAxis % int64_t{0}, kDescending % descending});
    EXPECT_EQ(values_of(sorted[1]),
              descending ? (std::vector<double>{0, 3, 2, 4, 1}) : (std::vector<double>{2, 4, 0, 3, 1}));
  }
  std::vector<Literal> top = run("top_k", {floats({4}, {1, nan, 3, 3})}, {kK % int64_t{3}});
  EXPECT_EQ(values_of(top[1]), (std::vector<double>{1, 2, 3}));
}

// Random123's known-answer file, kat_vectors: threefry2x32 with 20 rounds of the zero key and the zero
// counter, which is what random_split's first key is made of.
TEST(Ops2Known, ThreefryOfZeros) {
  Literal key = run("random_key", {longs({}, {0})})[0];
  Literal keys = run("random_split", {key}, {kCount % int64_t{1}})[0];
  const auto* words = static_cast<const uint32_t*>(keys.data());
  EXPECT_EQ(words[0], 0x6b200159u);
  EXPECT_EQ(words[1], 0x99ba4efeu);
}

TEST(Ops2Known, AttentionOfNoKeyIsZero) {
  Literal q = floats({2, 1}, {1, 2}), k = floats({2, 1}, {1, 1}), v = floats({2, 1}, {3, 5});
  Literal mask = Literal::from<uint8_t>(DType::Bool, {2, 2}, {1, 0, 0, 0});
  EXPECT_EQ(values("scaled_dot_product_attention", {q, k, v, mask}), (std::vector<double>{3, 0}));
}

// --- control flow
// ------------------------------------------------------------------------------------------------------
const Type kNumber = Type::tensor(DType::F32, {});

std::unique_ptr<Graph> region(
    std::vector<Type> arguments,
    const std::function<std::vector<Value>(Builder&, std::span<const Value>)>& body) {
  auto graph = std::make_unique<Graph>("region");
  std::vector<Value> values;
  for (Type& type : arguments) values.push_back(graph->body().add_arg(std::move(type)));
  Builder build(graph->body());
  graph->body().set_results(body(build, values));
  return graph;
}

std::vector<std::unique_ptr<Graph>> regions(std::unique_ptr<Graph> a, std::unique_ptr<Graph> b = nullptr) {
  std::vector<std::unique_ptr<Graph>> out;
  out.push_back(std::move(a));
  if (b) out.push_back(std::move(b));
  return out;
}

TEST(Ops2Control, ScanCarriesAndStacks) {
  for (bool reverse : {false, true}) {
    Graph graph("scan");
    Value start = graph.body().add_arg(kNumber), xs = graph.body().add_arg(Type::tensor(DType::F32, {3}));
    Builder build(graph.body());
    auto body = region({kNumber, kNumber}, [](Builder& b, std::span<const Value> v) {
      Value sum = b("add", {v[0], v[1]});
      return std::vector<Value>{sum, sum};
    });
    Node* scan = build.node(get("scan"), {start, xs}, make_attrs({{"reverse", reverse}}), {0, 1, 1},
                            regions(std::move(body)));
    graph.body().set_results({scan->result(0), scan->result(1)});
    verify(graph);
    std::vector<Literal> inputs{floats({}, {10}), floats({3}, {1, 2, 3})};
    std::vector<Literal> out = evaluate(graph, inputs);
    EXPECT_EQ(values_of(out[0]), (std::vector<double>{16}));
    EXPECT_EQ(values_of(out[1]),
              reverse ? (std::vector<double>{16, 15, 13}) : (std::vector<double>{11, 13, 16}));
  }
}

TEST(Ops2Control, WhileRunsUntilItsConditionIsFalse) {
  Graph graph("while");
  Value start = graph.body().add_arg(kNumber), limit = graph.body().add_arg(kNumber);
  Builder build(graph.body());
  auto condition = region({kNumber, kNumber}, [](Builder& b, std::span<const Value> v) {
    return std::vector<Value>{b("less", {v[1], v[0]})};
  });
  auto body = region({kNumber, kNumber}, [](Builder& b, std::span<const Value> v) {
    return std::vector<Value>{b("add", {v[1], v[1]})};
  });
  Node* loop =
      build.node(get("while"), {limit, start}, {}, {1, 1}, regions(std::move(condition), std::move(body)));
  graph.body().set_results({loop->result()});
  verify(graph);
  std::vector<Literal> inputs{floats({}, {3}), floats({}, {20})};
  EXPECT_EQ(values_of(evaluate(graph, inputs)[0]), (std::vector<double>{24}));
}

TEST(Ops2Control, CondNamesBothTypesWhereTheyDiffer) {
  Graph graph("cond");
  Value predicate = graph.body().add_arg(Type::tensor(DType::Bool, {})), x = graph.body().add_arg(kNumber);
  Builder build(graph.body());
  auto same = [](Builder&, std::span<const Value> v) { return std::vector<Value>{v[0]}; };
  auto other = [](Builder& b, std::span<const Value> v) {
    return std::vector<Value>{b.convert(v[0], DType::F64)};
  };
  try {
    build.node(get("cond"), {predicate, x}, {}, {},
               regions(region({kNumber}, same), region({kNumber}, other)));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.summary(), "cond: value 0 of the else branch is f64[], but of the then branch f32[]");
  }
  Node* cond = build.node(get("cond"), {predicate, x}, {}, {},
                          regions(region({kNumber}, same), region({kNumber}, same)));
  graph.body().set_results({cond->result()});
  std::vector<Literal> inputs{Literal::from<uint8_t>(DType::Bool, {}, {1}), floats({}, {4})};
  EXPECT_EQ(values_of(evaluate(graph, inputs)[0]), (std::vector<double>{4}));
}

// --- algebra
// -----------------------------------------------------------------------------------------------------------
Value simplified(Builder& build, Value value) {
  SimplifyContext context{build, value->node(), build.graph().dims};
  return op_of(value->node()).rules.simplify.get()(context);
}

TEST(Ops2Algebra, ViewsOfViewsJoin) {
  Graph graph("views");
  Value x = graph.body().add_arg(Type::tensor(DType::F32, {Dim::symbol("b"), 6}));
  Builder b(graph.body());
  Value there = b.transpose(x, {1, 0});
  EXPECT_EQ(simplified(b, b.transpose(there, {1, 0})), x);
  Value flat = b.reshape(x, {Dim::symbol("b") * 6});
  EXPECT_EQ(simplified(b, b.reshape(flat, x->type().dims)), x);
  Value rows =
      b("slice", {x}, {kStart % Dims{0, 1}, kLimit % Dims{Dim::symbol("b"), 6}, kSliceStrides % Ints{1, 1}});
  Value inner = b("slice", {rows},
                  {kStart % Dims{0, 1}, kLimit % Dims{Dim::symbol("b"), 5}, kSliceStrides % Ints{1, 2}});
  Value joined = simplified(b, inner);
  EXPECT_EQ(str(joined->node()->attrs().get(kStart)), "[0, 2]");
  EXPECT_EQ(joined->type(), inner->type());
  Value whole = b("pad", {x, b.scalar(DType::F32, 0)},
                  {kPadLow % Dims{0, 0}, kPadHigh % Dims{0, 0}, kPadInterior % Ints{0, 0}});
  EXPECT_EQ(simplified(b, whole), x);
  EXPECT_EQ(simplified(b, b("concatenate", {x}, {kAxis % int64_t{0}})), x);
}

TEST(Ops2Symbolic, MatmulAndSoftmaxKeepTheirSymbols) {
  Graph graph("symbols");
  graph.dims.declare("b", {1, 64});
  Value x = graph.body().add_arg(Type::tensor(DType::F32, {Dim::symbol("b"), 4}));
  Value w = graph.body().add_arg(Type::tensor(DType::F32, {4, 3}));
  Builder b(graph.body());
  EXPECT_EQ(b("matmul", {x, w})->type().str(), "f32[b, 3]");
  EXPECT_EQ(b("softmax", {x})->type().str(), "f32[b, 4]");
  EXPECT_EQ(b("concat", {x, x})->type().str(), "f32[2*b, 4]");
}

}  // namespace
}  // namespace ig::ops
