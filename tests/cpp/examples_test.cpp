// Examples that nodes keep apart (ops/examples.h), for all ops: each sample whose node can be written for one
// example is computed for one after the other by the reference, and gives what it gives for all.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "ops/examples.h"
#include "ops2_cases.h"

namespace ig::ops {
namespace {

// Example `i` of an array, as one of its own.
Literal example(const Literal& all, int64_t i) {
  std::vector<int64_t> dims = all.dims();
  dims[0] = 1;
  Literal out = Literal::allocate(all.dtype(), dims);
  if (out.bytes() > 0)
    std::memcpy(out.mutable_data(),
                static_cast<const char*>(all.data()) + static_cast<size_t>(i) * out.bytes(), out.bytes());
  return out;
}

// The sample's node; null where it has sizes or values that cannot be.
const Node* node_of(Graph& graph, const Op& op, const Case& c) {
  std::vector<Value> operands;
  for (const Literal& literal : c.operands) operands.push_back(graph.body().add_arg(literal.type()));
  return Builder(graph.body()).node(op, std::move(operands), c.attrs);
}

TEST(Examples, OfEverySampleAreWhatTheyAreAlone) {
  std::set<std::string> apart;
  for (const Op* op : all()) {
    if (!is_asked_for(*op) || op->has(Trait::Control) || op->has(Trait::Effect)) continue;
    for (DType t : {DType::F32, DType::I32, DType::Bool, DType::C64}) {
      if (!contains(op->decl.dtypes, t)) continue;
      for (const Sample& sample : op->decl.samples) {
        SCOPED_TRACE(op->decl.name + " " + std::string(name(t)) + " " + sample.operands + " " + sample.attrs);
        Graph graph;
        const Node* node = nullptr;
        Case c;
        try {
          const std::string attrs = sample.attrs.empty() ? "{}" : sample.attrs;
          c = case_of(*op, sample.operands, attrs, t, sample.low, sample.high);
          node = node_of(graph, *op, c);
        } catch (const Error&) {  // which are other tests' matter: an order of complex numbers
          continue;
        }
        const std::optional<ForExamples> form = for_examples(node, Dim(1));
        if (!form) continue;
        apart.insert(op->decl.name);
        const std::vector<Literal> want = evaluate(*op, c.attrs, c.operands);
        for (int64_t i = 0; i < want[0].dims()[0]; ++i) {
          std::vector<Literal> operands;
          for (size_t k = 0; k < c.operands.size(); ++k)
            operands.push_back(form->cut[k] ? example(c.operands[k], i) : c.operands[k]);
          const std::vector<Literal> have = evaluate(*op, form->attrs, operands);
          ASSERT_EQ(have.size(), want.size());
          for (size_t r = 0; r < have.size(); ++r) {
            const Literal whole = example(want[r], i);
            EXPECT_EQ(have[r].str(), whole.str()) << "example " << i;
          }
        }
      }
    }
  }
  if (!all_asked_for()) return;
  for (const char* name :
       {"add", "broadcast_in_dim", "transpose", "reshape", "slice", "pad", "reverse", "concatenate",
        "reduce_sum", "reduce_window_sum", "convolution", "dot_general", "scaled_dot_product_attention"})
    EXPECT_TRUE(apart.contains(name)) << name << " has no sample whose examples are kept apart";
}

bool are_apart(std::string_view text) {
  auto graph = Graph::parse(text);
  const Node* last = nullptr;
  for (const Node* node : graph->body())
    if (node != graph->body().terminator()) last = node;
  return for_examples(last, Dim(2)).has_value();
}

TEST(Examples, WhatMixesThemIsNot) {
  EXPECT_TRUE(
      are_apart("graph @g(%x: f32[4, 3]) { %y = reverse(%x) {dimensions = [1]} : f32[4, 3] return %y }"));
  EXPECT_FALSE(
      are_apart("graph @g(%x: f32[4, 3]) { %y = reverse(%x) {dimensions = [0]} : f32[4, 3] return %y }"));
  EXPECT_FALSE(are_apart(
      "graph @g(%x: f32[4, 4]) { %y = transpose(%x) {permutation = [1, 0]} : f32[4, 4] return %y }"));
  EXPECT_FALSE(are_apart("graph @g(%x: f32[4, 4]) { %y = reduce_sum(%x) {axes = [0]} : f32[4] return %y }"));
  EXPECT_FALSE(
      are_apart("graph @g(%x: f32[4, 4]) { %y = reshape(%x) {shape = <2, 8>} : f32[2, 8] return %y }"));
  EXPECT_FALSE(
      are_apart("graph @g(%x: f32[5, 4]) { %y = slice(%x) {start = <1, 0>, limit = <5, 4>, strides = [1, 1]} "
                ": f32[4, 4] "
                "return %y }"));
  EXPECT_FALSE(
      are_apart("graph @g(%x: f32[2, 3], %y: f32[2, 3]) { %z = concatenate(%x, %y) {axis = 0} : f32[4, 3] "
                "return %z }"));
  EXPECT_TRUE(
      are_apart("graph @g(%x: f32[n, 3]) where n in [0, inf] { %y = negate(%x) : f32[n, 3] return %y }"));
  // Weights whose first axis has as many elements as there are examples are the same for all of them.
  auto graph = Graph::parse(
      "graph @g(%x: f32[4, 4], %w: f32[4, 4]) { %y = dot_general(%x, %w) {lhs_batching_dimensions = [], "
      "rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], "
      "accumulate = "
      "f32} : f32[4, 4] return %y }");
  const auto form = for_examples(graph->body().first(), Dim(2));
  ASSERT_TRUE(form);
  EXPECT_EQ(form->cut, (std::vector<bool>{true, false}));
}

}  // namespace
}  // namespace ig::ops
