// The minimum cut that chooses what is kept for a late part, and the lists of uses that edits keep.
#include "ops/saved_values.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "ops/builder.h"

namespace ig::ops {
namespace {

// A chain with branches: a product, what is element-wise of it, a fold, and draws.
struct Program {
  std::unique_ptr<Graph> graph = Graph::parse(
      "graph @g(%x: f32[64, 32], %w: f32[32, 32]) {\n"
      "  %a = dot_general(%x, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], "
      "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[64, 32]\n"
      "  %s = sine(%a) : f32[64, 32]\n"
      "  %c = cosine(%a) : f32[64, 32]\n"
      "  %e = reduce_max(%s) {axes = [1]} : f32[64]\n"
      "  %h = reduce_max(%s) {axes = [0, 1]} : f32[]\n"
      "  %n = negate(%x) : f32[64, 32]\n"
      "  return %a\n"
      "}\n");
  Value value(std::string_view name) const {
    for (Node* node : graph->body())
      for (Value v : node->results())
        if (v->name() == name) return v;
    return nullptr;
  }
  SavedQuestion question(std::initializer_list<std::string_view> names) const {
    SavedQuestion out;
    for (std::string_view name : names) out.needed.push_back(value(name));
    out.early = [](const Node*) { return true; };
    out.there_anyway = [](Value v) { return !v->node(); };
    return out;
  }
};

constexpr double kWide = 64 * 32 * 4;

std::vector<std::string> names(const SavedAnswer& answer) {
  std::vector<std::string> out;
  for (Value v : answer.saved) out.push_back(v->name());
  std::sort(out.begin(), out.end());
  return out;
}

TEST(SavedValues, TwoOfOneProductAreComputedAgain) {
  Program p;
  SavedAnswer answer = choose_saved(p.graph->dims, p.question({"s", "c"}));
  EXPECT_EQ(names(answer), (std::vector<std::string>{"a"}));
  EXPECT_EQ(answer.bytes, kWide);
  EXPECT_EQ(answer.again.size(), 2u);
  EXPECT_EQ(answer.work, 0);
}

TEST(SavedValues, OneIsKeptAsItIs) {
  Program p;
  SavedAnswer answer = choose_saved(p.graph->dims, p.question({"s"}));
  EXPECT_EQ(names(answer), (std::vector<std::string>{"s"}));
  EXPECT_TRUE(answer.again.empty());
}

TEST(SavedValues, WhatIsMadeOfArgumentsAloneIsComputedAgain) {
  Program p;
  SavedAnswer answer = choose_saved(p.graph->dims, p.question({"n"}));
  EXPECT_TRUE(answer.saved.empty());
  EXPECT_EQ(answer.again.size(), 1u);
}

TEST(SavedValues, LongFoldsAreKeptAndShortOnesAreNot) {
  Program p;
  EXPECT_TRUE(work_of(p.value("e")->node(), p.graph->dims).fusible);
  EXPECT_FALSE(work_of(p.value("h")->node(), p.graph->dims).fusible);
  EXPECT_EQ(names(choose_saved(p.graph->dims, p.question({"h"}))), (std::vector<std::string>{"h"}));
}

TEST(SavedValues, WhatMayNotBeSavedIsComputedAgain) {
  Program p;
  SavedQuestion question = p.question({"s"});
  question.saveable = [&](Value v) { return v == p.value("a"); };
  EXPECT_EQ(names(choose_saved(p.graph->dims, question)), (std::vector<std::string>{"a"}));
  question.saveable = [](Value) { return false; };
  question.rate = 1;
  SavedAnswer none = choose_saved(p.graph->dims, question);
  EXPECT_TRUE(none.saved.empty());
  EXPECT_EQ(none.work, 2.0 * 64 * 32 * 32);
}

TEST(SavedValues, ABudgetIsKept) {
  Program p;
  for (double budget : {0.0, kWide - 1, kWide, 2 * kWide}) {
    SavedAnswer answer = choose_saved_within(p.graph->dims, p.question({"s", "c"}), budget);
    EXPECT_LE(answer.bytes, budget);
    EXPECT_EQ(answer.bytes, budget < kWide ? 0 : kWide) << budget;
  }
}

// However uses come and go, each list says who reads the value, and the last one goes as quickly as the
// first.
TEST(SavedValues, UsesStayRightWhileNodesGo) {
  Graph graph("g");
  Builder build(graph.body());
  Value x = graph.body().add_arg(Type::tensor(DType::F32, {4}), "x");
  Value y = graph.body().add_arg(Type::tensor(DType::F32, {4}), "y");
  std::vector<Node*> nodes;
  for (int i = 0; i < 60; ++i) nodes.push_back(build("add", {x, i % 3 ? x : y})->node());
  graph.body().set_results({x});
  uint32_t seed = 7;
  while (!nodes.empty()) {
    seed = seed * 1664525 + 1013904223;
    size_t i = (seed >> 8) % nodes.size();
    if (seed % 5 == 0) {
      nodes[i]->set_operand(seed % 2, seed % 3 ? y : x);
    } else {
      graph.erase(nodes[i]);
      nodes.erase(nodes.begin() + static_cast<int64_t>(i));
    }
    if (nodes.size() == 30 && !y->uses().empty()) y->replace_all_uses_with(x);
    size_t of_x = 1, of_y = 0;
    for (const Node* node : nodes)
      for (Value v : node->operands()) ++(v == x ? of_x : of_y);
    EXPECT_EQ(x->uses().size(), of_x);
    EXPECT_EQ(y->uses().size(), of_y);
    for (Value v : {x, y})
      for (const Use& use : v->uses()) EXPECT_EQ(use.user->operand(use.operand), v);
    graph.verify_structure();
  }
}

}  // namespace
}  // namespace ig::ops
