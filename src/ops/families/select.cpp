// Choice: by a condition (select), into bounds (clamp), and the op that hides a value from derivatives.
#include "ops/families/elementwise.h"
#include "ops/families/families.h"

namespace ig::ops {
namespace {

using namespace elements;
using loop::Expr;

// --- select ------------------------------------------------------------------------------------------------------------
void infer_select(InferContext& c) {
  c.require_dtype(0, DTypeSet::Bool);
  c.require_same_dtype(1, 2);
  c.require_same_shape(1, 2);
  c.require_same_shape(0, 1);
  c.result(c.operand(1).dtype, c.operand(1).dims);
}
void reference_select(ReferenceContext& c) {
  for (int64_t i = 0, n = c.results[0].elements(); i < n; ++i)
    tools::copy_element(c.results[0], i, c.operands[c.operands[0].as_int(i) ? 1 : 2], i);
}
Value simplify_select(SimplifyContext& c) {
  Value condition = c.node->operand(0), x = c.node->operand(1), y = c.node->operand(2);
  if (x == y) return x;
  if (is_all_ones(condition)) return x;
  if (is_number(condition, 0)) return y;
  if (const Node* opposite = made_by(condition, OpId::of("not"))) return c.build("select", {opposite->operand(0), y, x});
  return nullptr;
}
std::vector<Value> jvp_select(JvpContext& c) {
  if (!c.tangents[1] && !c.tangents[2]) return no_tangents(c);
  auto part = [&](size_t i) { return c.tangents[i] ? c.tangents[i] : tools::zeros_like(c.build, c.operands[i]); };
  return {c.build("select", {c.operands[0], part(1), part(2)})};
}
std::vector<Value> transpose_select(TransposeContext& c) {
  Value ct = c.cotangents[0];
  if (!ct) return {nullptr, nullptr, nullptr};
  Value zero = tools::zeros_like(c.build, ct);
  return {nullptr, c.linear[1] ? c.build("select", {c.operands[0], ct, zero}) : nullptr,
          c.linear[2] ? c.build("select", {c.operands[0], zero, ct}) : nullptr};
}

// --- clamp -------------------------------------------------------------------------------------------------------------
std::vector<Value> jvp_clamp(JvpContext& c) {
  Compose m(c.build);
  Value x = c.operands[0], low = c.operands[1], high = c.operands[2];
  Value sum = nullptr;
  auto take = [&](size_t i, Value here) {
    if (!c.tangents[i]) return;
    Value part = m.where(here, c.tangents[i], m.number(x, 0));
    sum = sum ? m.add(sum, part) : part;
  };
  Value below = m.both(m.less(x, low), m.less_equal(low, high)), above = m.less(high, m.max(x, low));
  Value inside = m.b("not", {m.b("or", {below, above})});
  take(0, inside);
  take(1, below);
  take(2, above);
  return {sum};
}
Value simplify_clamp(SimplifyContext& c) {
  return c.node->operand(0) == c.node->operand(1) && c.node->operand(1) == c.node->operand(2) ? c.node->operand(0) : nullptr;
}

}  // namespace

std::vector<Op> select_ops() {
  std::vector<Op> ops;
  Op select = elementwise({.name = "select", .python = "where",
      .doc = "x1 where the condition is true, else x2.\n\nThe condition takes no part in promotion. StableHLO select.",
      .numpy = "np.where(condition, x1, x2)", .dtypes = DTypeSet::Any, .traits = static_cast<uint32_t>(Trait::Cheap),
      .infer = infer_select, .reference = reference_select,
      .scalar = scalar::rule3<[](Expr condition, Expr x, Expr y) { return loop::select(condition, x, y); }>,
      .jvp = jvp_select, .transpose = transpose_select, .simplify = simplify_select},
      {{"condition", "Which of the two, as booleans."}, {"x1", "Taken where it is true."}, {"x2", "Taken where it is false."}});
  select.decl.samples.clear();
  for (const char* shape : {"[3, 7]", "[]", "[0]", "[1]", "[33]"})
    select.decl.samples.push_back({std::string("bool") + shape + ", T" + shape + ", T" + shape, "{}"});
  select.decl.bad_samples = {
      {"i32[2], f32[2], f32[2]", "{}", "TypeError: where: expected bool, but condition is int32"},
      {"bool[2], f32[2], i32[2]", "{}", "TypeError: where: float32 and int32 have no common dtype"},
      {"bool[2], f32[2], f32[3]", "{}", "ShapeError: where: shapes [2] and [3] do not broadcast"}};
  select.decl.example = "ig.where(ig.asarray([True, False]), ig.asarray([1.0, 2.0]), ig.asarray([3.0, 4.0]))";
  ops.push_back(std::move(select));

  Op clamp = elementwise({.name = "clamp", .python = "clip",
      .doc = "x, but min where it is below, and max where it is above: minimum(maximum(x, min), max).\n\nNaN in any of "
             "the three gives NaN; where min is above max the result is max. StableHLO clamp.",
      .numpy = "np.minimum(np.maximum(x, min), max)", .dtypes = DTypeSet::Real, .traits = static_cast<uint32_t>(Trait::Cheap),
      .reference = reference3<DTypeSet::Real, [](auto x, auto low, auto high) { return least(greatest(x, low), high); }>,
      .scalar = scalar::rule3<[](Expr x, Expr low, Expr high) { return scalar::minimum(scalar::maximum(x, low), high); }>,
      .jvp = jvp_clamp, .simplify = simplify_clamp},
      {{"x", "The array."}, {"min", "The lower bounds."}, {"max", "The upper bounds."}});
  clamp.decl.bad_samples = {
      {"bool[2], bool[2], bool[2]", "{}", "TypeError: clip: expected a real numeric type, but x is bool"},
      {"f32[2], f32[3], f32[2]", "{}", "ShapeError: clip: shapes [2] and [3] do not broadcast"}};
  ops.push_back(std::move(clamp));

  ops.push_back(unary({.name = "stop_gradient", .python = "stop_gradient",
      .doc = "x itself, as a constant to derivatives.", .numpy = "x", .dtypes = DTypeSet::Any,
      .traits = Trait::Cheap | Trait::Idempotent,
      .reference = +[](ReferenceContext& c) { c.results[0] = c.operands[0]; },
      .scalar = scalar::rule1<[](Expr x) { return x; }>,
      .simplify = simplify_idempotent}));
  return ops;
}

}  // namespace ig::ops
