// Bounds, op by op: whatever an op's rule says of its results from what is known of its operands holds for
// what its reference gives, and what it says of its operands where its result is true holds for these. Of
// every sample and type, with values small, at the type's edges, and anywhere.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "ops/bounds.h"
#include "ops2_cases.h"

namespace ig::ops {
namespace {

struct Drawn {
  std::mt19937_64 random{1};
  int64_t below(int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); }

  int64_t value(DType type, int64_t near) {
    const Bounds all = bounds_of_type(type);
    switch (below(8)) {
      case 0: return all.low + below(3) * (all.high > 2);
      case 1: return all.high - below(3) * (all.high > 2);
      default: break;
    }
    if (near >= 0) return std::clamp<int64_t>(near + below(4), all.low, all.high);
    return std::clamp<int64_t>(below(13) - 6, all.low, all.high);
  }

  // Other whole numbers, and bounds around them: as tight as can be, or wider on either side.
  Bounds around(Literal& x) {
    const DType type = x.dtype();
    Bounds all = bounds_of_type(type);
    if (!all.known || x.elements() == 0) return all;
    const int64_t near = below(2) ? below(20) : -1;
    Bounds out{.known = true, .low = all.high, .high = all.low};
    const bool edges = below(2);
    for (int64_t i = 0; i < x.elements(); ++i) {
      const int64_t plain =
          std::clamp<int64_t>(std::max<int64_t>(near, 0) + below(9) - (near < 0) * 4, all.low, all.high);
      const int64_t v = edges ? value(type, near) : plain;
      tools::set_whole(x, i, v);
      out.low = std::min(out.low, v), out.high = std::max(out.high, v);
    }
    if (below(4) == 0) out.low = all.low;
    if (below(4) == 0) out.high = all.high;
    return out;
  }
};

std::string text(const Bounds& b) { return b.known ? fmt::format("{}..{}", b.low, b.high) : "unknown"; }

void expect_inside(const Bounds& said, const Literal& x) {
  if (!said.known) return;
  ASSERT_TRUE(bounds_of_type(x.dtype()).known);
  for (int64_t i = 0; i < x.elements(); ++i)
    ASSERT_TRUE(said.low <= x.as_int(i) && x.as_int(i) <= said.high)
        << x.as_int(i) << " is not in " << text(said);
}

bool all_true(const Literal& x) {
  for (int64_t i = 0; i < x.elements(); ++i)
    if (!x.as_int(i)) return false;
  return true;
}

// The op on a sample's operands, with what is known of them and what the reference gives.
struct Trial {
  Case c;
  Graph graph{"one"};
  std::vector<Bounds> x;
  const Node* node = nullptr;
  std::vector<Literal> results;

  // `given`: the values that the sample draws, of which nothing is known; else others.
  Trial(const Op& op, const Sample& sample, DType t, Drawn& drawn, bool given)
      : c(case_of(op, sample.operands, sample.attrs.empty() ? "{}" : sample.attrs, t, sample.low,
                  sample.high)) {
    std::vector<Value> inputs;
    for (Literal& operand : c.operands) {
      x.push_back(given ? bounds_of_type(operand.dtype()) : drawn.around(operand));
      inputs.push_back(graph.body().add_arg(operand.type()));
    }
    node = Builder(graph.body()).node(op, inputs, c.attrs);
    results = evaluate(op, c.attrs, c.operands);
  }

  bool is_known(uint32_t r) const { return bounds_of_type(results[r].dtype()).known; }
  std::string str() const {
    std::string out;
    for (size_t i = 0; i < x.size(); ++i) out += text(x[i]) + " " + c.operands[i].str() + "\n";
    return out;
  }
};

// Each op with a rule, on each of its samples and types of real numbers.
void for_each_case(const std::function<void(const Op&, const Sample&, DType)>& visit) {
  for (const Op* op : all()) {
    if (!op->rules.bounds || op->has(Trait::Composite)) continue;
    for (DType t : members(op->decl.dtypes))
      for (const Sample& sample : op->decl.samples) {
        if (is_complex(t) || t == DType::Key) continue;
        SCOPED_TRACE(op->decl.name + " " + std::string(name(t)) + " " + sample.operands + " " + sample.attrs);
        visit(*op, sample, t);
      }
  }
}

TEST(Bounds, WhatTheRulesSayHolds) {
  Drawn drawn;
  size_t tried = 0, told = 0, implied = 0;
  for_each_case([&](const Op& op, const Sample& sample, DType t) {
    for (int turn = 0; turn < 24; ++turn) {
      Trial trial(op, sample, t, drawn, turn == 0);
      SCOPED_TRACE(trial.str());
      for (uint32_t r = 0; r < trial.results.size(); ++r) {
        if (!trial.is_known(r)) continue;
        const Bounds said = op.rules.bounds({trial.node, trial.x, r});
        expect_inside(said, trial.results[r]);
        ++tried;
        told += said != bounds_of_type(trial.results[r].dtype());
      }
      if (!op.rules.implies || !all_true(trial.results[0])) continue;
      ImpliesContext context{trial.node, trial.x};
      op.rules.implies(context);
      for (size_t i = 0; i < trial.x.size(); ++i) expect_inside(trial.x[i], trial.c.operands[i]);
      ++implied;
    }
  });
  EXPECT_GT(tried, 30000u);
  EXPECT_GT(told, tried / 4);
  EXPECT_GT(implied, 300u);
}

// What is said to be an operand's elements plus so much is that.
TEST(Bounds, DifferencesToWhatIsCarriedHold) {
  Drawn drawn;
  size_t told = 0;
  for_each_case([&](const Op& op, const Sample& sample, DType t) {
    if (t != DType::I8 && t != DType::I64 && t != DType::U16) return;
    const uint64_t mask = t == DType::I64 ? ~uint64_t{0} : (uint64_t{1} << info(t).bits) - 1;
    for (int turn = 0; turn < 8; ++turn) {
      Trial trial(op, sample, t, drawn, false);
      for (size_t i = 0; i < trial.x.size(); ++i) trial.x[i].origin = trial.node->operand(i);
      for (uint32_t r = 0; r < trial.results.size(); ++r) {
        if (!trial.is_known(r)) continue;
        const Bounds said = op.rules.bounds({trial.node, trial.x, r});
        if (!said.origin) continue;
        const Literal &from = trial.c.operands[said.origin->index()], &result = trial.results[r];
        for (int64_t i = 0; i < result.elements(); ++i) {
          bool found = false;
          for (int64_t k = 0; k < from.elements() && !found; ++k) {
            // In the type's arithmetic: what is beyond the least difference, counted round.
            const uint64_t beyond = static_cast<uint64_t>(result.as_int(i)) -
                                    static_cast<uint64_t>(from.as_int(k)) - static_cast<uint64_t>(said.least);
            found = (beyond & mask) <= static_cast<uint64_t>(said.most) - static_cast<uint64_t>(said.least);
          }
          ASSERT_TRUE(found) << result.as_int(i) << " of " << from.str();
        }
        ++told;
      }
    }
  });
  EXPECT_GT(told, 500u);
}

}  // namespace
}  // namespace ig::ops
