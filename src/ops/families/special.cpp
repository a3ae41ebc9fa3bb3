// The special functions, `ig.special` in Python: element by element, each by the formula of
// loop/special_formulas.h or special_incomplete.h, with its derivative. Those that are made of others are in
// special_composites.cpp.
#include "loop/special.h"

#include <numbers>

#include "ops/families/compose.h"
#include "ops/families/elementwise.h"
#include "ops/families/families.h"

namespace ig::ops {

std::vector<Op> special_composites();  // special_composites.cpp

namespace {

using loop::Expr;
namespace special = loop::special;

constexpr double kRootTwoPi = 2.5066282746310005024, kRootPi = 1.7724538509055160273;

// The derivative of a function of one number: its factor, of the operand and of the result.
template <auto Factor>
std::vector<Value> scaled(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Compose m(c.build);
  return {m.mul(c.tangents[0], Factor(m, c.operands[0], c.results[0]))};
}

// Of two numbers: both factors, each built where its tangent is there.
template <auto First, auto Second>
std::vector<Value> scaled_both(JvpContext& c) {
  Compose m(c.build);
  Value sum = nullptr;
  if (c.tangents[0]) sum = m.mul(c.tangents[0], First(m, c.operands[0], c.operands[1], c.results[0]));
  if (c.tangents[1]) {
    Value second = m.mul(c.tangents[1], Second(m, c.operands[0], c.operands[1], c.results[0]));
    sum = sum ? m.add(sum, second) : second;
  }
  return {sum};
}

[[noreturn]] void refuse(JvpContext& c, size_t operand, std::string why, std::string hint) {
  const Op& op = op_of(c.node);
  throw make_error(ErrorKind::Unsupported, "{} has no derivative by {}", op.public_name(),
                   op.decl.operands[operand].name)
      .at(c.node->location().str())
      .why(std::move(why))
      .hint(std::move(hint));
}

Value one_over(Compose& m, Value x) { return m.div(m.number(x, 1), x); }
Value is_zero(Compose& m, Value x) { return m.equal(x, m.number(x, 0)); }
Value half_square(Compose& m, Value x) { return m.mul(m.mul(x, x), 0.5); }
// exp(-x^2 / 2) / sqrt(2 pi).
Value normal_density(Compose& m, Value x) { return m.mul(m.exp(m.neg(half_square(m, x))), 1 / kRootTwoPi); }
Value digamma(Compose& m, Value x) { return m.b("digamma", {x}); }

// Slopes of x log(y): 0 by x where x and y are 0 (as in PyTorch), and by y where x is 0.
template <const char* Name>
Value log_factor(Compose& m, Value x, Value y, double least) {
  Value nothing = m.both(is_zero(m, x), m.less_equal(y, m.number(y, least)));
  return m.b(Name, {m.where(nothing, m.number(x, 0), m.number(x, 1)), y});
}
constexpr char kXlogy[] = "xlogy", kXlog1py[] = "xlog1py";
Value xlogy_by_x(Compose& m, Value x, Value y, Value) { return log_factor<kXlogy>(m, x, y, 0); }
Value xlogy_by_y(Compose& m, Value x, Value y, Value) {
  return m.where(is_zero(m, x), m.number(x, 0), m.div(x, y));
}
Value xlog1py_by_x(Compose& m, Value x, Value y, Value) { return log_factor<kXlog1py>(m, x, y, -1); }
Value xlog1py_by_y(Compose& m, Value x, Value y, Value) {
  return m.where(is_zero(m, x), m.number(x, 0), m.div(x, m.add(y, 1.0)));
}

Value log_ratio(Compose& m, Value x, Value y) { return m.b("rel_entr", {m.number(x, 1), m.div(y, x)}); }
Value rel_entr_by_x(Compose& m, Value x, Value y, Value) { return m.add(log_ratio(m, x, y), 1.0); }
Value rel_entr_by_y(Compose& m, Value x, Value y, Value) {
  return m.where(is_zero(m, x), m.number(x, 0), m.neg(m.div(x, y)));
}
Value kl_div_by_x(Compose& m, Value x, Value y, Value) { return log_ratio(m, x, y); }
Value kl_div_by_y(Compose& m, Value x, Value y, Value) { return m.sub(m.number(x, 1), m.div(x, y)); }

Value betaln_by(Compose& m, Value a, Value b) { return m.sub(digamma(m, a), digamma(m, m.add(a, b))); }
Value binom_by_n(Compose& m, Value n, Value k, Value y) {
  return m.mul(y, m.sub(digamma(m, m.add(n, 1.0)), digamma(m, m.add(m.sub(n, k), 1.0))));
}
Value binom_by_k(Compose& m, Value n, Value k, Value y) {
  return m.mul(y, m.sub(digamma(m, m.add(m.sub(n, k), 1.0)), digamma(m, m.add(k, 1.0))));
}

// x^(a - 1) e^-x / gamma(a); the density of the gamma distribution.
Value gamma_density(Compose& m, Value a, Value x) {
  Value logs = m.sub(m.b("xlogy", {m.sub(a, 1.0), x}), m.add(x, m.b("lgamma", {a})));
  return m.exp(logs);
}
Value gammainc_by_a(Compose& m, Value a, Value x, Value) { return m.b("gammainc_slope", {a, x}); }
Value gammainc_by_x(Compose& m, Value a, Value x, Value) { return gamma_density(m, a, x); }
Value gammaincc_by_a(Compose& m, Value a, Value x, Value) { return m.neg(m.b("gammainc_slope", {a, x})); }
Value gammaincc_by_x(Compose& m, Value a, Value x, Value) { return m.neg(gamma_density(m, a, x)); }

std::vector<Value> jvp_zeta(JvpContext& c) {
  if (c.tangents[0])
    refuse(c, 0, "its slope by the exponent is a series that is not among the ops",
           "put ig.stop_gradient around the exponent, or differentiate by q alone");
  if (!c.tangents[1]) return {nullptr};
  Compose m(c.build);
  Value s = c.operands[0];
  Value factor = m.neg(m.mul(s, m.b("zeta", {m.add(s, 1.0), c.operands[1]})));
  return {m.mul(c.tangents[1], factor)};
}

// By x the density of the beta distribution.
std::vector<Value> jvp_betainc(JvpContext& c) {
  for (size_t i : {0, 1})
    if (c.tangents[i])
      refuse(c, i, "its slopes by a and b are series that are not among the ops; JAX has none either",
             "put ig.stop_gradient around a and b, or take differences of two calls");
  if (!c.tangents[2]) return {nullptr};
  Compose m(c.build);
  Value a = c.operands[0], b = c.operands[1], x = c.operands[2];
  Value logs = m.add(m.b("xlogy", {m.sub(a, 1.0), x}), m.b("xlog1py", {m.sub(b, 1.0), m.neg(x)}));
  return {m.mul(c.tangents[2], m.exp(m.sub(logs, m.b("betaln", {a, b}))))};
}

// --- Bessel functions
Value sign_of(Compose& m, Value x) { return m.b("sign", {x}); }
// (I1(x) over x), and its limit 1/2.
Value over_x(Compose& m, Value y, Value x) {
  Value zero = is_zero(m, x);
  return m.where(zero, m.number(x, 0.5), m.div(y, m.where(zero, m.number(x, 1), x)));
}

Op renamed(Op op, std::vector<std::pair<std::string, std::string>> operands, std::string example,
           std::string error_name) {
  std::vector<OperandSpec> specs;
  for (auto& [name, doc] : operands) specs.push_back({name, doc});
  for (BadSample& bad : op.decl.bad_samples) {
    std::string old = "but x is";
    if (size_t at = bad.error.find(old); at != std::string::npos)
      bad.error.replace(at, old.size(), "but " + error_name + " is");
  }
  op.decl.operands = std::move(specs);
  op.decl.example = std::move(example);
  return op;
}

void reference_betainc(ReferenceContext& c) {
  for (int64_t i = 0, n = c.operands[0].elements(); i < n; ++i)
    tools::set_real(
        c.results[0], i,
        special::betainc(c.operands[0].as_double(i), c.operands[1].as_double(i), c.operands[2].as_double(i)));
}
Expr lower_betainc(ScalarContext& c) { return special::betainc(c.x[0], c.x[1], c.x[2]); }

void infer_three(InferContext& c) {
  for (size_t i = 0; i < c.size(); ++i) c.require_dtype(i, DTypeSet::Float);
  for (size_t i = 1; i < c.size(); ++i) {
    c.require_same_dtype(0, i);
    c.require_same_shape(0, i);
  }
  c.result(c.operand(0).dtype, c.operand(0).dims);
}

Op betainc_op() {
  return {.decl = {.name = "regularized_incomplete_beta",
                   .python = "special.betainc",
                   .doc = "The regularised incomplete beta function I_x(a, b): the share of the beta "
                          "distribution below x.\n\nOf positive a and b whose sum is at most 100000, else "
                          "NaN: beyond, the fraction would need more steps. Derivatives are by x alone. By "
                          "the continued fraction of DiDonato and Morris (1992).",
                   .operands = {{"a", "The first parameter."}, {"b", "The second."}, {"x", "From 0 to 1."}},
                   .dtypes = DTypeSet::Float,
                   .traits = static_cast<uint32_t>(Trait::Elementwise),
                   .front = Front::Elementwise,
                   .numpy = "scipy.special.betainc(a, b, x)",
                   .example = "ig.special.betainc(2.0, 3.0, ig.asarray([0.25, 0.5]))",
                   .samples = {{"T[], T[], T[]", "{}", 0.05, 0.95},
                               {"T[0], T[0], T[0]", "{}", 0.05, 0.95},
                               {"T[7], T[7], T[7]", "{}", 0.05, 0.95},
                               {"T[3, 17], T[3, 17], T[3, 17]", "{}", 0.05, 0.95},
                               {"T[4] {2, 30, 0.5, 100}, T[4] {3, 7, 8, 120}, T[4]", "{}", 0.25, 0.75}},
                   .bad_samples = {{"f32[3], f32[3], f32[4]", "{}",
                                    "ShapeError: special.betainc: shapes [3] and [4] differ"},
                                   {"i32[3], i32[3], i32[3]", "{}",
                                    "TypeError: special.betainc: expected a floating-point type, but a is "
                                    "int32"}},
                   .ulp = 32},
          .rules = {.infer = infer_three,
                    .reference = reference_betainc,
                    .lower = LowerRule::of_scalar(lower_betainc),
                    .simplify = tools::no_rule("no identity keeps every bit"),
                    .jvp = jvp_betainc,
                    .transpose = tools::not_linear(),
                    .batch = batch_elementwise,
                    .body = tools::no_body()}};
}

// A function of loop::special: its definition, and its code.
template <double (*Number)(double), Expr (*Code)(Expr)>
Op of_one(ElementwiseDecl decl) {
  return unary<Number, nullptr, Code>(std::move(decl));
}
template <double (*Number)(double, double), Expr (*Code)(Expr, Expr)>
Op of_two(ElementwiseDecl decl) {
  return binary<Number, nullptr, Code>(std::move(decl));
}

}  // namespace

std::vector<Op> special_ops() {
  std::vector<Op> ops;
  ops.push_back(of_one<special::gamma, special::gamma>(
      {.name = "gamma",
       .python = "special.gamma",
       .doc =
           "The gamma function, of which gamma(n + 1) is n factorial.\n\nNaN at the poles -1, -2 …, and an "
           "infinity of the zero's sign at 0.",
       .numpy = "np.where((x < 0) & (x == np.floor(x)), np.nan, scipy.special.gamma(x))",
       .low = 0.1,
       .high = 12,
       .ulp = 2,
       .jvp = scaled<[](Compose& m, Value x, Value y) { return m.mul(y, digamma(m, x)); }>}));
  ops.push_back(of_one<special::gamma_sign, special::gamma_sign>(
      {.name = "gamma_sign",
       .python = "special.gammasgn",
       .doc = "The sign of the gamma function: NaN at the poles left of 0; at 0 the zero's own.",
       .numpy = "scipy.special.gammasgn(x)"}));
  ops.push_back(of_one<special::erfcx, special::erfcx>(
      {.name = "erfcx",
       .python = "special.erfcx",
       .doc = "exp(x²) erfc(x), which keeps its digits where erfc is 0.",
       .numpy = "scipy.special.erfcx(x)",
       .ulp = 4,
       .jvp = scaled<[](Compose& m, Value x, Value y) {
         return m.sub(m.mul(m.mul(x, y), 2.0), m.number(x, 2 / kRootPi));
       }>}));
  ops.push_back(of_one<special::erfc_inv, special::erfc_inv>(
      {.name = "erfc_inv",
       .python = "special.erfcinv",
       .doc = "The inverse of erfc; infinite at 0 and 2, NaN outside.",
       .numpy = "scipy.special.erfcinv(x)",
       .low = 0.01,
       .high = 1.99,
       .ulp = 4,
       .jvp = scaled<[](Compose& m, Value, Value y) { return m.mul(m.exp(m.mul(y, y)), -0.5 * kRootPi); }>}));
  ops.push_back(of_one<special::ndtr, special::ndtr>(
      {.name = "ndtr",
       .python = "special.ndtr",
       .doc = "The normal distribution's share below x.",
       .numpy = "scipy.special.ndtr(x)",
       .low = -2,
       .high = 3,
       .ulp = 4,
       .jvp = scaled<[](Compose& m, Value x, Value) { return normal_density(m, x); }>}));
  ops.push_back(of_one<special::log_ndtr, special::log_ndtr>(
      {.name = "log_ndtr",
       .python = "special.log_ndtr",
       .doc =
           "The logarithm of the normal distribution's share below x, which keeps its digits in both tails.",
       .numpy = "scipy.special.log_ndtr(x)",
       .high = 1.5,
       .ulp = 4,
       // Density over share: both vanish on the left, and this does not.
       .jvp = scaled<[](Compose& m, Value x, Value) {
         Value below = m.b("erfcx", {m.mul(x, -std::numbers::sqrt2 / 2)});
         return m.div(m.number(x, 2 / kRootTwoPi), below);
       }>}));
  ops.push_back(of_one<special::ndtri, special::ndtri>(
      {.name = "ndtri",
       .python = "special.ndtri",
       .doc = "The inverse of ndtr: the normal distribution's quantiles.",
       .numpy = "scipy.special.ndtri(x)",
       .low = 0.01,
       .high = 0.99,
       .ulp = 4,
       .jvp =
           scaled<[](Compose& m, Value, Value y) { return m.mul(m.exp(half_square(m, y)), kRootTwoPi); }>}));
  ops.push_back(of_one<special::logit, special::logit>(
      {.name = "logit",
       .python = "special.logit",
       .doc = "log(x / (1 - x)), the inverse of expit; infinite at 0 and 1, NaN outside.",
       .numpy = "scipy.special.logit(x)",
       .low = 0.01,
       .high = 0.99,
       .ulp = 4,
       .jvp = scaled<[](Compose& m, Value x, Value) {
         return one_over(m, m.mul(x, m.sub(m.number(x, 1), x)));
       }>}));
  ops.push_back(of_one<special::entr, special::entr>(
      {.name = "entr",
       .python = "special.entr",
       .doc = "-x log(x): the terms of an entropy. 0 at 0, -inf of negatives.",
       .numpy = "scipy.special.entr(x)",
       .low = 0.05,
       .high = 4,
       .ulp = 4,
       .jvp = scaled<[](Compose& m, Value x, Value) { return m.sub(m.number(x, -1), m.log(x)); }>}));
  ops.push_back(of_one<special::bessel_i0, special::bessel_i0>(
      {.name = "bessel_i0",
       .python = "special.i0",
       .doc = "The modified Bessel function of the first kind and order 0.",
       .numpy = "scipy.special.i0(x)",
       .low = -20,
       .high = 20,
       .ulp = 4,
       .jvp = scaled<[](Compose& m, Value x, Value) { return m.b("bessel_i1", {x}); }>}));
  ops.push_back(of_one<special::bessel_i0e, special::bessel_i0e>(
      {.name = "bessel_i0e",
       .python = "special.i0e",
       .doc = "exp(-|x|) i0(x), which does not overflow.",
       .numpy = "scipy.special.i0e(x)",
       .low = -20,
       .high = 20,
       .ulp = 4,
       .jvp = scaled<[](Compose& m, Value x, Value y) {
         return m.sub(m.b("bessel_i1e", {x}), m.mul(sign_of(m, x), y));
       }>}));
  ops.push_back(of_one<special::bessel_i1, special::bessel_i1>(
      {.name = "bessel_i1",
       .python = "special.i1",
       .doc = "The modified Bessel function of the first kind and order 1.",
       .numpy = "scipy.special.i1(x)",
       .low = -20,
       .high = 20,
       .ulp = 4,
       .jvp = scaled<[](Compose& m, Value x, Value y) {
         return m.sub(m.b("bessel_i0", {x}), over_x(m, y, x));
       }>}));
  ops.push_back(of_one<special::bessel_i1e, special::bessel_i1e>(
      {.name = "bessel_i1e",
       .python = "special.i1e",
       .doc = "exp(-|x|) i1(x), which does not overflow.",
       .numpy = "scipy.special.i1e(x)",
       .low = -20,
       .high = 20,
       .ulp = 4,
       .jvp = scaled<[](Compose& m, Value x, Value y) {
         return m.sub(m.sub(m.b("bessel_i0e", {x}), over_x(m, y, x)), m.mul(sign_of(m, x), y));
       }>}));
  ops.push_back(of_one<special::bessel_j0, special::bessel_j0>(
      {.name = "bessel_j0",
       .python = "special.j0",
       .doc = "The Bessel function of the first kind and order 0; 0 at infinity.",
       .numpy = "scipy.special.j0(x)",
       .low = -20,
       .high = 20,
       .ulp = 4,
       .jvp = scaled<[](Compose& m, Value x, Value) { return m.neg(m.b("bessel_j1", {x})); }>}));
  ops.push_back(of_one<special::bessel_j1, special::bessel_j1>(
      {.name = "bessel_j1",
       .python = "special.j1",
       .doc = "The Bessel function of the first kind and order 1; 0 at infinity.",
       .numpy = "scipy.special.j1(x)",
       .low = -20,
       .high = 20,
       .ulp = 4,
       .jvp = scaled<[](Compose& m, Value x, Value y) {
         return m.sub(m.b("bessel_j0", {x}), over_x(m, y, x));
       }>}));
  ops.push_back(of_one<special::exp1, special::exp1>(
      {.name = "exp1",
       .python = "special.exp1",
       .doc = "The exponential integral E1, the integral of exp(-t) / t from x on; infinite at 0, NaN of "
              "negatives.",
       .numpy = "scipy.special.exp1(x)",
       .low = 0.05,
       .high = 20,
       .ulp = 4,
       .jvp = scaled<[](Compose& m, Value x, Value) { return m.neg(m.div(m.exp(m.neg(x)), x)); }>}));
  ops.push_back(of_one<special::expi, special::expi>(
      {.name = "expi",
       .python = "special.expi",
       .doc = "The exponential integral Ei, the principal value of that of exp(t) / t up to x; -inf at 0.",
       .numpy = "scipy.special.expi(x)",
       .low = -20,
       .high = 20,
       .ulp = 8,  // SciPy loses six units
       .jvp = scaled<[](Compose& m, Value x, Value) { return m.div(m.exp(x), x); }>}));

  auto two = [&](Op op, std::string first, std::string first_doc, std::string second, std::string second_doc,
                 std::string example) {
    ops.push_back(
        renamed(std::move(op), {{first, first_doc}, {second, second_doc}}, std::move(example), first));
  };
  two(of_two<special::xlogy, special::xlogy>({.name = "xlogy",
                                              .python = "special.xlogy",
                                              .doc = "x log(y), and 0 where x is 0, unless y is NaN.",
                                              .numpy = "scipy.special.xlogy(x, y)",
                                              .low = 0.05,
                                              .high = 4,
                                              .ulp = 4,
                                              .jvp = scaled_both<xlogy_by_x, xlogy_by_y>}),
      "x", "The factor.", "y", "What the logarithm is taken of.",
      "ig.special.xlogy(ig.asarray([0.0, 2.0]), ig.asarray([0.0, 3.0]))");
  two(of_two<special::xlog1py, special::xlog1py>(
          {.name = "xlog1py",
           .python = "special.xlog1py",
           .doc = "x log(1 + y), exact for small y, and 0 where x is 0, unless y is NaN.",
           .numpy = "scipy.special.xlog1py(x, y)",
           .low = -0.9,
           .high = 4,
           .ulp = 4,
           .jvp = scaled_both<xlog1py_by_x, xlog1py_by_y>}),
      "x", "The factor.", "y", "What the logarithm is taken of, less 1.",
      "ig.special.xlog1py(ig.asarray([0.0, 2.0]), ig.asarray([-1.0, 1e-9]))");
  two(of_two<special::rel_entr, special::rel_entr>(
          {.name = "rel_entr",
           .python = "special.rel_entr",
           .doc = "x log(x / y): the terms of a relative entropy. 0 where x is 0 and y is not negative, else "
                  "infinity where one is not positive.",
           .numpy = "scipy.special.rel_entr(x, y)",
           .low = 0.05,
           .high = 4,
           .ulp = 4,
           .jvp = scaled_both<rel_entr_by_x, rel_entr_by_y>}),
      "x", "The shares.", "y", "Those that they are compared with.",
      "ig.special.rel_entr(ig.asarray([0.25, 0.75]), ig.asarray([0.5, 0.5]))");
  two(of_two<special::kl_div, special::kl_div>(
          {.name = "kl_div",
           .python = "special.kl_div",
           .doc =
               "x log(x / y) - x + y: the terms of Kullback's and Leibler's divergence, none of them "
               "negative.\n\ny where x is 0 and y is not negative, else infinity where one is not positive.",
           .numpy = "(lambda a, b, u: np.where(abs(u) < 0.1, b * sum((-u) ** k / (k * (k - 1)) for k in "
                    "range(2, 24)), "
                    "a * np.log(a / b) - a + b))(x.astype('g'), y.astype('g'), (x.astype('g') - y) / y)",
           .low = 0.05,
           .high = 4,
           .ulp = 8,
           .jvp = scaled_both<kl_div_by_x, kl_div_by_y>}),
      "x", "The shares.", "y", "Those that they are compared with.",
      "ig.special.kl_div(ig.asarray([0.25, 0.75]), ig.asarray([0.5, 0.5]))");
  two(of_two<special::betaln, special::betaln>(
          {.name = "betaln",
           .python = "special.betaln",
           .doc = "The logarithm of the absolute value of the beta function; NaN of whole numbers below 0.",
           .numpy = "scipy.special.betaln(a, b)",
           .low = 0.1,
           .high = 20,
           .ulp = 16,
           .jvp = scaled_both<[](Compose& m, Value a, Value b, Value) { return betaln_by(m, a, b); },
                              [](Compose& m, Value a, Value b, Value) { return betaln_by(m, b, a); }>}),
      "a", "The first parameter.", "b", "The second.",
      "ig.special.betaln(ig.asarray([2.0, 3.0]), ig.asarray([0.5, 4.0]))");
  two(of_two<special::beta, special::beta>(
          {.name = "beta",
           .python = "special.beta",
           .doc = "The beta function, gamma(a) gamma(b) / gamma(a + b); NaN of whole numbers below 0.",
           .numpy = "scipy.special.beta(a, b)",
           .low = 0.1,
           .high = 20,
           .ulp = 64,
           .jvp = scaled_both<
               [](Compose& m, Value a, Value b, Value y) { return m.mul(y, betaln_by(m, a, b)); },
               [](Compose& m, Value a, Value b, Value y) { return m.mul(y, betaln_by(m, b, a)); }>}),
      "a", "The first parameter.", "b", "The second.",
      "ig.special.beta(ig.asarray([2.0, 3.0]), ig.asarray([0.5, 4.0]))");
  two(of_two<special::binom, special::binom>(
          {.name = "binomial_coefficient",
           .python = "special.binom",
           .doc = "The binomial coefficient n over k, of real numbers too.\n\nExact for whole numbers as far "
                  "as they are representable, where k or n - k is at most 30. NaN for a whole n below 0.",
           .numpy = "scipy.special.binom(n, k)",
           .low = 3,
           .high = 5,
           .ulp = 32,
           .jvp = scaled_both<binom_by_n, binom_by_k>}),
      "n", "Of how many.", "k", "How many.",
      "ig.special.binom(ig.asarray([5.0, 2.5]), ig.asarray([2.0, 1.0]))");
  two(of_two<special::gammainc, special::gammainc>(
          {.name = "igamma",
           .python = "special.gammainc",
           .doc =
               "The regularised lower incomplete gamma function P(a, x): the gamma distribution's share "
               "below x.\n\nNaN where an argument is negative. By its power series, the continued fraction "
               "of 1 - P, or Temme's uniform expansion (1979).",
           .numpy = "scipy.special.gammainc(a, x)",
           .low = 0.1,
           .high = 20,
           .ulp = 64,
           .jvp = scaled_both<gammainc_by_a, gammainc_by_x>}),
      "a", "The shape.", "x", "The place.", "ig.special.gammainc(2.0, ig.asarray([1.0, 3.0]))");
  two(of_two<special::gammaincc, special::gammaincc>(
          {.name = "igammac",
           .python = "special.gammaincc",
           .doc = "The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x), which keeps its "
                  "digits where it is small.\n\nNaN where an argument is negative.",
           .numpy = "scipy.special.gammaincc(a, x)",
           .low = 0.1,
           .high = 20,
           .ulp = 64,
           .jvp = scaled_both<gammaincc_by_a, gammaincc_by_x>}),
      "a", "The shape.", "x", "The place.", "ig.special.gammaincc(2.0, ig.asarray([1.0, 3.0]))");
  two(of_two<special::gammainc_slope, special::gammainc_slope>(
          {.name = "gammainc_slope",
           .python = "special.gammainc_slope",
           .doc = "The derivative of P(a, x) by a, by the slopes of its series.",
           .numpy = "none: SciPy has no derivative by a; tests compare it with recorded values of mpmath",
           .low = 0.1,
           .high = 20,
           .ulp = 64,
           .no_jvp = "the second derivatives of the incomplete gamma function by a are not among the ops"}),
      "a", "The shape.", "x", "The place.", "ig.special.gammainc_slope(2.0, ig.asarray([1.0, 3.0]))");
  two(of_two<special::log_gamma_sample_slope, special::log_gamma_sample_slope>(
          {.name = "log_gamma_sample_slope",
           .python = "special.log_gamma_sample_slope",
           .doc = "The derivative of log(x) by a where P(a, x) stays: what a number drawn from the gamma "
                  "distribution does as its shape changes.\n\nFigurnov, Mohamed and Mnih, \"Implicit "
                  "reparameterization gradients\" (2018).",
           .numpy = "none: SciPy has no such function; tests compare it with recorded values of mpmath",
           .low = -3,
           .high = 3,
           .ulp = 64,
           .no_jvp = "the second derivatives of the incomplete gamma function by a are not among the ops"}),
      "a", "The shape.", "log_x", "The logarithm of the number.",
      "ig.special.log_gamma_sample_slope(2.0, ig.asarray([0.5, 1.0]))");
  two(of_two<special::zeta, special::zeta>(
          {.name = "zeta",
           .python = "special.zeta",
           .doc = "Hurwitz' zeta function: the sum of 1 / (q + k)^s over k = 0, 1, 2 …; Riemann's where q is "
                  "1.\n\nOf s > 1 and q > 0; infinite where s is 1 and where q is 0, -1 …, else NaN. "
                  "Derivatives are by q alone.",
           .numpy = "scipy.special.zeta(s, q)",
           .low = 1.1,
           .high = 20,
           .ulp = 8,
           .jvp = jvp_zeta}),
      "s", "The exponent.", "q", "Where the sum starts.", "ig.special.zeta(2.0, ig.asarray([1.0, 2.0]))");
  ops.push_back(betainc_op());
  for (Op& op : special_composites()) ops.push_back(std::move(op));
  return ops;
}

}  // namespace ig::ops
