// The example of docs/how-to-add-an-op.md, word for word: it compiles, and it does what the page says.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "ops2_cases.h"
#include "tensor/program.h"

// [example]
#include "ops/families/compose.h"
#include "ops/families/elementwise.h"

namespace ig::ops {
namespace {

constexpr Attr<double> kThreshold{"threshold", "How much is taken off.", "0x1p-1"};

// Attributes are doubles; arithmetic is in the array's type, and 16-bit floats compute in float32.
double threshold_of(const Attrs& attrs, DType dtype) {
  double t = attrs.get(kThreshold);
  return dtype == DType::F64 ? t : static_cast<float>(t);
}

void infer_soft_shrink(InferContext& c) {
  c.require_dtype(0, DTypeSet::Float);
  if (!(c.get(kThreshold) >= 0))
    c.fail(ErrorKind::Value, fmt::format("threshold is {}, but it is a distance", c.get(kThreshold)),
           "a negative one would push numbers apart", "give 0 or more");
  c.result(c.operand(0).dtype, c.operand(0).dims);
}

void reference_soft_shrink(ReferenceContext& c) {
  const Literal& x = c.operands[0];
  double t = threshold_of(c.attrs, x.dtype());
  for (int64_t i = 0, n = x.elements(); i < n; ++i) {
    double v = x.as_double(i), bounded = v > t ? t : v < -t ? -t : v;
    double shrunk = x.dtype() == DType::F64 ? v - bounded : static_cast<float>(v - bounded);
    tools::set_real(c.results[0], i, shrunk);
  }
}

loop::Expr lower_soft_shrink(ScalarContext& c) {
  double t = threshold_of(c.node->attrs(), c.node->operand(0)->type().dtype);
  loop::Expr x = c.x[0], high = c.build.constant(x.type(), t), low = c.build.constant(x.type(), -t);
  return x - select(x > high, high, select(x < low, low, x));
}

// The tangent passes where something is left, and is 0 between the thresholds.
std::vector<Value> jvp_soft_shrink(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Compose m(c.build);
  Value zero = m.number(c.results[0], 0);
  return {m.where(m.equal(c.results[0], zero), zero, c.tangents[0])};
}

}  // namespace

Op soft_shrink_op() {
  return {.decl = {.name = "soft_shrink",
                   .python = "soft_shrink",
                   .doc = "x moved towards 0 by the threshold; 0 where it is nearer than that.\n\n"
                          "NaN stays; infinities stay. PyTorch's softshrink.",
                   .operands = {{"x", "The array."}},
                   .attrs = {kThreshold},
                   .dtypes = DTypeSet::Float,
                   .traits = Trait::Elementwise | Trait::Cheap,
                   .front = Front::Direct,
                   .numpy = "x - np.clip(x, -x.dtype.type(threshold), x.dtype.type(threshold))",
                   .example = "ig.soft_shrink(ig.asarray([-2.0, 0.25, 1.0]))",
                   .samples = {{"T[]", "{}"},
                               {"T[3, 5]", "{}"},
                               {"T[33]", "{threshold = 0x1.8p+0}"},
                               {"T[0]", "{}"},
                               {"T[4] {nan, inf, -inf, -0.0}", "{threshold = 0x0p+0}"}},
                   .bad_samples = {{"i32[2]", "{}",
                                    "TypeError: soft_shrink: expected a floating-point type, but x is int32"},
                                   {"f32[2]", "{threshold = -0x1p+0}",
                                    "ValueError: soft_shrink: threshold is -1, but it is a distance"}}},
          .rules = {.infer = infer_soft_shrink,
                    .reference = reference_soft_shrink,
                    .lower = LowerRule::of_scalar(lower_soft_shrink),
                    .simplify = tools::no_rule("by 0 it would be x, but -0 becomes 0"),
                    .jvp = jvp_soft_shrink,
                    .transpose = tools::no_rule("it is not linear"),
                    .batch = batch_elementwise,
                    .body = tools::no_body()}};
}

}  // namespace ig::ops
// [end]

namespace ig::ops {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

TEST(HowToAddAnOp, ThePageShowsThisExample) {
  std::string source = text_of(std::string(IG_SOURCE_DIR) + "/tests/cpp/how_to_add_an_op_test.cpp");
  const std::string begin = "// [example]\n", end = "// [end]\n";
  size_t from = source.find(begin) + begin.size();
  std::string example = source.substr(from, source.find(end, from) - from);
  std::string page = text_of(std::string(IG_SOURCE_DIR) + "/docs/how-to-add-an-op.md");
  EXPECT_NE(page.find("```cpp\n" + example + "```"), std::string::npos) << "the page and this file differ";
}

TEST(HowToAddAnOp, TheExampleHoldsWhatItDeclares) {
  static const Op& op = add(soft_shrink_op());
  for (DType t : members(op.decl.dtypes))
    for (const Sample& s : op.decl.samples) {
      SCOPED_TRACE(std::string(name(t)) + " " + s.operands + " " + s.attrs);
      Case c = case_of(op, s.operands, s.attrs, t, s.low, s.high);
      Graph graph("sample");
      Value x = graph.body().add_arg(c.operands[0].type());
      Builder build(graph.body());
      graph.body().set_results({build.node(op, {x}, c.attrs)->result()});
      verify(graph);
      verify(*Graph::parse(graph.str()));
      Literal want = evaluate(graph, c.operands)[0];
      Literal have = compile(graph)->run(std::vector{Tensor::from(c.operands[0])})[0].literal();
      for (int64_t i = 0; i < want.elements(); ++i) {
        double w = want.as_double(i), h = have.as_double(i);
        EXPECT_TRUE(w == h || (std::isnan(w) && std::isnan(h))) << i << ": " << h << ", not " << w;
      }
    }
  for (const BadSample& s : op.decl.bad_samples) {
    Case c = case_of(op, s.operands, s.attrs, DType::F32, -4, 4);
    DimScope scope;
    try {
      infer(op, {c.operands[0].type()}, c.attrs, scope);
      ADD_FAILURE() << s.error;
    } catch (const Error& e) {
      EXPECT_EQ(std::string(error_kind_name(e.kind())) + ": " + e.summary(), s.error);
    }
  }
  auto at = Literal::from<double>(DType::F64, {4}, {-2, -0.25, 0.25, 3}),
       along = Literal::from<double>(DType::F64, {4}, {1, 2, 3, 4});
  Graph graph("jvp");
  std::vector<Value> operands{graph.body().add_arg(at.type())}, tangents{graph.body().add_arg(at.type())};
  Builder build(graph.body());
  Node* node = build.node(op, operands);
  JvpContext context{build, node, operands, tangents, node->results()};
  graph.body().set_results(op.rules.jvp.get()(context));
  EXPECT_EQ(evaluate(graph, std::vector{at, along})[0], Literal::from<double>(DType::F64, {4}, {1, 0, 0, 4}));
}

}  // namespace
}  // namespace ig::ops
