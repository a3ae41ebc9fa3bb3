// Derivative rules against what they are the derivatives of: each `jvp` against central differences of the
// reference rules in float64, composites through their bodies; each `transpose` by <T y, x> = <y, L x>.
#include <gtest/gtest.h>

#include <cmath>
#include <unordered_map>

#include "ops2_cases.h"
#include "passes/pass.h"

namespace ig::ops {
namespace {

// A program of one op on a sample, primitives only, with the values of its inputs.
struct Program {
  std::unique_ptr<Graph> graph;
  std::vector<Literal> inputs;
};

Program program_of(const Op& op, const Sample& sample) {
  Program out{std::make_unique<Graph>("derivative"), {}};
  Case c = case_of(op, sample.operands, sample.attrs.empty() ? "{}" : sample.attrs, DType::F64, sample.low,
                   sample.high);
  out.inputs = c.operands;
  // Operands of one shape must differ, or x - y and x / y are constant.
  std::mt19937_64 random(11);
  size_t number = 0;
  for (const std::string& text : split(sample.operands)) {
    Literal& input = out.inputs[number++];
    if (text.find('{') != std::string::npos || !is_float(input.dtype())) continue;
    for (int64_t i = 0; i < input.elements(); ++i)
      tools::set_real(input, i, std::uniform_real_distribution<double>(sample.low, sample.high)(random));
  }
  std::vector<Value> values;
  for (const Literal& input : out.inputs) values.push_back(out.graph->body().add_arg(input.type()));
  Builder build(out.graph->body());
  Node* node = build.node(op, values, c.attrs);
  out.graph->body().set_results({node->results().begin(), node->results().end()});
  static constexpr std::string_view kExpand[] = {"expand-composites"};
  for (bool again = true; again;) {
    passes::run(*out.graph, kExpand, {});
    again = false;
    for (const Node* n : out.graph->body())
      again = again || (n->op().name() != kReturnOp && has(n, Trait::Composite));
  }
  return out;
}

// The graph with tangents for its float64 inputs behind the inputs, its results replaced by their tangents.
// Null where a node on the way has no rule.
std::unique_ptr<Graph> pushed_forward(const Graph& graph) {
  std::unique_ptr<Graph> out = graph.clone();
  std::unordered_map<const ValueDef*, Value> tangents;
  std::vector<Value> inputs(out->inputs().begin(), out->inputs().end());
  for (Value input : inputs)
    if (input->type().dtype == DType::F64) tangents[input] = out->body().add_arg(input->type());
  std::vector<Node*> nodes;
  Node* terminator = out->body().terminator();
  for (Node* node : out->body())
    if (node != terminator) nodes.push_back(node);
  Builder build(out->body(), terminator);
  for (Node* node : nodes) {
    std::vector<Value> own;
    bool any = false;
    for (Value v : node->operands()) {
      auto found = tangents.find(v);
      own.push_back(found == tangents.end() ? nullptr : found->second);
      any = any || own.back();
    }
    if (!any) continue;
    const Rule<JvpFn>& rule = op_of(node).rules.jvp;
    if (!rule) {
      // A result that is no real number has no tangent.
      if (std::none_of(node->results().begin(), node->results().end(),
                       [](Value v) { return is_float(v->type().dtype); }))
        continue;
      return nullptr;
    }
    std::vector<Value> operands(node->operands().begin(), node->operands().end());
    std::vector<Value> results(node->results().begin(), node->results().end());
    JvpContext context{build, node, operands, own, results};
    std::vector<Value> given = rule.get()(context);
    EXPECT_EQ(given.size(), results.size()) << op_of(node).decl.name;
    for (size_t i = 0; i < given.size(); ++i) {
      if (!given[i]) continue;
      EXPECT_EQ(given[i]->type().str(), results[i]->type().str()) << op_of(node).decl.name;
      tangents[results[i]] = given[i];
    }
  }
  std::vector<Value> results;
  for (Value v : graph.outputs()) {
    Value own = v->node() ? nullptr : out->inputs()[v->index()];
    if (!own) own = out->outputs()[results.size()];
    auto found = tangents.find(own);
    results.push_back(found == tangents.end() ? build.full_like(own, 0) : found->second);
  }
  out->body().set_results(results);
  verify(*out);
  return out;
}

Literal like(const Literal& x, std::mt19937_64& random) {
  Literal out = Literal::allocate(x.dtype(), x.dims());
  for (int64_t i = 0; i < out.elements(); ++i)
    tools::set_real(out, i, std::uniform_real_distribution<double>(-1, 1)(random));
  return out;
}

Literal moved(const Literal& x, const Literal& by, double step) {
  Literal out = Literal::allocate(x.dtype(), x.dims());
  for (int64_t i = 0; i < out.elements(); ++i)
    tools::set_real(out, i, x.as_double(i) + step * by.as_double(i));
  return out;
}

// The library's ops, without those that other tests added.
std::vector<const Op*> built_in() {
  std::vector<const Op*> out = all();
  out.resize(families().size());
  return out;
}

// Whether the reals of this op are float64 somewhere.
bool has_double(const Op& op) {
  return contains(op.decl.dtypes, DType::F64) && !op.has(Trait::Control) && !op.has(Trait::Effect);
}

// What differs, in words; "no rule" where a node on the way has none.
std::string check_jvp(const Op& op, const Sample& sample, int& compared) {
  Program program = program_of(op, sample);
  std::unique_ptr<Graph> forward = pushed_forward(*program.graph);
  if (!forward) return "no rule";
  std::mt19937_64 random(5);
  std::vector<Literal> tangents, with_tangents = program.inputs, above = program.inputs,
                                 below = program.inputs;
  constexpr double kStep = 1e-6;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    if (program.inputs[i].dtype() != DType::F64) continue;
    Literal tangent = like(program.inputs[i], random);
    with_tangents.push_back(tangent);
    above[i] = moved(program.inputs[i], tangent, kStep);
    below[i] = moved(program.inputs[i], tangent, -kStep);
  }
  std::vector<Literal> got = evaluate(*forward, with_tangents);
  std::vector<Literal> high = evaluate(*program.graph, above), low = evaluate(*program.graph, below);
  std::string failures;
  for (size_t r = 0; r < got.size(); ++r) {
    if (got[r].dtype() != DType::F64) continue;
    for (int64_t i = 0; i < got[r].elements(); ++i) {
      double want = (high[r].as_double(i) - low[r].as_double(i)) / (2 * kStep), have = got[r].as_double(i);
      // Where a root is 0 its tangent is vertical: there the rule gives infinity or NaN, and differences give
      // anything.
      if (!std::isfinite(want) || (!std::isfinite(have) && low[r].as_double(i) == high[r].as_double(i)))
        continue;
      double size = std::max({1.0, std::fabs(want), std::fabs(high[r].as_double(i))});
      ++compared;
      if (!(std::fabs(want - have) <= 2e-5 * size))
        if (failures.size() < 600)
          failures += fmt::format("\n  result {} element {}: the rule gives {}, differences give {}", r, i,
                                  have, want);
    }
  }
  return failures;
}

TEST(OpDerivatives, JvpsAgreeWithDifferences) {
  int ops = 0, compared = 0;
  for (const Op* op : built_in()) {
    // stop_gradient is the one whose rule is not its derivative: that is what it is for.
    if (!has_double(*op) || op->decl.name == "stop_gradient") continue;
    bool counted = false;
    for (const Sample& sample : op->decl.samples) {
      if (sample.operands.find("T[") == std::string::npos) continue;
      SCOPED_TRACE(op->decl.name + " " + sample.operands + " " + sample.attrs);
      std::string failures = check_jvp(*op, sample, compared);
      if (failures == "no rule") {
        EXPECT_FALSE(static_cast<bool>(op->rules.jvp)) << "the rule was not used";
        continue;
      }
      EXPECT_EQ(failures, "");
      counted = true;
    }
    ops += counted;
  }
  EXPECT_GT(ops, 100);
  EXPECT_GT(compared, 5000);
}

// <T y, x> = <y, L x> for each operand alone, the others fixed: L x = f(x) - f(0), which is f(x) where f is
// linear.
TEST(OpDerivatives, TransposesAreAdjoint) {
  for (const Op* op : built_in()) {
    if (!op->rules.transpose || !has_double(*op)) continue;
    for (const Sample& sample : op->decl.samples) {
      if (sample.operands.find("T[") == std::string::npos) continue;
      Case c = case_of(*op, sample.operands, sample.attrs.empty() ? "{}" : sample.attrs, DType::F64,
                       sample.low, sample.high);
      for (size_t which = 0; which < c.operands.size(); ++which) {
        SCOPED_TRACE(
            fmt::format("{} {} {} in operand {}", op->decl.name, sample.operands, sample.attrs, which));
        if (c.operands[which].dtype() != DType::F64) continue;
        std::mt19937_64 random(3);
        std::vector<Literal> zero = c.operands;
        zero[which] = Literal::allocate(DType::F64, c.operands[which].dims());
        Literal image = evaluate(*op, c.attrs, c.operands)[0], origin = evaluate(*op, c.attrs, zero)[0];
        if (image.dtype() != DType::F64) continue;
        Graph graph("transpose");
        std::vector<Value> values;
        for (const Literal& operand : c.operands) values.push_back(graph.body().add_arg(operand.type()));
        Literal y = like(image, random);
        Value cotangent = graph.body().add_arg(y.type());
        Builder build(graph.body());
        Node* node = build.node(*op, values, c.attrs);
        std::vector<Value> known = values;
        known[which] = nullptr;
        auto linear = std::make_unique<bool[]>(values.size());
        for (size_t i = 0; i < values.size(); ++i) linear[i] = i == which;
        TransposeContext context{
            build, node, known, std::span<const Value>(&cotangent, 1), {linear.get(), values.size()}};
        std::vector<Value> given = op->rules.transpose.get()(context);
        if (given.size() != values.size() || !given[which]) continue;  // not linear in this one
        ASSERT_EQ(given[which]->type().str(), values[which]->type().str());
        graph.body().set_results({given[which]});
        std::vector<Literal> inputs = c.operands;
        inputs.push_back(y);
        Literal back = evaluate(graph, inputs)[0];
        double left = 0, right = 0, size = 1;
        for (int64_t i = 0; i < back.elements(); ++i) {
          left += back.as_double(i) * c.operands[which].as_double(i);
          size += std::fabs(back.as_double(i) * c.operands[which].as_double(i));
        }
        for (int64_t i = 0; i < y.elements(); ++i)
          right += y.as_double(i) * (image.as_double(i) - origin.as_double(i));
        EXPECT_NEAR(left, right, 1e-10 * size);
      }
    }
  }
}

}  // namespace
}  // namespace ig::ops
