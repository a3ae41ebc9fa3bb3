// Batch rules out of the op table: for each op, sample and kind of dtype, batched along every axis of each
// operand alone and of all together, against the op on one row after the other, bit for bit, by the reference
// rules. Then the driver's own promises: what is common stays common, two axes at once, no row, one row,
// sizes that are symbols.
#include "transforms/batch.h"

#include <gtest/gtest.h>

#include <cstring>

#include "ops2_cases.h"

namespace ig::transforms {
namespace {

using ops::Case, ops::Op;
using Rows = std::vector<Literal>;

std::vector<int64_t> with_axis(std::vector<int64_t> dims, int axis, int64_t size) {
  dims.insert(dims.begin() + axis, size);
  return dims;
}

// Calls `copy(place in the stack, row, place in the row)` for each element.
template <typename Copy>
void each_element(const std::vector<int64_t>& dims, int axis, int64_t size, Copy copy) {
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < dims.size(); ++i) (static_cast<int>(i) < axis ? outer : inner) *= dims[i];
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t row = 0; row < size; ++row)
      for (int64_t i = 0; i < inner; ++i) copy((o * size + row) * inner + i, row, o * inner + i);
}

Literal stacked(const Rows& rows, const Literal& like, int axis) {
  auto size = static_cast<int64_t>(rows.size());
  Literal out = Literal::allocate(like.dtype(), with_axis(like.dims(), axis, size));
  each_element(like.dims(), axis, size, [&](int64_t to, int64_t row, int64_t from) {
    ops::tools::copy_element(out, to, rows[static_cast<size_t>(row)], from);
  });
  return out;
}

// What a row of an operand is in the `row`-th example: the elements moved on, a lone number made another
// one, and truths turned round, as what is folded of all of them is the same however they are moved.
Literal variant(const Literal& x, int64_t row) {
  Literal out = Literal::allocate(x.dtype(), x.dims());
  int64_t n = x.elements();
  for (int64_t i = 0; i < n; ++i) ops::tools::copy_element(out, i, x, (i + row * 2) % n);
  if (n == 1 && (is_integer(x.dtype()) || x.dtype() == DType::Key))
    ops::tools::set_whole(out, 0, x.as_int(0) + row);
  if (n == 1 && is_float(x.dtype()))
    ops::tools::set_real(out, 0, x.as_double(0) * (1 + 0.125 * static_cast<double>(row)));
  if (x.dtype() == DType::Bool && row == 2)
    for (int64_t i = 0; i < n; ++i) ops::tools::set_whole(out, i, 1 - out.as_int(i));
  return out;
}

bool same_bits(const Literal& a, const Literal& b) {
  return a.dtype() == b.dtype() && a.dims() == b.dims() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

std::unique_ptr<Graph> graph_of(const Op& op, const Case& c) {
  auto graph = std::make_unique<Graph>("one");
  std::vector<Value> values;
  for (const Literal& x : c.operands) values.push_back(graph->body().add_arg(x.type()));
  Node* node = ops::Builder(graph->body()).node(op, values, c.attrs);
  graph->body().set_results({node->results().begin(), node->results().end()});
  return graph;
}

// `axes` of the inputs; results at `out`, or at their ends where it is negative. True where the last row is
// another than the first: rows that came in a wrong order would show.
bool compare(const Graph& graph, const Case& c, const std::vector<int>& axes, int64_t size, int out,
             bool symbolic) {
  BatchOptions options{axes, symbolic ? Dim::symbol("rows") : Dim(size), {}};
  for (Value v : graph.outputs()) options.out_axes.push_back(out < 0 ? v->type().rank() : 0);
  std::unique_ptr<Graph> batched;
  try {
    batched = batch(graph, options);
    ops::verify(*batched);
  } catch (const Error& error) {
    ADD_FAILURE() << error.what() << "\n" << graph.str();
    return true;
  }
  Rows inputs;
  std::vector<Rows> examples(static_cast<size_t>(size));
  for (size_t i = 0; i < c.operands.size(); ++i) {
    Rows rows;
    for (int64_t row = 0; row < size; ++row) {
      rows.push_back(axes[i] < 0 ? c.operands[i] : variant(c.operands[i], row));
      examples[static_cast<size_t>(row)].push_back(rows.back());
    }
    inputs.push_back(axes[i] < 0 ? c.operands[i] : stacked(rows, c.operands[i], axes[i]));
  }
  Rows have = ops::evaluate(*batched, inputs);
  std::vector<Rows> want;  // [row][result]
  for (const Rows& example : examples) want.push_back(ops::evaluate(graph, example));
  bool differ = false;
  for (size_t r = 0; r < have.size(); ++r) {
    auto dims = constant_dims(graph.outputs()[r]->type().dims);
    EXPECT_TRUE(dims.has_value());
    if (!dims) return true;
    Literal like = Literal::allocate(graph.outputs()[r]->type().dtype, *dims);
    Rows rows;
    for (const Rows& row : want) rows.push_back(row[r]);
    Literal whole = stacked(rows, like, options.out_axes[r]);
    EXPECT_TRUE(same_bits(have[r], whole)) << "result " << r << "\n" << graph.str() << batched->str();
    differ |= size > 1 && !same_bits(rows.front(), rows.back());
  }
  return differ;
}

std::vector<DType> kinds(const Op& op) {
  std::vector<DType> out;
  for (DType want : {DType::F32, DType::I32, DType::Bool, DType::U64, DType::Key})
    if (contains(op.decl.dtypes, want) && out.size() < 3) out.push_back(want);
  if (contains(op.decl.dtypes, DType::C64)) out.push_back(DType::C64);
  return out;
}

TEST(Batch, EveryOpOnEveryAxisIsTheLoop) {
  size_t compared = 0;
  for (const Op* op : ops::all()) {
    if (!ops::is_asked_for(*op)) continue;
    if (op->has(ops::Trait::Control) || op->has(ops::Trait::Effect) || op->decl.operands.empty()) continue;
    bool differ = op->decl.samples.empty();
    for (const ops::Sample& sample : op->decl.samples)
      for (DType dtype : kinds(*op)) {
        if (sample.operands.find("T[") == std::string::npos && dtype != kinds(*op)[0]) continue;
        SCOPED_TRACE(op->decl.name + "(" + sample.operands + ") " + sample.attrs + " " +
                     std::string(name(dtype)));
        Case c = ops::case_of(*op, sample.operands, sample.attrs.empty() ? "{}" : sample.attrs, dtype,
                              sample.low, sample.high);
        std::unique_ptr<Graph> graph;
        try {
          graph = graph_of(*op, c);
        } catch (const Error&) {
          continue;  // not an op of this dtype after all
        }
        const std::vector<int> none(c.operands.size(), kNotBatched);
        for (size_t i = 0; i < c.operands.size(); ++i)
          for (int axis = 0; axis <= static_cast<int>(c.operands[i].dims().size()); ++axis) {
            std::vector<int> axes = none;
            axes[i] = axis;
            compare(*graph, c, axes, 3, axis == 0 ? 0 : -1, false);
          }
        std::vector<int> first(c.operands.size(), 0), last, mixed;
        for (size_t i = 0; i < c.operands.size(); ++i) {
          auto rank = static_cast<int>(c.operands[i].dims().size());
          last.push_back(rank);
          mixed.push_back(i % 2 ? rank : 0);
        }
        for (const auto& axes : {first, last, mixed}) differ |= compare(*graph, c, axes, 3, 0, false);
        compare(*graph, c, first, 1, -1, false);
        compare(*graph, c, first, 0, 0, false);
        compare(*graph, c, first, 3, 0, true);
        ++compared;
      }
    EXPECT_TRUE(differ) << op->decl.name << ": all rows of all samples are the same";
  }
  if (ops::all_asked_for()) {
    EXPECT_GT(compared, 1000u);
  }
}

// Every rule is written, or says why there is none; a composite without one is batched by its body.
TEST(Batch, EveryOpHasARuleOrAReason) {
  for (const Op* op : ops::all()) {
    if (op->rules.batch) continue;
    EXPECT_NE(op->rules.batch.reason(), "to be written with the transforms") << op->decl.name;
    EXPECT_TRUE(op->rules.body || op->decl.operands.empty() || op->rules.lower.way == ops::Way::Group ||
                op->rules.lower.kind == ops::LowerRule::Kind::None)
        << op->decl.name;
  }
}

TEST(Batch, TwoAxes) {
  auto graph = Graph::parse(
      "graph @g(%x: f32[4], %w: f32[3, 4]) {\n"
      "  %y = dot_general(%w, %x) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], "
      "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[3]\n"
      "  %z = tanh(%y) : f32[3]\n"
      "  return %z\n}\n");
  auto once = batch(*graph, {{0, kNotBatched}, 5, {0}});
  auto twice = batch(*once, {{2, kNotBatched}, 7, {1}});
  EXPECT_EQ(twice->inputs()[0]->type().str(), "f32[5, 4, 7]");
  EXPECT_EQ(twice->outputs()[0]->type().str(), "f32[5, 7, 3]");
  ops::verify(*twice);
}

TEST(Batch, WhatIsCommonIsComputedOnce) {
  auto graph = Graph::parse(
      "graph @g(%x: f32[4], %y: f32[4]) {\n"
      "  %a = exponential(%y) : f32[4]\n"
      "  %b = add(%x, %a) : f32[4]\n"
      "  return %b, %a\n}\n");
  auto batched = batch(*graph, {{0, kNotBatched}, 8, {0, kNotBatched}});
  EXPECT_EQ(batched->outputs()[0]->type().str(), "f32[8, 4]");
  EXPECT_EQ(batched->outputs()[1]->type().str(), "f32[4]");
  EXPECT_EQ(batched->body().first()->result()->type().str(), "f32[4]");
}

// A matrix times each of many vectors is one product of matrices.
TEST(Batch, MatrixTimesVectorsIsOneProduct) {
  auto graph = Graph::parse(
      "graph @g(%w: f32[3, 4], %x: f32[4]) {\n"
      "  %y = dot_general(%w, %x) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], "
      "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[3]\n"
      "  return %y\n}\n");
  auto batched = batch(*graph, {{kNotBatched, 0}, 100, {1}});
  EXPECT_EQ(batched->node_count(), 1u) << batched->str();
}

// What a kernel may want whole stays whole, with its axes moved.
TEST(Batch, CompositesStayWhole) {
  auto batched_op = [](const char* op, const char* operands, const char* attrs, std::vector<int> axes) {
    auto graph = graph_of(ops::get(op), ops::case_of(ops::get(op), operands, attrs, DType::F32, -1, 1));
    auto batched = batch(*graph, {axes, 2, {0}});
    return batched->node_count() == 1 ? batched->body().first()->op().name() : batched->str();
  };
  EXPECT_EQ(batched_op("softmax", "T[3, 4]", "{axis = 0}", {0}), "softmax");
  EXPECT_EQ(batched_op("gelu", "T[3, 4]", "{}", {0}), "gelu");
  EXPECT_EQ(batched_op("layer_norm", "T[2, 5], T[5], T[5]", "{}", {0, -1, -1}), "layer_norm");
  EXPECT_NE(batched_op("layer_norm", "T[2, 5], T[5], T[5]", "{}", {0, 0, -1}), "layer_norm");
  EXPECT_EQ(batched_op("scaled_dot_product_attention", "T[3, 4], T[5, 4], T[5, 2]", "{}", {0, 0, 0}),
            "scaled_dot_product_attention");
}

TEST(Batch, WorkIsLinear) {
  Graph chain("chain");
  Value x = chain.body().add_arg(Type::tensor(DType::F32, {4}));
  ops::Builder build(chain.body());
  for (int i = 0; i < 500; ++i) x = build("sine", {x});
  chain.body().set_results({x});
  EXPECT_EQ(batch(chain, {{0}, 3, {0}})->node_count(), 500u);
}

}  // namespace
}  // namespace ig::transforms
