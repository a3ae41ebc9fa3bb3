// The op table and what works on it alone: what every declaration must say, the builder, inference, the
// verifier, the reference executor, and ops of a user's own, which take part in all of these once they are
// added.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <set>
#include <thread>

#include "ops/attrs.h"
#include "ops2_cases.h"

namespace ig::ops {
namespace {

std::string summary_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    EXPECT_FALSE(e.why_text().empty()) << e.summary();
    EXPECT_FALSE(e.hint_text().empty()) << e.summary();
    return std::string(error_kind_name(e.kind())) + ": " + e.summary();
  }
  return "no error";
}

// --- what every declaration says
// -----------------------------------------------------------------------------------
TEST(OpTable, NamesAreUnique) {
  std::set<std::string> names, functions;
  for (const Op* op : all()) {
    EXPECT_TRUE(names.insert(op->decl.name).second) << op->decl.name;
    if (!op->decl.python.empty()) {
      EXPECT_TRUE(functions.insert(op->decl.python).second) << op->decl.python;
    }
    EXPECT_EQ(&get(op->decl.name), op);
    EXPECT_EQ(&get(op->id), op);
  }
  EXPECT_GE(names.size(), 120u);
}

TEST(OpTable, EveryOperandAttributeAndOpIsDocumented) {
  for (const Op* op : all()) {
    SCOPED_TRACE(op->decl.name);
    EXPECT_FALSE(op->decl.doc.empty());
    EXPECT_FALSE(op->decl.numpy.empty());
    std::set<std::string> names;
    for (const OperandSpec& operand : op->decl.operands) {
      EXPECT_FALSE(operand.doc.empty()) << operand.name;
      EXPECT_TRUE(names.insert(operand.name).second) << operand.name;
    }
    for (const AttrSpec& attr : op->decl.attrs) {
      EXPECT_FALSE(attr.doc.empty()) << attr.name;
      EXPECT_TRUE(names.insert(attr.name).second) << attr.name;
      if (attr.fallback) {
        EXPECT_EQ(attr.fallback->index(), static_cast<size_t>(attr.kind)) << attr.name;
      }
    }
  }
}

TEST(OpTable, EveryRuleIsWrittenOrAbsentForAReason) {
  for (const Op* op : all()) {
    SCOPED_TRACE(op->decl.name);
    const OpRules& r = op->rules;
    auto said = [](const auto& rule) { return static_cast<bool>(rule) || !rule.reason().empty(); };
    EXPECT_TRUE(said(r.infer));
    EXPECT_TRUE(said(r.reference));
    EXPECT_TRUE(said(r.simplify));
    EXPECT_TRUE(said(r.jvp));
    EXPECT_TRUE(said(r.transpose));
    EXPECT_TRUE(said(r.batch));
    EXPECT_TRUE(said(r.body));
    EXPECT_TRUE(r.infer || r.body);
    EXPECT_TRUE(r.reference || r.body || r.control_reference);
    if (op->has(Trait::Composite)) {
      EXPECT_TRUE(static_cast<bool>(r.body));
    }
    EXPECT_EQ(static_cast<bool>(r.control_reference), op->has(Trait::Control));
    bool lowered = r.lower.scalar || r.lower.point || r.lower.reduce || r.lower.nest ||
                   r.lower.way != Way::None || !r.lower.reason.empty();
    EXPECT_TRUE(lowered);
    if (r.lower.kind == LowerRule::Kind::Reduce) {
      EXPECT_TRUE(op->has(Trait::Reduction));
    }
    if (r.lower.kind == LowerRule::Kind::Scalar) {
      EXPECT_TRUE(op->has(Trait::Elementwise));
    }
  }
}

TEST(OpTable, EveryOpHasSamples) {
  for (const Op* op : all()) {
    if (op->has(Trait::Control) || op->has(Trait::Effect)) continue;  // their tests are written by hand
    if (op->has(Trait::NamedAxis)) continue;                          // no example stands alone
    if (op->decl.name == "create_token") continue;                    // a token has no value
    if (op->decl.name == "io_callback_results") continue;             // running it is an error
    if (op->has(Trait::Constant) && op->decl.operands.empty() && op->decl.attrs.size() == 1) continue;
    EXPECT_FALSE(op->decl.samples.empty()) << op->decl.name;
  }
}

TEST(OpTable, UnknownNamesAreAnsweredWithCloseOnes) {
  EXPECT_EQ(find("no_such_op"), nullptr);
  try {
    get("multipy");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Value);
    EXPECT_EQ(e.summary(), "unknown op 'multipy'");
    EXPECT_EQ(e.hint_text(), "close names are multiply");
  }
  try {
    get("exp");  // a public name
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.hint_text().rfind("close names are exponential", 0), 0u) << e.hint_text();
  }
  try {
    get("qqqqqqqqqqqq");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.hint_text(), "docs/ops.md lists the ops");
  }
}

// --- attributes and inference
// ----------------------------------------------------------------------------------------
constexpr Attr<double> kWeight{"weight", "A factor.", "0x1p+1"};
constexpr Attr<std::string> kMode{"mode", "How.", "\"plain\"", "plain|twice"};

// weight * x, or 2 * weight * x: an op of a user's own, as it would stand in a file of theirs.
void infer_weighted(InferContext& c) {
  c.require_dtype(0, DTypeSet::Float);
  c.result(c.operand(0).dtype, c.operand(0).dims);
}
double factor(const Attrs& attrs) { return attrs.get(kWeight) * (attrs.get(kMode) == "twice" ? 2 : 1); }
void reference_weighted(ReferenceContext& c) {
  for (int64_t i = 0, n = c.results[0].elements(); i < n; ++i)
    tools::set_real(c.results[0], i, factor(c.attrs) * c.operands[0].as_double(i));
}
loop::Expr lower_weighted(ScalarContext& c) { return c.x[0] * factor(c.node->attrs()); }

Op weighted(std::string name, std::string python = "") {
  return {
      .decl = {.name = std::move(name),
               .python = std::move(python),
               .doc = "x times a weight.",
               .operands = {{"x", "The array."}},
               .attrs = {kWeight, kMode},
               .dtypes = DTypeSet::Float,
               .traits = Trait::Elementwise | Trait::Linear,
               .numpy = "x * weight * (2 if mode == 'twice' else 1)",
               .samples = {{"T[3]", "{}"}, {"T[2, 2]", "{weight = 0x1.8p+0, mode = \"twice\"}"}},
               .bad_samples = {{"i32[3]", "{}",
                                "TypeError: test_weighted: expected a floating-point type, but x is int32"}}},
      .rules = {.infer = infer_weighted,
                .reference = reference_weighted,
                .lower = LowerRule::of_scalar(lower_weighted),
                .simplify = tools::no_rule("a test needs none"),
                .jvp = tools::linear_jvp,
                .transpose = tools::no_rule("a test needs none"),
                .batch = tools::no_rule("a test needs none"),
                .body = tools::no_body()}};
}
const Op& test_op() {
  static const Op& op = add(weighted("test_weighted"));
  return op;
}
constexpr Attr<int64_t> kTimes{"times", "How often."};

std::vector<Value> repeated_body(BodyContext& c) {
  Value x = c.operands[0];
  for (int64_t i = 0; i < c.get(kTimes); ++i) x = c.build(test_op().decl.name, {x});
  return {x};
}
Op repeated() {
  Op op = weighted("test_repeated");
  op.decl.attrs = {kTimes};
  op.decl.samples = {{"T[3]", "{times = 2}"}};
  op.decl.bad_samples.clear();
  op.decl.traits = static_cast<uint32_t>(Trait::Composite);
  op.rules.infer = tools::by_body();
  op.rules.reference = tools::by_body();
  op.rules.lower = LowerRule::of_body();
  op.rules.body = repeated_body;
  return op;
}
const Op& test_composite() {
  static const Op& op = add(repeated());
  return op;
}

TEST(Attributes, AreCompletedInDeclaredOrder) {
  const Op& op = test_op();
  Attrs given;
  given.set("mode", AttrValue(std::string("twice")));
  given.set("weight", AttrValue(int64_t{3}));  // a whole number stands for a float
  Attrs complete = complete_attrs(op, given);
  ASSERT_EQ(complete.items().size(), 2u);
  EXPECT_EQ(complete.items()[0].first, "weight");
  EXPECT_EQ(complete.get(kWeight), 3.0);
  EXPECT_EQ(complete_attrs(op, {}).get(kMode), "plain");
  EXPECT_EQ(complete_attrs(op, complete), complete);
}

TEST(Attributes, WrongOnesAreRefused) {
  const Op& op = test_op();
  auto with = [&](const char* name, AttrValue value) {
    return summary_of([&] { complete_attrs(op, Attrs().set(name, std::move(value))); });
  };
  EXPECT_EQ(with("wieght", 1.0), "TypeError: test_weighted: unknown attribute 'wieght'");
  EXPECT_EQ(with("weight", Ints{1}),
            "TypeError: test_weighted: the attribute weight is of kind float, got ints");
  EXPECT_EQ(with("mode", std::string("thrice")),
            "ValueError: test_weighted: the attribute mode cannot be 'thrice'");
  EXPECT_EQ(with("mode", std::string("plain|twice")),
            "ValueError: test_weighted: the attribute mode cannot be 'plain|twice'");
  EXPECT_EQ(with("mode", std::string()), "ValueError: test_weighted: the attribute mode cannot be ''");
  EXPECT_EQ(summary_of([&] { complete_attrs(test_composite(), {}); }),
            "TypeError: test_repeated: the attribute times is missing");
}

TEST(Inference, ErrorsNameWhatIsWrong) {
  DimScope scope;
  auto of = [&](const char* op, std::vector<Type> types) {
    return summary_of([&] { infer(get(op), std::move(types), complete_attrs(get(op), {}), scope); });
  };
  Type f = Type::parse("f32[2, 3]"), g = Type::parse("f32[3]"), i = Type::parse("i32[2, 3]");
  EXPECT_EQ(of("add", {f, g}), "ShapeError: add: shapes [2, 3] and [3] differ");
  EXPECT_EQ(of("add", {f}), "TypeError: add: expected 2 operands, got 1");
  EXPECT_EQ(of("add", {f, f, f}), "TypeError: add: expected 2 operands, got 3");
  EXPECT_EQ(of("exponential", {i}),
            "TypeError: exp: expected a floating-point or complex type, but x is int32");
  EXPECT_EQ(of("exponential", {Type::token()}), "TypeError: exp: expected an array, but x is a token");
}

TEST(Inference, CompositesAreTypedByTheirBodies) {
  DimScope scope;
  scope.declare("b", {1, 100});
  std::vector<Type> types =
      infer(test_composite(), {Type::parse("f32[b, 4]")}, make_attrs({kTimes % int64_t{3}}), scope);
  ASSERT_EQ(types.size(), 1u);
  EXPECT_EQ(types[0].str(), "f32[b, 4]");
  EXPECT_EQ(summary_of([&] {
              infer(test_composite(), {Type::parse("i32[4]")}, make_attrs({kTimes % int64_t{1}}), scope);
            }),
            "TypeError: test_repeated: test_weighted: expected a floating-point type, but x is int32");
}

TEST(Inference, EverySampleMakesAGraphThatVerifiesAndParsesBack) {
  for (const Op* op : all()) {
    if (!op->decl.segments.empty() || op->has(Trait::Control)) continue;
    for (const Sample& s : op->decl.samples) {
      SCOPED_TRACE(op->decl.name + " " + s.operands + " " + s.attrs);
      DType t = contains(op->decl.dtypes, DType::F32) ? DType::F32 : members(op->decl.dtypes).front();
      Case c = case_of(*op, s.operands, s.attrs.empty() ? "{}" : s.attrs, t, s.low, s.high);
      Graph graph("sample");
      std::vector<Value> values;
      for (const Literal& l : c.operands) values.push_back(graph.body().add_arg(l.type()));
      Builder build(graph.body());
      Node* node = build.node(*op, values, c.attrs);
      graph.body().set_results({node->results().begin(), node->results().end()});
      verify(graph);
      std::string text = graph.str();
      std::unique_ptr<Graph> back = Graph::parse(text);
      verify(*back);
      EXPECT_EQ(back->str(), text);
      EXPECT_EQ(back->hash(), graph.hash());
    }
  }
}

// --- builder, verifier
// -------------------------------------------------------------------------------------------------
TEST(OpBuilder, ErrorsSayWhere) {
  Graph graph("g");
  Value x = graph.body().add_arg(Type::parse("f32[2]"));
  Value y = graph.body().add_arg(Type::parse("f32[3]"));
  Builder build(graph.body());
  build.set_location(Location::of({{"model.py", 12, "forward", "z = x + y"}}));
  try {
    build("add", {x, y});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.summary(), "add: shapes [2] and [3] differ");
    EXPECT_EQ(e.where(), "model.py:12 in forward:  z = x + y");
  }
  EXPECT_EQ(graph.node_count(), 0u);
}

TEST(OpBuilder, MakesNothingWhereNothingIsToDo) {
  Graph graph("g");
  Value x = graph.body().add_arg(Type::parse("f32[2, 3]"));
  Builder build(graph.body());
  EXPECT_EQ(build.convert(x, DType::F32), x);
  EXPECT_EQ(build.reshape(x, {2, 3}), x);
  EXPECT_EQ(build.transpose(x, {0, 1}), x);
  EXPECT_EQ(build.broadcast_to(x, {2, 3}), x);
  EXPECT_EQ(graph.node_count(), 0u);
  EXPECT_EQ(build.broadcast_to(x, {4, 2, 3})->type().str(), "f32[4, 2, 3]");
}

TEST(OpBuilder, BroadcastsShapesAsNumPyDoes) {
  DimScope scope;
  scope.declare("b", {1, 64});
  auto shape = [&](const char* a, const char* b) {
    return str(broadcast_shapes(Type::parse(a).dims, Type::parse(b).dims, scope, "add"));
  };
  EXPECT_EQ(shape("f32[2, 1]", "f32[3]"), "[2, 3]");
  EXPECT_EQ(shape("f32[]", "f32[3]"), "[3]");
  EXPECT_EQ(shape("f32[b, 4]", "f32[1, 4]"), "[b, 4]");
  EXPECT_EQ(shape("f32[0]", "f32[1]"), "[0]");
  EXPECT_EQ(summary_of([&] { shape("f32[2, 3]", "f32[4]"); }),
            "ShapeError: add: shapes [2, 3] and [4] do not broadcast");
}

std::string verify_error(const std::string& text) {
  return summary_of([&] { verify(*Graph::parse(text)); });
}

TEST(OpVerify, HoldsTheLawsOfTheOps) {
  Graph graph("g");
  Value x = graph.body().add_arg(Type::parse("f32[2]"), "x");
  Builder build(graph.body());
  Value y = build("exponential", {x});
  graph.body().set_results({y});
  verify(graph);
  std::string good = graph.str();
  auto changed = [&](std::string from, std::string to) {
    std::string text = good;
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << " in " << text;
    text.replace(at, from.size(), to);
    return verify_error(text);
  };
  EXPECT_EQ(changed("exponential", "exponentiel"), "VerifyError: exponentiel: unknown op");
  y->set_type(Type::parse("f32[3]"));
  EXPECT_EQ(summary_of([&] { verify(graph); }),
            "VerifyError: exponential: result 0 is f32[3], its op gives f32[2]");
  y->set_type(Type::parse("f32[2]"));
  y->node()->set_attrs(make_attrs({kTimes % int64_t{2}}));
  EXPECT_EQ(summary_of([&] { verify(graph); }), "VerifyError: exponential: exp: unknown attribute 'times'");
}

// --- the reference executor
// ----------------------------------------------------------------------------------------------
TEST(Evaluate, RunsGraphsOfSymbolicSizes) {
  Graph graph("g");
  graph.dims.declare("n", {1, 100});
  Value x = graph.body().add_arg(Type::parse("f32[n]")), y = graph.body().add_arg(Type::parse("f32[n]"));
  Builder build(graph.body());
  Value sum = build("add", {x, build("multiply", {y, build.full_like(y, 2)})});
  graph.body().set_results({build("reduce_sum", {sum}, {kAxes % Ints{0}})});
  verify(graph);
  auto a = Literal::from<float>(DType::F32, {3}, {1, 2, 3}),
       b = Literal::from<float>(DType::F32, {3}, {10, 20, 30});
  EXPECT_EQ(evaluate(graph, std::vector{a, b})[0].as_double(0), 126);
  auto run = [&](std::vector<Literal> inputs) { return summary_of([&] { evaluate(graph, inputs); }); };
  EXPECT_EQ(run({a}), "TypeError: the graph takes 2 arrays, got 1");
  EXPECT_EQ(run({a, Literal::allocate(DType::F32, {4})}),
            "ShapeError: input 1 of the graph is f32[n], got f32[4]");
  EXPECT_EQ(run({a, Literal::allocate(DType::I32, {3})}),
            "TypeError: input 1 of the graph is f32[n], got i32[3]");
  EXPECT_EQ(run({a, Literal::allocate(DType::F32, {3, 1})}),
            "ShapeError: input 1 of the graph is f32[n], got f32[3, 1]");
}

// --- ops of a user's own
// -------------------------------------------------------------------------------------------------
TEST(UserOp, TakesPartInEverything) {
  const Op& op = test_op();
  EXPECT_EQ(find("test_weighted"), &op);
  EXPECT_EQ(all().back()->decl.name.rfind("test_", 0), 0u);
  Graph graph("g");
  Value x = graph.body().add_arg(Type::parse("f32[3]"));
  Builder build(graph.body());
  Value y = build("test_weighted", {x}, {kWeight % 1.5, kMode % "twice"});
  graph.body().set_results({build(test_composite().decl.name, {y}, {kTimes % int64_t{2}})});
  verify(graph);
  std::unique_ptr<Graph> back = Graph::parse(graph.str());
  verify(*back);
  auto in = Literal::from<float>(DType::F32, {3}, {1, -2, 0.5});
  for (const Graph* g : {static_cast<const Graph*>(&graph), static_cast<const Graph*>(back.get())}) {
    Literal out = evaluate(*g, std::vector{in})[0];
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(out.as_double(i), 12 * in.as_double(i));
  }
  // Its derivative, by its own rule.
  Graph tangent("t");
  std::vector<Value> operands{tangent.body().add_arg(Type::parse("f32[3]"))},
      tangents{tangent.body().add_arg(Type::parse("f32[3]"))};
  Builder derive(tangent.body());
  Node* node = derive.node(op, operands, complete_attrs(op, {}));
  JvpContext context{derive, node, operands, tangents, node->results()};
  tangent.body().set_results(op.rules.jvp.get()(context));
  verify(tangent);
  EXPECT_EQ(evaluate(tangent, std::vector{in, in})[0].as_double(1), -4);
}

TEST(UserOp, IsRefusedWhereSomethingLacks) {
  test_op();
  auto refused = [](Op op) {
    try {
      add(std::move(op));
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::Value);
      EXPECT_FALSE(e.hint_text().empty());
      return e.summary() + ": " + e.why_text();
    }
    return std::string("taken");
  };
  size_t before = all().size();
  EXPECT_EQ(refused(weighted("add")), "the op 'add' cannot be declared: the name is taken");
  EXPECT_EQ(refused(weighted("test_exp", "exp")),
            "the op 'test_exp' cannot be declared: the public name exp is that of exponential");
  EXPECT_EQ(refused(weighted("return")),
            "the op 'return' cannot be declared: its name cannot stand in graph text");
  EXPECT_EQ(refused(weighted("two words")),
            "the op 'two words' cannot be declared: its name cannot stand in graph text");
  EXPECT_EQ(refused(weighted("")), "the op '' cannot be declared: it has no name");
  Op op = weighted("test_undocumented");
  op.decl.doc.clear();
  EXPECT_EQ(refused(op), "the op 'test_undocumented' cannot be declared: it has no doc");
  op = weighted("test_silent");
  op.rules.batch = Rule<BatchFn>(nullptr);
  EXPECT_EQ(
      refused(op),
      "the op 'test_silent' cannot be declared: the rule batch is neither written nor absent for a reason");
  op = weighted("test_bodiless");
  op.decl.traits |= static_cast<uint32_t>(Trait::Composite);
  EXPECT_EQ(refused(op), "the op 'test_bodiless' cannot be declared: Trait::Composite has no body to it");
  op = weighted("test_mute");
  op.rules.lower = LowerRule{};
  EXPECT_EQ(
      refused(op),
      "the op 'test_mute' cannot be declared: the rule lower is neither written nor absent for a reason");
  op = weighted("test_ruleless");
  op.rules.infer = tools::no_rule("not given");
  EXPECT_EQ(refused(op),
            "the op 'test_ruleless' cannot be declared: it has neither an infer rule nor a body");
  EXPECT_EQ(all().size(), before);
}

TEST(UserOp, JoinsWhileOthersRead) {
  std::atomic<bool> stop{false};
  std::atomic<size_t> seen{0};
  std::thread reader([&] {
    while (!stop)
      for (const Op* op : all()) seen += find(op->decl.name) == op;
  });
  static int added = 0;
  for (int i = 0; i < 200; ++i) add(weighted("test_many_" + std::to_string(added++)));
  stop = true;
  reader.join();
  EXPECT_EQ(get("test_many_199").decl.name, "test_many_199");
}

// --- derivatives of folds
// ------------------------------------------------------------------------------------------------ The
// directional derivative by the rule, against the difference of the function along that direction.
void expect_derivative(const char* name, const std::vector<double>& at,
                       std::vector<std::pair<std::string, AttrValue>> attrs) {
  SCOPED_TRACE(name);
  const Op& op = get(name);
  Attrs complete = complete_attrs(op, make_attrs(std::move(attrs)));
  std::vector<double> direction;
  for (size_t i = 0; i < at.size(); ++i) direction.push_back(std::cos(static_cast<double>(i) + 1));
  std::vector<int64_t> dims{2, static_cast<int64_t>(at.size()) / 2};
  auto x = Literal::from<double>(DType::F64, dims, at),
       t = Literal::from<double>(DType::F64, dims, direction);
  Graph graph("jvp");
  std::vector<Value> operands{graph.body().add_arg(x.type())}, tangents{graph.body().add_arg(x.type())};
  Builder build(graph.body());
  Node* node = build.node(op, operands, complete);
  JvpContext context{build, node, operands, tangents, node->results()};
  graph.body().set_results(op.rules.jvp.get()(context));
  verify(graph);
  Literal have = evaluate(graph, std::vector{x, t})[0];
  const double h = 1e-6;
  auto moved = [&](double by) {
    std::vector<double> y = at;
    for (size_t i = 0; i < y.size(); ++i) y[i] += by * direction[i];
    return evaluate(op, complete, std::vector{Literal::from<double>(DType::F64, dims, y)})[0];
  };
  Literal above = moved(h), below = moved(-h);
  for (int64_t i = 0; i < have.elements(); ++i)
    EXPECT_NEAR(have.as_double(i), (above.as_double(i) - below.as_double(i)) / (2 * h), 1e-7) << i;
}

TEST(FoldDerivatives, AgreeWithDifferences) {
  std::vector<double> plain{0.5, -1.25, 2, 3, 0.75, -0.5}, zeros{0, -1.25, 2, 3, 0, 0};
  for (const Ints& axes : {Ints{0}, Ints{1}, Ints{0, 1}})
    for (const char* op : {"reduce_sum", "reduce_prod", "reduce_max", "reduce_min"})
      expect_derivative(op, plain, {kAxes % axes});
  expect_derivative("reduce_prod", zeros, {kAxes % Ints{1}});  // one 0 in the first row, two in the second
  for (int64_t axis : {0, 1}) expect_derivative("cumulative_sum", plain, {kAxis % axis});
}

// <T x, y> = <x, T^t y> for the linear folds.
TEST(FoldDerivatives, TransposesAreAdjoint) {
  auto dot = [](const Literal& a, const Literal& b) {
    double sum = 0;
    for (int64_t i = 0; i < a.elements(); ++i) sum += a.as_double(i) * b.as_double(i);
    return sum;
  };
  auto check = [&](const char* name, Attrs attrs) {
    SCOPED_TRACE(name);
    const Op& op = get(name);
    attrs = complete_attrs(op, attrs);
    auto x = Literal::from<double>(DType::F64, {2, 3}, {1, -2, 3, 0.5, 4, -1});
    Literal y = evaluate(op, attrs, std::vector{x})[0];
    Literal ct = Literal::allocate(DType::F64, y.dims());
    for (int64_t i = 0; i < ct.elements(); ++i) tools::set_real(ct, i, std::sin(static_cast<double>(i) + 1));
    Graph graph("transpose");
    std::vector<Value> operands{graph.body().add_arg(x.type())}, cotangents{graph.body().add_arg(ct.type())},
        unknown{nullptr};
    Builder build(graph.body());
    Node* node = build.node(op, operands, attrs);
    const bool linear[] = {true};
    TransposeContext context{build, node, unknown, cotangents, linear};
    graph.body().set_results(op.rules.transpose.get()(context));
    EXPECT_NEAR(dot(y, ct), dot(x, evaluate(graph, std::vector{x, ct})[0]), 1e-12);
  };
  for (const Ints& axes : {Ints{}, Ints{0}, Ints{1}, Ints{0, 1}})
    check("reduce_sum", make_attrs({kAxes % axes}));
  for (int64_t axis : {0, 1}) check("cumulative_sum", make_attrs({kAxis % axis}));
}

TEST(FoldSimplify, TheSumOfMinusZeroStaysZero) {
  Graph graph("g");
  Value x = graph.body().add_arg(Type::parse("f32[2]")), n = graph.body().add_arg(Type::parse("i32[2]"));
  Builder build(graph.body());
  for (auto [value, gone] : {std::pair{x, false}, std::pair{n, true}}) {
    Value sum = build("reduce_sum", {value}, {kAxes % Ints{}});
    SimplifyContext context{build, sum->node(), graph.dims};
    EXPECT_EQ(op_of(sum->node()).rules.simplify.get()(context) == value, gone);
  }
}

}  // namespace
}  // namespace ig::ops
