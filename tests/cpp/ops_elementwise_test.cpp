// The element-wise, creating and folding families: every sample is inferred and run by its reference, every
// bad sample gives exactly the error it states, and every op is compiled, through the passes, and compared
// with its reference: on its samples, and on all pairs of the values where arithmetic has edges. What is
// exact must agree bit for bit; the rest within the bound that its declaration states.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "ops2_cases.h"
#include "tensor/program.h"

namespace ig::ops {
namespace {

const std::vector<const Op*>& family_ops() {
  static const auto* ops = [] {
    auto* out = new std::vector<const Op*>;
    for (auto family : {unary_float_ops, unary_ops, binary_ops, compare_ops, logic_ops, convert_ops,
                        select_ops, create_ops, reduce_ops, reduce_composites, cumulative_ops})
      for (const Op& o : family())
        if (is_asked_for(o)) out->push_back(&get(o.decl.name));
    return out;
  }();
  return *ops;
}

// The dtypes that these families compute in; complex numbers and keys are not among them.
std::vector<DType> dtypes_of(const Op& op) {
  std::vector<DType> out;
  for (DType t : members(op.decl.dtypes))
    if (!is_complex(t) && t != DType::Key) out.push_back(t);
  return out;
}

Case sample_case(const Op& op, const Sample& s, DType t) {
  return case_of(op, s.operands, s.attrs.empty() ? "{}" : s.attrs, t, s.low, s.high);
}
// nextafter alone is narrower than its set, which its infer says.
bool takes(const Op& op, const Case& c) {
  if (op.decl.name != "nextafter") return true;
  return size_of(c.operands[0].dtype()) > 2;
}
std::vector<Type> types_of(const std::vector<Literal>& literals) {
  std::vector<Type> out;
  for (const Literal& l : literals) out.push_back(l.type());
  return out;
}

TEST(Elementwise, ReferencesAgreeWithInference) {
  for (const Op* op : family_ops())
    for (DType t : dtypes_of(*op))
      for (const Sample& s : op->decl.samples) {
        SCOPED_TRACE(op->decl.name + " " + std::string(name(t)) + " " + s.operands + " " + s.attrs);
        try {
          Case c = sample_case(*op, s, t);
          if (!takes(*op, c)) continue;
          std::vector<Type> want = infer(*op, types_of(c.operands), c.attrs, DimScope());
          EXPECT_EQ(want, types_of(evaluate(*op, c.attrs, c.operands)));
        } catch (const Error& error) {
          ADD_FAILURE() << error.what();
        }
      }
}

TEST(Elementwise, BadSamplesGiveTheirErrors) {
  for (const Op* op : family_ops())
    for (const BadSample& bad : op->decl.bad_samples) {
      SCOPED_TRACE(op->decl.name + " " + bad.operands + " " + bad.attrs);
      try {
        Case c = case_of(*op, bad.operands, bad.attrs.empty() ? "{}" : bad.attrs, DType::F32, -4, 4);
        infer(*op, types_of(c.operands), c.attrs, DimScope());
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(std::string(error_kind_name(error.kind())) + ": " + error.summary(), bad.error);
        EXPECT_FALSE(error.hint_text().empty());
      }
    }
}

// --- compiled code against references ---

// One graph that runs `op` once on each case; its results case by case.
std::vector<std::vector<Literal>> compiled(const Op& op, const std::vector<Case>& cases) {
  Graph graph("cases");
  Builder build(graph.body());
  std::vector<Value> outputs;
  std::vector<Tensor> inputs;
  for (const Case& c : cases) {
    std::vector<Value> operands;
    for (const Literal& l : c.operands) {
      operands.push_back(graph.body().add_arg(l.type()));
      inputs.push_back(Tensor::from(l));
    }
    for (Value v : build.node(op, operands, c.attrs)->results()) outputs.push_back(v);
  }
  graph.body().set_results(outputs);
  CompileOptions options;
  options.disabled_passes = {"drop-stops"};  // it would take out one of the ops
  std::vector<Tensor> results = compile(graph, options)->run(inputs);
  std::vector<std::vector<Literal>> out;
  size_t each = results.size() / cases.size();
  for (size_t i = 0; i < cases.size(); ++i) {
    out.emplace_back();
    for (size_t k = 0; k < each; ++k) out.back().push_back(results[i * each + k].literal());
  }
  return out;
}

// The distance of two numbers of a type, in steps from one to the next.
double steps(double a, double b, DType t) {
  auto ordered = [&](double v) {
    int64_t bits = 0;
    if (t == DType::F64) {
      bits = std::bit_cast<int64_t>(v);
      return bits < 0 ? std::numeric_limits<int64_t>::min() - bits : bits;
    }
    auto f = static_cast<float>(v);
    if (t == DType::F32)
      bits = std::bit_cast<int32_t>(f);
    else
      bits = static_cast<int16_t>(t == DType::F16 ? f32_to_f16(f) : f32_to_bf16(f));
    int64_t least =
        t == DType::F32 ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int16_t>::min();
    return bits < 0 ? least - bits : bits;
  };
  int64_t x = ordered(a), y = ordered(b);
  if ((x < 0) != (y < 0)) return static_cast<double>(std::max(x, y)) - static_cast<double>(std::min(x, y));
  return std::fabs(static_cast<double>(x - y));  // subtracted as integers: a double would round them first
}
double epsilon(DType t) {
  return t == DType::F64 ? 0x1p-52 : t == DType::F32 ? 0x1p-23 : t == DType::F16 ? 0x1p-10 : 0x1p-7;
}

// Bounds are stated for float32; in float64 the vector maths is held to 4 (docs of loop/math), and 16-bit
// results are float32's, rounded. `scale`: what an error of one unit is relative to, where that is more than
// the result.
void expect_close(const Op& op, const Literal& have, const Literal& want, const std::vector<double>& scale,
                  const std::function<std::string(int64_t)>& at) {
  ASSERT_EQ(have.type().str(), want.type().str());
  int bad = 0;
  for (int64_t i = 0; i < want.elements() && bad < 4; ++i) {
    if (!is_float(want.dtype())) {
      if (have.as_int(i) == want.as_int(i)) continue;
      ++bad, ADD_FAILURE() << "at " << at(i) << ": " << have.as_int(i) << ", not " << want.as_int(i);
      continue;
    }
    DType t = want.dtype();
    double h = have.as_double(i), w = want.as_double(i);
    if (std::isnan(h) && std::isnan(w)) continue;
    if (h == w && std::signbit(h) == std::signbit(w)) continue;
    double bound = op.decl.ulp;
    bool close = false;
    if (bound > 0 && std::isnan(h) == std::isnan(w)) {
      double unit =
          tools::is_half(t) ? std::max(bound * 0x1p-23, epsilon(t)) : std::max(bound, 4.0) * epsilon(t);
      double allowed = tools::is_half(t) ? 1 : t == DType::F64 ? bound + 4 : bound;
      close = std::signbit(h) == std::signbit(w) && steps(h, w, t) <= allowed;
      if (!scale.empty() && std::isfinite(w))
        close |= std::fabs(h - w) <= unit * scale[static_cast<size_t>(i)];
    }
    if (!close) ++bad, ADD_FAILURE() << fmt::format("at {}: {:a} ({}), not {:a} ({})", at(i), h, h, w, w);
  }
}

// What folds and differences are exact relative to: the same op on magnitudes.
std::vector<double> scale_of(const Op& op, const Case& c, const Literal& want) {
  static const std::set<std::string> absolute{"lgamma", "digamma", "logaddexp"};
  std::vector<double> out;
  if (!is_float(want.dtype()) || op.decl.ulp == 0) return out;
  if (absolute.contains(op.decl.name)) {
    for (int64_t i = 0; i < want.elements(); ++i) out.push_back(std::max(1.0, std::fabs(want.as_double(i))));
    return out;
  }
  if (op.has(Trait::Elementwise) || c.operands.empty() || op.decl.front == Front::Elementwise) return out;
  Case magnitudes = c;
  for (Literal& l : magnitudes.operands) {
    Literal copy = Literal::allocate(l.dtype(), l.dims());
    for (int64_t i = 0; i < l.elements(); ++i) tools::set_real(copy, i, std::fabs(l.as_double(i)));
    l = copy;
  }
  Literal sizes = evaluate(op, c.attrs, magnitudes.operands)[0];
  for (int64_t i = 0; i < want.elements(); ++i)
    out.push_back(std::max({std::fabs(sizes.as_double(i)), std::fabs(want.as_double(i)), 1.0}));
  return out;
}

void expect_compiled(const Op& op, const std::vector<Case>& cases, const std::vector<std::string>& labels) {
  if (cases.empty()) return;
  std::vector<std::vector<Literal>> have;
  try {
    have = compiled(op, cases);
  } catch (const Error& error) {
    ADD_FAILURE() << op.decl.name << ": " << error.what();
    return;
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(op.decl.name + " " + labels[i]);
    std::vector<Literal> want = evaluate(op, cases[i].attrs, cases[i].operands);
    for (size_t k = 0; k < want.size(); ++k)
      expect_close(op, have[i][k], want[k], scale_of(op, cases[i], want[k]), [&](int64_t at) {
        std::string text;
        for (const Literal& l : cases[i].operands) {
          if (l.elements() != want[k].elements()) return fmt::format("element {}", at);
          text += text.empty() ? "" : ", ";
          text +=
              is_float(l.dtype()) ? fmt::format("{:a}", l.as_double(at)) : fmt::format("{}", l.as_int(at));
        }
        return text;
      });
  }
}

// Types of each width and kind; the others differ from these by a table's entry alone, and are run on the
// edges.
bool sampled(DType t) {
  return t == DType::F32 || t == DType::F64 || t == DType::BF16 || t == DType::I64 || t == DType::U8 ||
         t == DType::Bool;
}

TEST(ElementwiseCompiled, SamplesAgreeWithReferences) {
  for (const Op* op : family_ops()) {
    if (op->decl.name == "constant") continue;
    std::vector<Case> cases;
    std::vector<std::string> labels;
    for (DType t : dtypes_of(*op)) {
      if (op->decl.operands.empty() ? t != DType::Bool : !sampled(t))
        continue;  // without operands, T is not used
      for (const Sample& s : op->decl.samples) {
        // Element by element, all shapes are one loop: every shape in one type, and every type in one shape.
        if (op->decl.front == Front::Elementwise && t != DType::F32 && &s != &op->decl.samples.back())
          continue;
        // Folds: every shape where floats and integers take their own ways, every third for the other widths.
        size_t which = static_cast<size_t>(&s - op->decl.samples.data());
        bool other = t == DType::F64 || t == DType::BF16 || t == DType::U8;
        if (other && op->decl.samples.size() > 8 && which % 3) continue;
        Case c = sample_case(*op, s, t);
        if (!takes(*op, c)) continue;
        cases.push_back(std::move(c));
        labels.push_back(std::string(name(t)) + " " + s.operands + " " + s.attrs);
      }
    }
    expect_compiled(*op, cases, labels);
  }
}

// --- edges ---
std::vector<double> real_edges(DType t) {
  double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> out{
      0,   0.5, 1,   1.5,  2,    2.5, 3,     7,       0.1,      0.3,          0.9999, 0.49999997, 10,
      100, 88,  710, 1e-3, 1e-9, 1e4, 65504, 8388609, 16777217, 2147483648.0, 1e10,   1.8e19,     inf};
  std::vector<double> own{1e38, 1e-38, 0x1p-149, 0x1p-126, 0x1.fffffep+127, 1e-30};  // the ends of its range
  if (t == DType::F16) own = {0x1p-24, 0x1p-14, 6e-5};
  if (t == DType::F64)  // and one that two roundings to float16 get wrong
    own = {1e300, 1e-300, 0x1p-1074, 0x1.fffffffffffffp+1023, 0x1p-1022, 0x1p53, 1 + 0x1p-11 + 0x1p-40};
  out.insert(out.end(), own.begin(), own.end());
  size_t n = out.size();
  for (size_t i = 0; i < n; ++i) out.push_back(-out[i]);
  out.push_back(nan);
  return out;
}
std::vector<int64_t> whole_edges(DType t) {
  if (t == DType::Bool) return {0, 1};
  int bits = info(t).bits;
  int64_t least = std::numeric_limits<int64_t>::min() >> (64 - bits);
  return {0,  1,   2,  3,  7,  8,  15,   16,    31,        32,     63,
          64, 100, -1, -2, -3, -7, -100, least, least + 1, ~least, ~least - 1};
}
Literal edges(DType t) {
  if (is_float(t)) {
    std::vector<double> v = real_edges(t);
    Literal out = Literal::allocate(t, {static_cast<int64_t>(v.size())});
    for (size_t i = 0; i < v.size(); ++i) tools::set_real(out, static_cast<int64_t>(i), v[i]);
    return out;
  }
  std::vector<int64_t> v = whole_edges(t);
  Literal out = Literal::allocate(t, {static_cast<int64_t>(v.size())});
  for (size_t i = 0; i < v.size(); ++i) tools::set_whole(out, static_cast<int64_t>(i), v[i]);
  return out;
}
// Every combination of the edges, one operand each.
std::vector<Literal> combinations(DType t, size_t operands) {
  Literal e = edges(t);
  int64_t n = e.elements(), total = operands == 1 ? n : n * n;
  std::vector<Literal> out;
  for (size_t k = 0; k < operands; ++k) {
    out.push_back(Literal::allocate(t, {total}));
    for (int64_t i = 0; i < total; ++i) tools::copy_element(out[k], i, e, k == 0 ? i % n : i / n);
  }
  return out;
}

TEST(ElementwiseCompiled, EdgesAgreeWithReferences) {
  for (const Op* op : family_ops()) {
    if (op->decl.front != Front::Elementwise && op->decl.name != "divide") continue;
    if (op->decl.operands.size() > 2 || op->decl.dtypes == DTypeSet::Key) continue;
    std::vector<Case> cases;
    std::vector<std::string> labels;
    for (DType t : dtypes_of(*op)) {
      Case c{combinations(t, op->decl.operands.size()), {}};
      const Sample* sample = op->decl.samples.empty() ? nullptr : &op->decl.samples.front();
      if (sample && !sample->attrs.empty())
        c.attrs = case_of(*op, sample->operands, sample->attrs, t, sample->low, sample->high).attrs;
      if (!takes(*op, c)) continue;
      cases.push_back(std::move(c));
      labels.emplace_back(name(t));
    }
    expect_compiled(*op, cases, labels);
  }
}

TEST(ElementwiseCompiled, EveryConversionIsExact) {
  const Op& convert = get("convert");
  for (DType to : dtypes_of(convert)) {
    std::vector<Case> cases;
    std::vector<std::string> labels;
    for (DType from : dtypes_of(convert)) {
      Attrs attrs;
      attrs.set("dtype", to);
      cases.push_back({{edges(from)}, attrs});
      labels.push_back(fmt::format("{} to {}", name(from), name(to)));
    }
    expect_compiled(convert, cases, labels);
  }
}

// --- known answers ---
double one(std::string_view op, std::vector<double> x, DType t = DType::F64) {
  std::vector<Literal> operands;
  for (double v : x) operands.push_back(Literal::scalar(t, v));
  Literal out = evaluate(get(op), complete_attrs(get(op), {}), operands)[0];
  return is_float(out.dtype()) ? out.as_double(0) : static_cast<double>(out.as_int(0));
}

TEST(ElementwiseKnown, IntegerDivisionIsTotal) {
  double least = -128;
  EXPECT_EQ(one("divide", {5, 0}, DType::I8), -1);
  EXPECT_EQ(one("divide", {5, 0}, DType::U8), 255);
  EXPECT_EQ(one("divide", {least, -1}, DType::I8), least);
  EXPECT_EQ(one("divide", {-7, 2}, DType::I8), -3);
  EXPECT_EQ(one("floor_divide", {-7, 2}, DType::I8), -4);
  EXPECT_EQ(one("floor_divide", {least, -1}, DType::I8), least);
  EXPECT_EQ(one("remainder", {-7, 0}, DType::I8), -7);
  EXPECT_EQ(one("remainder", {least, -1}, DType::I8), 0);
  EXPECT_EQ(one("remainder", {-7, 2}, DType::I8), -1);
  EXPECT_EQ(one("floor_mod", {-7, 2}, DType::I8), 1);
  EXPECT_EQ(one("floor_mod", {7, -2}, DType::I8), -1);
}

TEST(ElementwiseKnown, ShiftsBeyondTheWidth) {
  EXPECT_EQ(one("shift_left", {3, 8}, DType::I8), 0);
  EXPECT_EQ(one("shift_right_arithmetic", {-3, 8}, DType::I8), -1);
  EXPECT_EQ(one("shift_right_arithmetic", {200, 9}, DType::U8), 0);
  EXPECT_EQ(one("shift_right_logical", {-1, 7}, DType::I8), 1);
  EXPECT_EQ(one("shift_left", {3, -1}, DType::I8), 0);
}

TEST(ElementwiseKnown, ExtremesOrderZerosAndKeepNaN) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(std::signbit(one("maximum", {-0.0, 0.0})));
  EXPECT_TRUE(std::signbit(one("minimum", {0.0, -0.0})));
  EXPECT_TRUE(std::isnan(one("maximum", {nan, 1})));
  EXPECT_TRUE(std::isnan(one("minimum", {1, nan})));
}

// Published values to more digits than float64 has (Abramowitz and Stegun, tables 6.1 and 7.1; DLMF 5.4).
TEST(ElementwiseKnown, SpecialFunctions) {
  EXPECT_NEAR(one("digamma", {1}), -0.57721566490153286, 1e-15);
  EXPECT_NEAR(one("digamma", {0.5}), -1.96351002602142348, 4e-15);
  EXPECT_NEAR(one("digamma", {-0.5}), 0.03648997397857652, 1e-14);
  EXPECT_NEAR(one("erf_inv", {0.5}), 0.47693627620446987, 1e-15);
  for (double x : {1e-3, 1e-9, 1e-20, 1e-300}) {  // x sqrt(pi)/2 (1 + pi x^2/12 + 7 pi^2 x^4/480 + …)
    double q = M_PI * x * x, want = x * 0.88622692545275801 * (1 + q / 12 + 7 * q * q / 480);
    EXPECT_NEAR(one("erf_inv", {x}) / want, 1, 1e-14) << x;
  }
  EXPECT_NEAR(one("logistic", {-740}) / std::exp(-740.0), 1, 1e-12);
  EXPECT_EQ(one("logistic", {-HUGE_VAL}), 0);
  EXPECT_EQ(one("logistic", {HUGE_VAL}), 1);
}

TEST(ElementwiseKnown, ArgmaxTakesTheFirstAndNaN) {
  Literal x = Literal::from<float>(DType::F32, {2, 4}, {1, 5, 5, 2, NAN, 9, NAN, -1});
  Attrs attrs = make_attrs({{"axes", Ints{1}}});
  Literal out = evaluate(get("reduce_argmax"), attrs, std::vector{x})[0];
  EXPECT_EQ(out.as_int(0), 1);
  EXPECT_EQ(out.as_int(1), 0);
  Literal least = evaluate(get("reduce_argmin"), attrs, std::vector{x})[0];
  EXPECT_EQ(least.as_int(0), 0);
  EXPECT_EQ(least.as_int(1), 0);
}

// Long rows with ties and several NaN: lanes must not change which one is first.
TEST(ElementwiseCompiled, ArgmaxIsTheFirstInLongRows) {
  std::vector<Case> cases;
  std::vector<std::string> labels;
  for (DType t : {DType::F32, DType::F64, DType::I32, DType::U8}) {
    Literal x = Literal::allocate(t, {6, 200});
    for (int64_t i = 0; i < x.elements(); ++i) {
      double v = static_cast<double>((i * 37) % 11) - (is_unsigned_int(t) ? 0 : 20);
      if (is_float(t))
        tools::set_real(x, i, i / 200 == 3 && i % 7 == 5 ? NAN : v);
      else
        tools::set_whole(x, i, static_cast<int64_t>(v));
    }
    for (Ints axes : {Ints{0}, Ints{1}, Ints{0, 1}}) {
      cases.push_back({{x}, make_attrs({{"axes", axes}})});
      labels.push_back(fmt::format("{} over {}", name(t),
                                   axes.size() == 2 ? "both"
                                   : axes[0]        ? "rows"
                                                    : "columns"));
    }
  }
  expect_compiled(get("reduce_argmax"), cases, labels);
  expect_compiled(get("reduce_argmin"), cases, labels);
}

// --- simplify ---
// A rule may only fire where every bit stays: f(x, k) and f(x) for the constants that rules look for, on all
// edges.
TEST(ElementwiseSimplify, KeepsEveryBit) {
  for (const char* op : {"add", "subtract", "multiply", "divide"})
    for (double k : {0.0, -0.0, 1.0, -1.0})
      for (bool left : {false, true})
        for (DType t : {DType::F32, DType::F64, DType::I32, DType::U8}) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", op, k, left, name(t)));
          Graph graph("simplify");
          Literal x = edges(t);
          Value arg = graph.body().add_arg(x.type());
          Builder build(graph.body());
          Value number = build.full(x.type(), k);
          Value out = left ? build(op, {number, arg}) : build(op, {arg, number});
          graph.body().set_results({out});
          SimplifyContext context{build, out->node(), graph.dims};
          Value instead = op_of(out->node()).rules.simplify.get()(context);
          if (!instead) continue;
          Literal want = evaluate(graph, std::vector{x})[0];
          graph.body().set_results({instead});
          Literal have = evaluate(graph, std::vector{x})[0];
          for (int64_t i = 0; i < x.elements(); ++i) {
            if (is_float(t)) {
              double h = have.as_double(i), w = want.as_double(i);
              EXPECT_TRUE((std::isnan(h) && std::isnan(w)) || (h == w && std::signbit(h) == std::signbit(w)))
                  << x.as_double(i) << " gives " << h << ", not " << w;
            } else {
              EXPECT_EQ(have.as_int(i), want.as_int(i));
            }
          }
        }
}

// The position in a fold over no axis is 0, also where the operand has the result's type.
TEST(ElementwiseSimplify, PositionOfOneElementIsZero) {
  for (const char* op : {"reduce_argmax", "reduce_argmin"}) {
    Graph graph("simplify");
    Value x = graph.body().add_arg(Type::tensor(DType::I64, {Dim(int64_t{3})}));
    Builder build(graph.body());
    Value out = build(op, {x}, {{"axes", Ints{}}});
    SimplifyContext context{build, out->node(), graph.dims};
    Value instead = op_of(out->node()).rules.simplify.get()(context);
    graph.body().set_results({instead ? instead : out});
    Literal have = evaluate(graph, std::vector{Literal::from<int64_t>(DType::I64, {3}, {7, 8, 9})})[0];
    EXPECT_EQ(have, Literal::allocate(DType::I64, {3})) << op;
  }
}

TEST(ElementwiseSimplify, FiresWhereItShould) {
  auto simplified = [](const std::function<Value(Builder&, Value)>& make, DType t, bool to_input) {
    Graph graph("simplify");
    Value x = graph.body().add_arg(Type::tensor(t, {Dim(int64_t{3})}));
    Builder build(graph.body());
    Value out = make(build, x);
    graph.body().set_results({out});
    SimplifyContext context{build, out->node(), graph.dims};
    Value instead = op_of(out->node()).rules.simplify.get()(context);
    return to_input ? instead == x : instead != nullptr;
  };
  auto twice = [](const char* op) { return [op](Builder& b, Value x) { return b(op, {b(op, {x})}); }; };
  EXPECT_TRUE(simplified([](Builder& b, Value x) { return b("multiply", {x, b.full_like(x, 1)}); },
                         DType::F32, true));
  EXPECT_TRUE(
      simplified([](Builder& b, Value x) { return b("add", {x, b.full_like(x, -0.0)}); }, DType::F32, true));
  EXPECT_FALSE(
      simplified([](Builder& b, Value x) { return b("add", {x, b.full_like(x, 0)}); }, DType::F32, true));
  EXPECT_TRUE(
      simplified([](Builder& b, Value x) { return b("add", {x, b.full_like(x, 0)}); }, DType::I32, true));
  EXPECT_TRUE(simplified([](Builder& b, Value x) { return b("subtract", {x, b.full_like(x, 0)}); },
                         DType::F32, true));
  EXPECT_TRUE(
      simplified([](Builder& b, Value x) { return b("divide", {x, b.full_like(x, 1)}); }, DType::F32, true));
  EXPECT_TRUE(simplified(twice("negate"), DType::F32, true));
  EXPECT_TRUE(simplified(twice("not"), DType::I32, true));
  EXPECT_TRUE(simplified(twice("abs"), DType::F32, false));
  EXPECT_TRUE(simplified([](Builder& b, Value x) { return b("maximum", {x, x}); }, DType::F32, true));
  EXPECT_TRUE(simplified([](Builder& b, Value x) { return b("and", {x, x}); }, DType::I32, true));
  EXPECT_TRUE(simplified([](Builder& b, Value x) { return b("positive", {x}); }, DType::F32, true));
}

// --- derivatives ---
// The tangent of each op with a jvp rule, in float64, against a central difference away from the edges.
TEST(ElementwiseJvp, AgreesWithDifferences) {
  int checked = 0;
  for (const Op* op : family_ops()) {
    if (!op->has(Trait::Elementwise) || !op->rules.jvp || op->has(Trait::Composite) ||
        op->decl.operands.size() > 2)
      continue;
    if (op->decl.name == "stop_gradient" || !op->decl.attrs.empty()) continue;
    if (!contains(op->decl.dtypes, DType::F64)) continue;
    SCOPED_TRACE(op->decl.name);
    const Sample& s = op->decl.samples.back();
    double middle = (s.low + s.high) / 2, half = (s.high - s.low) / 2 * 0.8;
    std::vector<std::vector<double>> points{{middle + half * 0.37, middle + half * 0.61},
                                            {middle - half * 0.43, middle + half * 0.29}};
    for (const std::vector<double>& at : points)
      for (size_t k = 0; k < op->decl.operands.size(); ++k) {
        Graph graph("jvp");
        Builder build(graph.body());
        std::vector<Value> operands, tangents(op->decl.operands.size(), nullptr);
        std::vector<Literal> inputs;
        for (size_t i = 0; i < op->decl.operands.size(); ++i) {
          operands.push_back(graph.body().add_arg(Type::tensor(DType::F64, {})));
          inputs.push_back(Literal::scalar(DType::F64, at[i]));
        }
        tangents[k] = graph.body().add_arg(Type::tensor(DType::F64, {}));
        inputs.push_back(Literal::scalar(DType::F64, 1));
        Node* node = build.node(*op, operands);
        JvpContext context{build, node, operands, tangents, node->results()};
        Value tangent = op->rules.jvp.get()(context)[0];
        double have = 0;
        if (tangent) {
          graph.body().set_results({tangent});
          have = evaluate(graph, inputs)[0].as_double(0);
        }
        double h = 1e-6 * std::max(1.0, std::fabs(at[k]));
        std::vector<double> above(at.begin(), at.begin() + static_cast<long>(operands.size())), below = above;
        above[k] += h, below[k] -= h;
        double want = (one(op->decl.name, above) - one(op->decl.name, below)) / (2 * h);
        EXPECT_NEAR(have, want, 2e-6 * std::max(1.0, std::fabs(want))) << "operand " << k << " at " << at[k];
        ++checked;
      }
  }
  EXPECT_GT(checked, 80);
}

}  // namespace
}  // namespace ig::ops
