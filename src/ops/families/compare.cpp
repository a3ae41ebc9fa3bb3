// Comparisons: element by element, to booleans. With NaN all are false, but for not_equal.
#include "ops/families/elementwise.h"
#include "ops/families/families.h"

namespace ig::ops {
namespace {

using namespace elements;
using loop::Expr;
using scalar::rule2;

// Of an operand with itself; floats may be NaN.
template <bool Itself>
Value simplify_comparison(SimplifyContext& c) {
  Value x = c.node->operand(0);
  DType d = x->type().dtype;
  if (x != c.node->operand(1) || is_float(d) || is_complex(d)) return nullptr;
  return c.build.full_like(c.node->result(), Itself);
}

Op comparison(std::string name, std::string doc, DTypeSet dtypes, bool symmetric, ReferenceFn reference, ScalarFn rule,
              SimplifyFn simplify) {
  std::string numpy = "np." + name + "(x1, x2)";
  uint32_t traits = static_cast<uint32_t>(Trait::Cheap);
  if (symmetric) traits = traits | Trait::Commutative;
  return binary({.name = name, .python = name, .doc = std::move(doc) + "\n\nStableHLO compare.", .numpy = std::move(numpy),
                 .dtypes = dtypes, .low = -3, .high = 3, .traits = traits, .infer = infer_predicate,
                 .reference = reference, .scalar = rule, .simplify = simplify});
}

}  // namespace

std::vector<Op> compare_ops() {
  std::vector<Op> ops;
  ops.push_back(comparison("equal", "Whether x1 equals x2; -0 equals +0, NaN nothing.", DTypeSet::Any, true,
      reference2<DTypeSet::Any, [](auto x, auto y) { return x == y; }>,
      rule2<[](Expr x, Expr y) { return x.type() == DType::Bool ? ~(x ^ y) : x == y; }>, simplify_comparison<true>));
  ops.push_back(comparison("not_equal", "Whether x1 differs from x2; NaN differs from all.", DTypeSet::Any, true,
      reference2<DTypeSet::Any, [](auto x, auto y) { return x != y; }>,
      rule2<[](Expr x, Expr y) { return x.type() == DType::Bool ? x ^ y : x != y; }>, simplify_comparison<false>));
  ops.push_back(comparison("less", "Whether x1 is below x2.", DTypeSet::Real, false,
      reference2<DTypeSet::Real, [](auto x, auto y) { return x < y; }>,
      rule2<[](Expr x, Expr y) { return x < y; }>, simplify_comparison<false>));
  ops.push_back(comparison("less_equal", "Whether x1 is below or equal to x2.", DTypeSet::Real, false,
      reference2<DTypeSet::Real, [](auto x, auto y) { return x <= y; }>,
      rule2<[](Expr x, Expr y) { return x <= y; }>, simplify_comparison<true>));
  ops.push_back(comparison("greater", "Whether x1 is above x2.", DTypeSet::Real, false,
      reference2<DTypeSet::Real, [](auto x, auto y) { return y < x; }>,
      rule2<[](Expr x, Expr y) { return y < x; }>, simplify_comparison<false>));
  ops.push_back(comparison("greater_equal", "Whether x1 is above or equal to x2.", DTypeSet::Real, false,
      reference2<DTypeSet::Real, [](auto x, auto y) { return y <= x; }>,
      rule2<[](Expr x, Expr y) { return y <= x; }>, simplify_comparison<true>));
  return ops;
}

}  // namespace ig::ops
