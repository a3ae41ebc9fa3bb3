// Effects: texts filled in without Python, graphs without their effects, effects done in order by the
// definitions and by compiled programs, and the batch rules of print and check.
#include "ops/effects.h"

#include <gtest/gtest.h>

#include "ops/builder.h"
#include "tensor/effects.h"
#include "tensor/program.h"

namespace ig::ops {
namespace {

std::vector<std::string>& lines() {
  static std::vector<std::string> all;
  return all;
}

class Effects : public testing::Test {
 protected:
  void SetUp() override {
    before_ = effect_sink();
    lines().clear();
    set_effect_sink({format_plainly, [](std::string_view line) { lines().emplace_back(line); },
                     [](std::string_view, const Error&) {}});
  }
  void TearDown() override { set_effect_sink(before_); }

 private:
  EffectSink before_{};
};

std::string message_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(Effects, TextsAreFilledIn) {
  std::vector<Literal> values = {Literal::scalar(DType::F32, 2.5),
                                 Literal::from<int64_t>(DType::I64, {2, 2}, {1, 2, 3, -4}),
                                 Literal::scalar_int(DType::Bool, 1)};
  EXPECT_EQ(format_plainly("{0} {{{0:.2f}}} {1} {2}", values), "2.5 {2.50} [[1, 2], [3, -4]] True");
  EXPECT_EQ(format_plainly("{1:03d}", values), "[[001, 002], [003, -04]]");
  Literal large = Literal::allocate(DType::U8, {2000});
  EXPECT_EQ(format_plainly("{0}", std::span(&large, 1)), "[0, 0, 0, ..., 0, 0, 0]");
  EXPECT_EQ(message_of([&] { format_plainly("{3}", values); }),
            "the text '{3}' cannot be filled in\n  why: a field names no value\n  hint: fields are {0}, "
            "{1:.2f} and so "
            "on; write {{ and }} for braces");
  EXPECT_EQ(message_of([&] { format_plainly("a } b", values); }),
            "the text 'a } b' cannot be filled in\n  why: a brace has no partner\n  hint: fields are {0}, "
            "{1:.2f} and "
            "so on; write {{ and }} for braces");
}

constexpr const char* kGraph = R"(graph @main(%x: f32[3]) {
  %t = create_token() : token
  %u = print(%t, %x) {text = "x is {0:.0f}", repeat = 0} : token
  %zero = constant() {value = f32[3] {0x0p+0, 0x0p+0, 0x0p+0}} : f32[3]
  %p = less(%zero, %x) : bool[3]
  %v = check(%u, %p, %x) {message = "{0:.1f} is not positive", paired = [1], why = "", hint = "", kind = "value"} : token
  %w = print(%v) {text = "done", repeat = 0} : token
  %y = negate(%x) : f32[3]
  return %y
})";

TEST_F(Effects, HappenInOrderAndStopAtAFailedCheck) {
  std::unique_ptr<Graph> graph = Graph::parse(kGraph);
  verify(*graph);
  std::shared_ptr<Program> program = compile(*graph);
  for (bool compiled : {false, true}) {
    auto run = [&](const Literal& x) {
      if (!compiled) return evaluate(*graph, std::span(&x, 1));
      Tensor input = Tensor::from(x);
      program->run(std::span(&input, 1));
      return std::vector<Literal>{};
    };
    lines().clear();
    run(Literal::from<float>(DType::F32, {3}, {1, 2, 3}));
    EXPECT_EQ(lines(), (std::vector<std::string>{"x is [1, 2, 3]", "done"}));
    lines().clear();
    EXPECT_EQ(message_of([&] { run(Literal::from<float>(DType::F32, {3}, {1, -2, -3})); }),
              "-2.0 is not positive\n  why: at element [1], the first of those that fail");
    EXPECT_EQ(lines(), (std::vector<std::string>{"x is [1, -2, -3]"}));
  }
}

TEST_F(Effects, CanBeTakenOut) {
  std::unique_ptr<Graph> graph = Graph::parse(kGraph);
  EXPECT_TRUE(has_effects(*graph));
  strip_effects(*graph);
  verify(*graph);
  EXPECT_FALSE(has_effects(*graph));
  Literal x = Literal::from<float>(DType::F32, {3}, {-1, 2, 3});
  EXPECT_EQ(evaluate(*graph, std::span(&x, 1))[0].as_double(0), 1);
  EXPECT_TRUE(lines().empty());
}

// One node, batched over its operands, as the driver of vmap does it.
std::unique_ptr<Graph> batched(std::string_view op, Attrs attrs, const std::vector<Type>& types,
                               const std::vector<int>& axes) {
  Graph one("one");
  Builder at(one.body());
  std::vector<Value> operands = {at("create_token", {})};
  for (size_t i = 0; i < types.size(); ++i) {
    Type type = types[i];
    if (axes[i] >= 0) type.dims.erase(type.dims.begin() + axes[i]);
    operands.push_back(one.body().add_arg(type));
  }
  Node* node = at.node(get(op), operands, std::move(attrs));
  auto out = std::make_unique<Graph>("many");
  Builder build(out->body());
  std::vector<Value> values = {build("create_token", {})};
  for (const Type& type : types) values.push_back(out->body().add_arg(type));
  std::vector<int> all = {-1};
  all.insert(all.end(), axes.begin(), axes.end());
  BatchContext context{build, node, values, all, Dim(2)};
  Batched result = op_of(node).rules.batch.get()(context);
  EXPECT_EQ(result.axes, std::vector<int>{-1});
  out->body().set_results({});
  verify(*out);
  return out;
}

TEST_F(Effects, PrintIsBatchedAsALineForEach) {
  Attrs attrs;
  attrs.set("text", std::string("{0} and {1}"));
  std::unique_ptr<Graph> graph =
      batched("print", attrs, {Type::tensor(DType::I64, {3, 2}), Type::tensor(DType::I64, {})}, {1, -1});
  std::vector<Literal> inputs = {Literal::from<int64_t>(DType::I64, {3, 2}, {1, 10, 2, 20, 3, 30}),
                                 Literal::scalar_int(DType::I64, 7)};
  evaluate(*graph, inputs);
  EXPECT_EQ(lines(), (std::vector<std::string>{"[1, 2, 3] and 7", "[10, 20, 30] and 7"}));
}

TEST_F(Effects, CheckIsBatchedAndNamesTheElement) {
  Attrs attrs;
  attrs.set("message", std::string("{0} of {1} of {2}"));
  attrs.set("paired", Ints{1, 0, 1});
  std::unique_ptr<Graph> graph = batched("check", attrs,
                                         {Type::tensor(DType::Bool, {2, 2}), Type::tensor(DType::I64, {2, 2}),
                                          Type::tensor(DType::I64, {2}), Type::tensor(DType::I64, {2})},
                                         {0, 0, 0, -1});
  std::vector<Literal> inputs = {Literal::from<uint8_t>(DType::Bool, {2, 2}, {1, 1, 1, 0}),
                                 Literal::from<int64_t>(DType::I64, {2, 2}, {1, 2, 3, 4}),
                                 Literal::from<int64_t>(DType::I64, {2}, {5, 6}),
                                 Literal::from<int64_t>(DType::I64, {2}, {8, 9})};
  EXPECT_EQ(message_of([&] { evaluate(*graph, inputs); }),
            "4 of 6 of 9\n  why: at element [1, 1], the first of those that fail");
}

TEST_F(Effects, WrongOperandsAreRefused) {
  auto refused = [&](const char* node) {
    return message_of([&] {
      verify(*Graph::parse(
          std::string("graph @main(%x: f32[3], %p: bool[2]) {\n  %t = create_token() : token\n  ") + node +
          "\n  return %x\n}"));
    });
  };
  EXPECT_NE(refused("%u = print(%x) {text = \"a\", repeat = 0} : token")
                .find("print: the first operand is f32[3], not a token"),
            std::string::npos);
  EXPECT_NE(refused("%u = check(%t, %p, %x) {message = \"a\", paired = [1], why = \"\", hint = \"\", kind = "
                    "\"value\"} : token")
                .find("the shared axes of a value"),
            std::string::npos);
  EXPECT_NE(refused("%u = check(%t, %p, %x) {message = \"a\", paired = [], why = \"\", hint = \"\", kind = "
                    "\"value\"} : token")
                .find("check: paired has 0 entries for 1 values"),
            std::string::npos);
  EXPECT_NE(refused("%u = print(%t, %x) {text = \"a\", repeat = 2} : token")
                .find("print: value 0 has rank 1, but repeat is 2"),
            std::string::npos);
}

TEST_F(Effects, FromCppEager) {
  Tensor x = Tensor::scalar(DType::F64, 1.5);
  effects::print("x = {0}", std::span(&x, 1));
  EXPECT_EQ(lines(), std::vector<std::string>{"x = 1.5"});
  EXPECT_EQ(message_of([&] {
              effects::check(Tensor::scalar_int(DType::Bool, 0), {"x is {0}", "because", "do"},
                             std::span(&x, 1));
            }),
            "x is 1.5\n  why: because\n  hint: do");
}

}  // namespace
}  // namespace ig::ops
