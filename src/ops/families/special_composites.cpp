// The special functions that are made of others.
#include <cmath>

#include "ops/families/compose.h"

namespace ig::ops {

std::vector<Op> special_composites();

namespace {

constexpr Attr<int64_t> kOrder{"d", "The dimension; 1 is the gamma function's own."};

void infer_same(InferContext& c) {
  for (size_t i = 0; i < c.size(); ++i) c.require_dtype(i, DTypeSet::Float);
  for (size_t i = 1; i < c.size(); ++i) {
    c.require_same_dtype(0, i);
    c.require_same_shape(0, i);
  }
  tools::infer_by_body(c);
}

void infer_multigammaln(InferContext& c) {
  c.require_dtype(0, DTypeSet::Float);
  if (c.get(kOrder) < 1)
    c.fail(ErrorKind::Value, fmt::format("d is {}", c.get(kOrder)),
           "it is the number of rows of the matrices that the function belongs to", "give 1 or more");
  c.result(c.operand(0).dtype, c.operand(0).dims);
}

// (-1)^(n + 1) n! times the sum of (x + k)^-(n + 1). Left of 0 the sum over all whole k, which depends on the
// distance d to the nearest one alone, less those that are too many:
//   d^-m + zeta(m, 1 + d) + (-1)^m (zeta(m, 1 - d) - zeta(m, 1 - x)), m = n + 1.
std::vector<Value> polygamma_body(BodyContext& c) {
  Builder& b = c.build;
  Compose m(b);
  DType own = c.operands[0]->type().dtype;
  Value n = b.convert(c.operands[0], DType::F64), x = b.convert(c.operands[1], DType::F64);
  Value one = m.number(n, 1), zero = m.number(n, 0);
  Value order = m.add(n, one);
  Value odd = m.sub(order, m.mul(b("floor", {m.mul(order, 0.5)}), 2.0));  // of a whole m: 1 or 0
  Value sign = m.sub(one, m.mul(odd, 2.0));                               // (-1)^m = (-1)^(n + 1)
  Value positive = m.less(zero, x);
  Value right = b("zeta", {order, m.where(positive, x, one)});
  Value left_x = m.where(positive, m.number(x, -0.5), x);
  Value d = m.sub(left_x, b("round_nearest_even", {left_x}));
  auto zeta = [&](Value q) { return b("zeta", {order, q}); };
  Value left = m.add(m.add(b("power", {d, m.neg(order)}), zeta(m.add(one, d))),
                     m.mul(sign, m.sub(zeta(m.sub(one, d)), zeta(m.sub(one, left_x)))));
  Value sum = m.where(positive, right, m.where(m.b("is_nan", {x}), x, left));
  Value y = m.mul(m.mul(sign, b("gamma", {order})), sum);
  Value whole = m.both(m.equal(n, b("floor", {n})), m.less_equal(zero, n));
  y = m.where(whole, y, m.number(n, std::nan("")));
  return {b.convert(m.where(m.equal(n, zero), b("digamma", {x}), y), own)};
}

std::vector<Value> jvp_polygamma(JvpContext& c) {
  if (c.tangents[0])
    throw make_error(ErrorKind::Unsupported, "special.polygamma has no derivative by n")
        .at(c.node->location().str())
        .why("the order counts derivatives: there is none between two of them")
        .hint("put ig.stop_gradient around the order, or give it as a number");
  if (!c.tangents[1]) return {nullptr};
  Compose m(c.build);
  Value n = c.operands[0];
  return {m.mul(c.tangents[1], m.b("polygamma", {m.add(n, 1.0), c.operands[1]}))};
}

// d (d - 1) log(pi) / 4 and the sum of lgamma(a - i / 2).
std::vector<Value> multigammaln_body(BodyContext& c) {
  Compose m(c.build);
  Value a = m.wide(c.operands[0]);
  auto d = static_cast<double>(c.get(kOrder));
  Value sum = m.number(a, d * (d - 1) / 4 * 1.1447298858494001741);
  for (int64_t i = 0; i < c.get(kOrder); ++i)
    sum = m.add(sum, m.b("lgamma", {m.sub(a, static_cast<double>(i) / 2)}));
  Value least = m.number(a, (d - 1) / 2);
  Value inside = m.less(least, a);
  return {c.build.convert(m.where(inside, sum, m.number(a, std::nan(""))), c.operands[0]->type().dtype)};
}

std::vector<Value> factorial_body(BodyContext& c) {
  Compose m(c.build);
  Value n = m.wide(c.operands[0]), zero = m.number(n, 0);
  Value below = m.less(n, zero);
  Value y = m.b("gamma", {m.add(m.where(below, zero, n), 1.0)});
  return {c.build.convert(m.where(below, zero, y), c.operands[0]->type().dtype)};
}

std::vector<Value> comb_body(BodyContext& c) {
  Compose m(c.build);
  Value n = m.wide(c.operands[0]), k = m.wide(c.operands[1]), zero = m.number(n, 0);
  Value inside = m.both(m.less_equal(zero, k), m.both(m.less_equal(k, n), m.less_equal(zero, n)));
  Value unknown = m.two("or", m.b("is_nan", {n}), m.b("is_nan", {k}));
  Value y = m.b("binomial_coefficient", {m.where(inside, n, m.number(n, 1)), m.where(inside, k, zero)});
  y = m.where(inside, y, m.where(unknown, m.add(n, k), zero));
  return {c.build.convert(y, c.operands[0]->type().dtype)};
}

}  // namespace

std::vector<Op> special_composites() {
  std::vector<Op> ops;
  ops.push_back(composite(
      {.name = "polygamma",
       .python = "special.polygamma",
       .doc = "The derivative of order n of digamma, which is that of order 0; n is a whole number, of any "
              "floating-point type.\n\nNaN where n is negative or not whole. Derivatives are by x alone.",
       .operands = {{"n", "The order."}, {"x", "The array."}},
       .dtypes = DTypeSet::Float,
       .traits = static_cast<uint32_t>(Trait::Elementwise),
       .front = Front::Elementwise,
       .numpy = "scipy.special.polygamma(n, x)",
       .example = "ig.special.polygamma(1.0, ig.asarray([1.0, 2.0]))",
       .samples = {{"T[], T[]", "{}", 2, 2},
                   {"T[5] {0, 1, 2, 3, 7}, T[5]", "{}", 0.5, 6},
                   {"T[4] {1, 2, 3, 4}, T[4] {-0.5, -1.25, -7.75, -0.375}", "{}"},
                   {"T[0], T[0]", "{}"}},
       .bad_samples = {{"f32[3], f32[4]", "{}", "ShapeError: special.polygamma: shapes [3] and [4] differ"}},
       .ulp = 16},
      polygamma_body, infer_same));
  ops.back().rules.jvp = jvp_polygamma;
  ops.push_back(composite(
      {.name = "multigammaln",
       .python = "special.multigammaln",
       .doc =
           "The logarithm of the multivariate gamma function of dimension d; NaN where a is not above (d - "
           "1) / 2.",
       .operands = {{"a", "The array."}},
       .attrs = {kOrder},
       .dtypes = DTypeSet::Float,
       .traits = static_cast<uint32_t>(Trait::Elementwise),
       .front = Front::Elementwise,
       .numpy = "sum((scipy.special.gammaln(a - i / 2) for i in range(d)), d * (d - 1) / 4 * np.log(np.pi))",
       .example = "ig.special.multigammaln(ig.asarray([2.0, 3.5]), 2)",
       .samples = {{"T[]", "{d = 1}", 2, 9},
                   {"T[5]", "{d = 3}", 2, 9},
                   {"T[0]", "{d = 2}"},
                   {"T[3, 7]", "{d = 4}", 2, 9}},
       .bad_samples = {{"f32[2]", "{d = 0}", "ValueError: special.multigammaln: d is 0"}},
       .ulp = 16},
      multigammaln_body, infer_multigammaln));
  ops.push_back(composite(
      {.name = "factorial",
       .python = "special.factorial",
       .doc = "gamma(n + 1), and 0 for negative n.\n\nExact up to 22!, and beyond where a whole number is "
              "representable nearly so.",
       .operands = {{"n", "The array."}},
       .dtypes = DTypeSet::Float,
       .traits = static_cast<uint32_t>(Trait::Elementwise),
       .front = Front::Elementwise,
       .numpy = "np.where(n < 0, 0, scipy.special.gamma(n + 1))",
       .example = "ig.special.factorial(ig.asarray([0.0, 3.0, 2.5]))",
       .samples = {{"T[]", "{}", 0, 9}, {"T[5]", "{}", 0, 9}, {"T[0]", "{}"}, {"T[3] {-1, 5, 7}", "{}"}},
       .ulp = 4},
      factorial_body, infer_same));
  ops.push_back(composite(
      {.name = "combinations",
       .python = "special.comb",
       .doc = "How many ways there are to choose k of n: binom, and 0 where k is negative or above n.",
       .operands = {{"n", "Of how many."}, {"k", "How many."}},
       .dtypes = DTypeSet::Float,
       .traits = static_cast<uint32_t>(Trait::Elementwise),
       .front = Front::Elementwise,
       .numpy = "np.where((k < 0) | (n < 0) | (k > n), 0, scipy.special.binom(n, k))",
       .example = "ig.special.comb(ig.asarray([5.0, 6.0]), ig.asarray([2.0, 7.0]))",
       .samples = {{"T[], T[]", "{}", 4, 9},
                   {"T[4] {5, 6, 3, 10}, T[4] {2, 7, -1, 5}", "{}"},
                   {"T[0], T[0]", "{}"},
                   {"T[3, 7], T[3, 7]", "{}", 0.5, 9}},
       .ulp = 64},
      comb_body, infer_same));
  return ops;
}

}  // namespace ig::ops
