// Random programs over a batch, depth first and kernel by kernel: whatever the pass makes of chains that keep
// examples apart, mix them, give values away on the way or read the same one several times, the definition
// gives the same bits for both.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "ops/builder.h"
#include "ops/contraction.h"
#include "ops/shape_attrs.h"
#include "ops/table.h"
#include "passes/pass.h"

namespace ig::passes {
namespace {

constexpr int64_t kRows = 24, kColumns = 20;

// A program over [examples, kRows, kColumns], or over what a few of its ops make of it.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed), build_(graph_->body()) {
    examples_ = 2 + pick(4);
    for (int i = 0; i < 2; ++i) values_.push_back(input({examples_, kRows, kColumns}));
    for (int i = 0; i < 12; ++i) step();
    std::vector<Value> results = {values_.back()};
    for (size_t i = 2; i < values_.size(); ++i)
      if (pick(4) == 0) results.push_back(values_[i]);
    graph_->body().set_results(results);
  }

  const Graph& graph() const { return *graph_; }
  int64_t examples() const { return examples_; }

  std::vector<Literal> inputs() {
    std::vector<Literal> out;
    for (Value v : graph_->inputs()) {
      out.push_back(Literal::allocate(DType::F32, *constant_dims(v->type().dims)));
      auto* at = static_cast<float*>(out.back().mutable_data());
      for (int64_t i = 0; i < out.back().elements(); ++i)
        at[i] = std::uniform_real_distribution<float>(-1, 1)(random_);
    }
    return out;
  }

 private:
  int64_t pick(int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random_); }
  Value input(const std::vector<int64_t>& sizes) {
    return graph_->body().add_arg(Type::tensor(DType::F32, Dims(sizes.begin(), sizes.end())));
  }
  // Mostly the newest value, so that chains are long.
  Value any() {
    return pick(4) ? values_.back()
                   : values_[static_cast<size_t>(pick(static_cast<int64_t>(values_.size())))];
  }
  int64_t size(Value v, int axis) { return v->type().dims[static_cast<size_t>(axis)].constant(); }

  void step() {
    const Value x = any();
    values_.push_back(made_of(x));
  }

  Value made_of(Value x) {
    const int64_t axis = pick(3), inner = 1 + pick(2);
    switch (pick(11)) {
      case 0: return build_("tanh", {x});
      case 1: {
        const Value y = any();
        return x->type() == y->type() ? build_("add", {x, y}) : build_("negate", {x});
      }
      case 2: {  // weights, and what is the same for all examples
        const Value bias = input({size(x, 2)});
        return build_("multiply", {x, build_.broadcast(bias, x->type().dims, {2})});
      }
      case 3:
      case 4:
      case 5: {
        const Value weights = input({size(x, 2), kColumns});
        return build_("dot_general", {x, weights},
                      {{"lhs_contracting_dimensions", Ints{2}}, {"rhs_contracting_dimensions", Ints{0}}});
      }
      case 6: return build_.transpose(x, pick(4) ? Ints{0, 2, 1} : Ints{1, 0, 2});
      case 7: {  // a fold, spread over what it was folded of: of an example, or of all
        const int64_t folded = pick(4) ? inner : 0;
        Ints kept;
        for (int64_t i = 0; i < 3; ++i)
          if (i != folded) kept.push_back(i);
        const Value sum = build_("reduce_sum", {x}, {{"axes", Ints{folded}}});
        return build_("subtract", {x, build_.broadcast(sum, x->type().dims, kept)});
      }
      case 8: return build_("reverse", {x}, {{"dimensions", Ints{pick(3) ? inner : axis}}});
      case 9: {
        const Value half = part(x, inner, size(x, static_cast<int>(inner)) / 2);
        return build_("concatenate", {half, half}, {{"axis", inner}});
      }
      default: {  // some examples, and zeros in the place of the others
        const Value some = part(x, 0, size(x, 0) - 1);
        return build_("pad", {some, build_.scalar(DType::F32, 0)},
                      {{"low", Dims{Dim(1), Dim(0), Dim(0)}},
                       {"high", Dims{Dim(0), Dim(0), Dim(0)}},
                       {"interior", Ints{0, 0, 0}}});
      }
    }
  }

  Value part(Value x, int64_t axis, int64_t length) {
    Dims start(3, Dim(0)), limit = x->type().dims;
    limit[static_cast<size_t>(axis)] = Dim(length);
    return build_("slice", {x}, {{"start", start}, {"limit", limit}, {"strides", Ints{1, 1, 1}}});
  }

  std::mt19937 random_;
  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>("random");
  ops::Builder build_;
  int64_t examples_ = 0;
  std::vector<Value> values_;
};

TEST(DepthFirst, RandomProgramsGiveTheSameBits) {
  const char* asked = std::getenv("INTAGLIO_FUZZ");
  const unsigned programs = asked ? static_cast<unsigned>(std::atoi(asked)) : 200;
  unsigned changed = 0;
  for (unsigned seed = 0; seed < programs; ++seed) {
    SCOPED_TRACE(seed);
    RandomProgram program(seed);
    const std::vector<Literal> inputs = program.inputs();
    const std::vector<Literal> want = ops::evaluate(program.graph(), inputs);
    Options options;
    options.verify = true;
    options.machine.near = kRows * kColumns * sizeof(float);
    options.machine.last = 8 * options.machine.near;
    options.machine.launch = 0;
    options.machine.threads = 1 + static_cast<int>(seed % 3);
    const std::vector<std::string_view> names = {"fuse", "depth-first", "raise-views", "merge-axes"};
    std::unique_ptr<Graph> graph = program.graph().clone();
    for (const Record& record : run(*graph, names, options))
      changed += record.name == "depth-first" && record.changes;
    const std::vector<Literal> have = ops::evaluate(*graph, inputs);
    ASSERT_EQ(have.size(), want.size());
    for (size_t i = 0; i < have.size(); ++i) EXPECT_TRUE(have[i] == want[i]) << "result " << i;
  }
  EXPECT_GT(changed, programs / 4);
}

}  // namespace
}  // namespace ig::passes
