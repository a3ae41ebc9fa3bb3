// Derivative rules against what they are the derivatives of, for every op on every sample, in float64 and by
// the definitions of the ops: forward mode against central differences; reverse mode against forward mode, by
// <y, J t> = <J^T y, t>, and in two parts; both once more over the gradient. Each `transpose` alone by <T y,
// x> = <y, L x>.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "ops2_cases.h"
#include "transforms/transforms.h"

namespace ig::ops {
namespace {

// A program of one op on a sample, with the values of its inputs.
struct Program {
  std::unique_ptr<Graph> graph;
  std::vector<Literal> inputs;
  std::vector<bool> moves, wanted;
};

Program program_of(const Op& op, const Sample& sample) {
  Program out{std::make_unique<Graph>("derivative"), {}, {}, {}};
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
  for (const Literal& input : out.inputs) {
    values.push_back(out.graph->body().add_arg(input.type()));
    out.moves.push_back(input.dtype() == DType::F64);
  }
  Builder build(out.graph->body());
  Node* node = build.node(op, values, c.attrs);
  out.graph->body().set_results({node->results().begin(), node->results().end()});
  for (Value result : node->results()) out.wanted.push_back(result->type().dtype == DType::F64);
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
  std::erase_if(out, [](const Op* op) { return !is_asked_for(*op); });
  return out;
}

// Whether the reals of this op are float64 somewhere.
bool has_double(const Op& op) {
  return contains(op.decl.dtypes, DType::F64) && !op.has(Trait::Control) && !op.has(Trait::Effect);
}

// What has no derivative by one operand at least, and says so; tests/python/test_special.py has those by the
// others. (Two more have no second one.)
const std::set<std::string> kRefused = {"gammainc_slope", "log_gamma_sample_slope",      "nextafter",
                                        "polygamma",      "regularized_incomplete_beta", "zeta"};

// The values of those that are `wanted`.
std::vector<Literal> chosen(const std::vector<Literal>& values, const std::vector<bool>& wanted) {
  std::vector<Literal> out;
  for (size_t i = 0; i < values.size(); ++i)
    if (wanted[i]) out.push_back(values[i]);
  return out;
}

std::vector<Literal> directions(const Program& program, std::mt19937_64& random) {
  std::vector<Literal> out;
  for (const Literal& input : chosen(program.inputs, program.moves)) out.push_back(like(input, random));
  return out;
}

std::vector<Literal> joined(std::vector<Literal> a, const std::vector<Literal>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<Literal> shifted(const Program& program, const std::vector<Literal>& by, double step) {
  std::vector<Literal> out = program.inputs;
  size_t next = 0;
  for (size_t i = 0; i < out.size(); ++i)
    if (program.moves[i]) out[i] = moved(out[i], by[next++], step);
  return out;
}

bool finite(const std::vector<Literal>& values) {
  for (const Literal& value : values)
    for (int64_t i = 0; i < value.elements(); ++i)
      if (!std::isfinite(value.as_double(i))) return false;
  return true;
}

double dot(const std::vector<Literal>& a, const std::vector<Literal>& b, double& size) {
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k)
    for (int64_t i = 0; i < a[k].elements(); ++i) {
      sum += a[k].as_double(i) * b[k].as_double(i);
      size += std::fabs(a[k].as_double(i) * b[k].as_double(i));
    }
  return sum;
}

// What differs from central differences, in words.
std::string check_jvp(const Program& program, int& compared) {
  std::unique_ptr<Graph> forward = transforms::jvp(*program.graph, program.moves, program.wanted);
  verify(*forward);
  std::mt19937_64 random(5);
  std::vector<Literal> tangents = directions(program, random);
  constexpr double kStep = 1e-6;
  std::vector<Literal> all = evaluate(*forward, joined(program.inputs, tangents));
  std::vector<Literal> got(all.begin() + static_cast<int64_t>(program.wanted.size()), all.end());
  std::vector<Literal> high =
      chosen(evaluate(*program.graph, shifted(program, tangents, kStep)), program.wanted);
  std::vector<Literal> low =
      chosen(evaluate(*program.graph, shifted(program, tangents, -kStep)), program.wanted);
  std::string failures;
  for (size_t r = 0; r < got.size(); ++r) {
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

// What differs between both modes, in words.
std::string check_vjp(const Program& program, int& compared) {
  std::unique_ptr<Graph> forward = transforms::jvp(*program.graph, program.moves, program.wanted);
  SplitRegion back = transforms::vjp(*program.graph, program.moves, program.wanted);
  SplitRegion parts = transforms::linearize(*program.graph, program.moves, program.wanted);
  for (const Graph* graph : {back.known.get(), back.linear.get(), parts.known.get(), parts.linear.get()})
    verify(*graph);
  std::mt19937_64 random(9);
  std::vector<Literal> tangents = directions(program, random), cotangents;
  size_t results = program.wanted.size();
  auto run = [&](const SplitRegion& split, const std::vector<Literal>& late) {
    std::vector<Literal> known = evaluate(*split.known, program.inputs), inputs;
    size_t extra = results;
    for (int residual : split.residuals)
      inputs.push_back(residual >= 0 ? program.inputs[static_cast<size_t>(residual)] : known[extra++]);
    return evaluate(*split.linear, joined(inputs, late));
  };
  std::vector<Literal> all = evaluate(*forward, joined(program.inputs, tangents));
  for (const Literal& value : chosen(evaluate(*program.graph, program.inputs), program.wanted))
    cotangents.push_back(like(value, random));
  std::vector<Literal> pushed(all.begin() + static_cast<int64_t>(results), all.end());
  std::vector<Literal> again = run(parts, tangents), pulled = run(back, cotangents);
  if (!finite(pushed) || !finite(pulled)) return "";
  std::string failures;
  for (size_t r = 0; r < pushed.size(); ++r)
    for (int64_t i = 0; i < pushed[r].elements(); ++i)
      if (std::fabs(pushed[r].as_double(i) - again[r].as_double(i)) >
          1e-9 * (1 + std::fabs(pushed[r].as_double(i))))
        return fmt::format("\n  result {} element {}: jvp gives {}, linearize {}", r, i,
                           pushed[r].as_double(i), again[r].as_double(i));
  double size = 1, left = dot(cotangents, pushed, size), right = dot(pulled, tangents, size);
  ++compared;
  if (!(std::fabs(left - right) <= 1e-9 * size))
    failures += fmt::format("\n  <y, J t> is {}, <J^T y, t> is {}", left, right);
  return failures;
}

// The program that pulls ones back: its own derivatives are the second ones.
Program gradient_of(const Program& program) {
  SplitRegion back = transforms::vjp(*program.graph, program.moves, program.wanted);
  Program out{std::make_unique<Graph>("gradient"), program.inputs, program.moves, {}};
  std::vector<Value> values, inputs;
  for (const Literal& input : program.inputs) values.push_back(out.graph->body().add_arg(input.type()));
  std::vector<Value> known = out.graph->inline_block(back.known->body(), out.graph->body(), values);
  size_t extra = program.wanted.size();
  for (int residual : back.residuals)
    inputs.push_back(residual >= 0 ? values[static_cast<size_t>(residual)] : known[extra++]);
  Builder build(out.graph->body());
  for (size_t i = 0; i < program.wanted.size(); ++i)
    if (program.wanted[i]) inputs.push_back(build.full(known[i]->type(), 1));
  out.graph->body().set_results(out.graph->inline_block(back.linear->body(), out.graph->body(), inputs));
  out.wanted.assign(out.graph->outputs().size(), true);
  return out;
}

// Runs `check` on every sample of every op; gives the ops that refuse to be differentiated.
std::set<std::string> for_each_sample(const std::function<std::string(const Program&)>& check) {
  std::set<std::string> refused;
  for (const Op* op : built_in()) {
    // stop_gradient is the one whose rule is not its derivative: that is what it is for.
    if (!has_double(*op) || op->decl.name == "stop_gradient") continue;
    for (const Sample& sample : op->decl.samples) {
      if (sample.operands.find("T[") == std::string::npos) continue;
      SCOPED_TRACE(op->decl.name + " " + sample.operands + " " + sample.attrs);
      Program program = program_of(*op, sample);
      if (std::none_of(program.wanted.begin(), program.wanted.end(), [](bool one) { return one; })) continue;
      try {
        EXPECT_EQ(check(program), "");
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::Unsupported) << error.what();
        EXPECT_FALSE(error.why_text().empty() || error.hint_text().empty()) << error.what();
        refused.insert(op->decl.name);
      }
    }
  }
  return refused;
}

TEST(OpDerivatives, ForwardModeAgreesWithDifferences) {
  int compared = 0;
  std::set<std::string> refused =
      for_each_sample([&](const Program& program) { return check_jvp(program, compared); });
  if (all_asked_for()) {
    EXPECT_EQ(refused, kRefused);
  }
  if (all_asked_for()) {
    EXPECT_GT(compared, 5000);
  }
}

TEST(OpDerivatives, ReverseModeIsTheAdjointOfForwardMode) {
  int compared = 0;
  std::set<std::string> refused =
      for_each_sample([&](const Program& program) { return check_vjp(program, compared); });
  if (all_asked_for()) {
    EXPECT_EQ(refused, kRefused);
  }
  if (all_asked_for()) {
    EXPECT_GT(compared, 800);
  }
}

TEST(OpDerivatives, SecondDerivativesAgreeWithDifferencesAndEachOther) {
  int compared = 0;
  std::set<std::string> refused = for_each_sample([&](const Program& program) {
    Program gradient = gradient_of(program);
    return check_jvp(gradient, compared) + check_vjp(gradient, compared);
  });
  if (all_asked_for()) {
    EXPECT_GT(compared, 5000);
  }
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
        std::vector<Value> cotangents(node->results().size(), nullptr);
        cotangents[0] = cotangent;
        TransposeContext context{build, node, known, cotangents, {linear.get(), values.size()}};
        std::vector<Value> given;
        try {
          given = op->rules.transpose.get()(context);
        } catch (const Error& error) {  // not linear in this one
          EXPECT_EQ(error.kind(), ErrorKind::Unsupported) << error.what();
          continue;
        }
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
