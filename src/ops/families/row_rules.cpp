// Derivatives of composites over rows, where a better one than that of the body is known: by what the row was
// brought to, not by the steps that brought it there. Softmax and its like are differentiated by shares of
// the row, normalisations by the normalised row; both take two folds at once, and nothing of the greatest
// element or of the mean is differentiated.
#include "ops/families/row_rules.h"

#include "ops/attrs.h"
#include "ops/table.h"

namespace ig::ops {
namespace {

Ints row_axis(const JvpContext& c) {
  return {checked_axis(c.node->op().name(), c.node->attrs().get(kRowAxis), c.operands[0]->type().rank())};
}

Value kept_as(Compose& m, Value derivative, Value result) {
  return m.b.convert(derivative, result->type().dtype);
}

// The tangent of rows * weight + bias, where weight and bias are operands 1 and 2, if there.
Value with_weights(JvpContext& c, Compose& m, Value rows, Value moved,
                   Value (*placed)(Compose&, Value, int)) {
  const Type& type = c.results[0]->type();
  auto operand = [&](Value v) { return placed(m, m.wide(v), type.rank()); };
  if (moved && c.operands.size() > 1) moved = m.mul(moved, operand(c.operands[1]));
  if (c.operands.size() > 1 && c.tangents[1])
    moved = tools::sum_of(m.b, moved, m.mul(rows, operand(c.tangents[1])));
  if (c.operands.size() > 2 && c.tangents[2])
    moved = tools::sum_of(m.b, moved, m.b.broadcast_to(operand(c.tangents[2]), type.dims));
  return kept_as(m, moved, c.results[0]);
}

Value at_the_end(Compose&, Value v, int) { return v; }

Ints last_axes(const JvpContext& c) {
  int64_t n = c.node->attrs().get(kNormalized);
  return tools::iota(n, c.operands[0]->type().rank() - n);
}

// 1, where it is 0.
Value or_one(Compose& m, Value x) { return m.where(m.equal(x, m.number(x, 0)), m.number(x, 1), x); }

}  // namespace

// --- what bodies and derivatives share
// --------------------------------------------------------------------------------------------------------------
// The mean of a row far from 0 is rounded to units of its size, and all differences from it are off by the
// same amount. Their own mean is that amount: taken off, it leaves them exact to their own size (Chan, Golub,
// LeVeque, 1983). One division a row, as in softmax.
Normalised normalised(Compose& m, Value x, Ints axes, double eps) {
  Value d = m.centred(x, axes);
  Value left = m.b("stop_gradient", {m.mean_keep(d, axes)});  // its derivative is 0
  Value variance = m.sub(m.mean_keep(m.mul(d, d), axes), m.mul(left, left));
  variance = m.where(m.less(variance, m.number(variance, 0)), m.number(variance, 0), variance);
  Value factor = m.div(m.number(variance, 1), m.sqrt(m.add(variance, eps)));
  d = m.sub(d, left);
  return {m.mul(d, factor), d, factor, std::move(axes), true};
}

Normalised scaled_to_one(Compose& m, Value x, Ints axes, double eps) {
  Value mean = m.mean_keep(m.mul(x, x), axes);
  Value factor = m.div(m.number(mean, 1), m.sqrt(m.add(mean, eps)));
  return {m.mul(x, factor), x, factor, std::move(axes), false};
}

// factor (t - mean(t)) - d factor^3 mean(d t)
Value Normalised::tangent(Compose& m, Value moved) const {
  Value scaled = m.mul(moved, factor);
  Value along = m.mul(m.mul(m.mean_keep(m.mul(differences, scaled), axes), factor), factor);
  return m.sub(centred ? m.centred(scaled, axes) : scaled, m.mul(differences, along));
}

Value in_groups(Compose& m, Value x, int64_t groups) {
  const Dims& dims = x->type().dims;
  Dims grouped{dims[0], Dim(groups), floordiv(dims[1], groups)};
  grouped.insert(grouped.end(), dims.begin() + 2, dims.end());
  return m.b.reshape(x, grouped);
}

Ints axes_of_group(int rank) { return tools::iota(rank - 2, 2); }

Value per_channel(Compose& m, Value v, int rank) {
  Dims shape(static_cast<size_t>(rank), Dim(int64_t{1}));
  shape[1] = v->type().dims[0];
  return m.b.reshape(m.wide(v), shape);
}

Powers powers_of(Compose& m, Value x, const Ints& axes) {
  Value top = m.top(x, axes);
  // Rows whose greatest is infinite are shifted by nothing, so that inf - inf does not arise.
  Value shift = m.where(m.b("is_finite", {top}), top, m.number(top, 0));
  Value powers = m.exp(m.sub(x, m.keep(shift, x, axes)));
  return {shift, powers, m.sum(powers, axes)};
}

// --- softmax
// --------------------------------------------------------------------------------------------------------------
// y (t - sum(y t))
std::vector<Value> jvp_softmax(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Compose m(c.build);
  Value y = m.wide(c.results[0]), t = m.wide(c.tangents[0]);
  Value out = m.mul(y, m.sub(t, m.sum_keep(m.mul(y, t), row_axis(c))));
  return {kept_as(m, out, c.results[0])};
}

// t - sum(exp(y) t)
std::vector<Value> jvp_log_softmax(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Compose m(c.build);
  Value y = m.wide(c.results[0]), t = m.wide(c.tangents[0]);
  Value out = m.sub(t, m.sum_keep(m.mul(m.exp(y), t), row_axis(c)));
  return {kept_as(m, out, c.results[0])};
}

// sum(share t), the shares being powers over their sum: exp(x - y) would be off by the rounding of y, which
// is great where x is. A row of -inf alone has no shares.
std::vector<Value> jvp_logsumexp(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Compose m(c.build);
  const Ints& axes = c.node->attrs().get(kAxes);
  Value x = m.wide(c.operands[0]), t = m.wide(c.tangents[0]);
  Powers p = powers_of(m, x, axes);
  Value out = m.div(m.sum(m.mul(p.powers, t), axes), or_one(m, p.sum));
  return {kept_as(m, c.build.reshape(out, c.results[0]->type().dims), c.results[0])};
}

// --- normalisations
// --------------------------------------------------------------------------------------------------------------
std::vector<Value> jvp_layer_norm(JvpContext& c) {
  Compose m(c.build);
  Normalised n = normalised(m, m.wide(c.operands[0]), last_axes(c), c.node->attrs().get(kEpsilon));
  Value t = c.tangents[0] ? n.tangent(m, m.wide(c.tangents[0])) : nullptr;
  return {with_weights(c, m, n.rows, t, at_the_end)};
}

std::vector<Value> jvp_rms_norm(JvpContext& c) {
  Compose m(c.build);
  Normalised n = scaled_to_one(m, m.wide(c.operands[0]), last_axes(c), c.node->attrs().get(kEpsilon));
  Value t = c.tangents[0] ? n.tangent(m, m.wide(c.tangents[0])) : nullptr;
  return {with_weights(c, m, n.rows, t, at_the_end)};
}

std::vector<Value> jvp_group_norm(JvpContext& c) {
  Compose m(c.build);
  const int64_t groups = c.node->attrs().get(kGroups);
  const Dims& dims = c.results[0]->type().dims;
  Value x = in_groups(m, m.wide(c.operands[0]), groups);
  Normalised n = normalised(m, x, axes_of_group(x->type().rank()), c.node->attrs().get(kEpsilon));
  Value t = c.tangents[0] ? n.tangent(m, in_groups(m, m.wide(c.tangents[0]), groups)) : nullptr;
  if (t) t = c.build.reshape(t, dims);
  return {with_weights(c, m, c.build.reshape(n.rows, dims), t, per_channel)};
}

// (t - y sum(y t)) / length, and t / eps where the length is at most eps: the root of the squares has no
// derivative at 0, and there none is needed.
std::vector<Value> jvp_normalize(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Compose m(c.build);
  Ints axis = row_axis(c);
  Value x = m.wide(c.operands[0]), t = m.wide(c.tangents[0]);
  double eps = c.node->attrs().get(kEpsilon);
  Value length = m.sqrt(m.sum_keep(m.mul(x, x), axis));
  Value factor = m.div(m.number(length, 1), m.max(length, eps));
  Value scaled = m.mul(t, factor);
  Value along = m.mul(m.mul(m.sum_keep(m.mul(x, scaled), axis), factor), factor);
  along = m.where(m.less_equal(length, m.number(length, eps)), m.number(along, 0), along);
  return {kept_as(m, m.sub(scaled, m.mul(x, along)), c.results[0])};
}

}  // namespace ig::ops
