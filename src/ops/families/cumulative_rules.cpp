// Derivatives of the cumulative ops that are not linear.
#include <functional>
#include <limits>

#include "ops/control_attrs.h"
#include "ops/families/compose.h"
#include "ops/families/derivative_rules.h"
#include "ops/shape_attrs.h"
#include "ops/table.h"

namespace ig::ops {
namespace {

struct Along {
  int64_t axis;
  bool reverse;
  explicit Along(const Node* node)
      : axis(std::get<int64_t>(*node->attrs().find("axis"))),
        reverse(std::get<bool>(*node->attrs().find("reverse"))) {}
};

Value cumulative(Builder& b, std::string_view op, Value x, int64_t axis, bool reverse) {
  return b(op, {x}, {{"axis", axis}, {"reverse", reverse}});
}

// Each element's neighbour: the one before it, or with `reverse` behind it; `edge` where there is none.
Value neighbour(Builder& b, Value x, const Along& along, double edge) {
  Dims low(x->type().dims.size(), Dim(int64_t{0})), high = low;
  auto axis = static_cast<size_t>(along.axis);
  low[axis] = along.reverse ? -1 : 1;
  high[axis] = along.reverse ? 1 : -1;
  return b("pad", {x, b.scalar(x->type().dtype, edge)},
           {kPadLow % low, kPadHigh % high, kPadInterior % Ints(low.size(), 0)});
}

// What a step makes of what was reached and of these arrays' elements, one step after the other along the
// axis; it begins at 0.
Value step_by_step(Builder& b, const Along& along, std::vector<Value> over,
                   const std::function<Value(Builder&, Value reached, std::span<const Value> now)>& step) {
  const int rank = over[0]->type().rank();
  Ints to_front{along.axis}, back(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i)
    if (i != along.axis) to_front.push_back(i);
  for (size_t i = 0; i < back.size(); ++i) back[static_cast<size_t>(to_front[i])] = static_cast<int64_t>(i);
  auto body = std::make_unique<Graph>("step");
  body->dims = b.graph().dims;
  Type row = over[0]->type();
  row.dims.erase(row.dims.begin() + along.axis);
  const Dim steps = over[0]->type().dims[static_cast<size_t>(along.axis)];
  Value reached = body->body().add_arg(row);
  std::vector<Value> operands{b.full(row, 0)}, now;
  for (Value v : over) {
    operands.push_back(b.transpose(v, to_front));
    now.push_back(body->body().add_arg(Type::tensor(v->type().dtype, row.dims)));
  }
  Builder inside(body->body());
  Value next = step(inside, reached, now);
  body->body().set_results({next, next});
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(std::move(body));
  const auto count = static_cast<uint32_t>(over.size());
  Node* node =
      b.node(get("scan"), std::move(operands), make_attrs({kLength % Dims{steps}, kReverse % along.reverse}),
             {0, 1, count}, std::move(regions));
  return b.transpose(node->result(1), back);
}

// The tangent of the element that the result was taken from: of equal ones, the first that was met, where the
// result became another one.
std::vector<Value> extreme(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Along along(c.node);
  Value out = c.results[0];
  Value before = neighbour(c.build, out, along, std::numeric_limits<double>::quiet_NaN());
  Value fresh = c.build("not_equal", {out, before});
  return {step_by_step(c.build, along, {c.tangents[0], fresh},
                       [](Builder& step, Value reached, std::span<const Value> now) {
                         return step("select", {now[1], now[0], reached});
                       })};
}

}  // namespace

// Up to the first 0 it is the product times the sum of t / x. From there to the second, only the tangent at
// that 0 counts, times the product of the others; behind it nothing does.
std::vector<Value> jvp_cumulative_prod(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Compose m(c.build);
  Along along(c.node);
  Value x = c.operands[0], t = c.tangents[0], none = m.number(x, 0);
  Value zero = m.equal(x, none), rest = m.where(zero, m.number(x, 1), x);
  auto sum = [&](Value v) { return cumulative(c.build, "cumulative_sum", v, along.axis, along.reverse); };
  Value product = cumulative(c.build, "cumulative_prod", rest, along.axis, along.reverse);
  Value zeros = sum(c.build.convert(zero, DType::I64));
  Value before = m.equal(zeros, m.number(zeros, 0)), between = m.equal(zeros, m.number(zeros, 1));
  Value clean = m.mul(m.where(before, product, none), sum(m.where(zero, none, m.div(t, rest))));
  Value at_zero = m.mul(m.where(between, product, none), sum(m.where(zero, t, none)));
  return {m.add(clean, at_zero)};
}

std::vector<Value> jvp_cumulative_max(JvpContext& c) { return extreme(c); }
std::vector<Value> jvp_cumulative_min(JvpContext& c) { return extreme(c); }

// s[i] = s[i-1] exp(y[i-1] - y[i]) + t[i] exp(x[i] - y[i]): every factor is at most 1, so nothing overflows.
std::vector<Value> jvp_cumulative_logsumexp(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Compose m(c.build);
  Along along(c.node);
  Value x = c.operands[0], y = c.results[0];
  // exp(-inf - -inf) is not a number; what has contributed nothing so far passes nothing on.
  auto ratio = [&](Value above, Value below) {
    Value empty = m.equal(above, m.number(above, -std::numeric_limits<double>::infinity()));
    return m.where(empty, m.number(above, 0), m.exp(m.sub(above, below)));
  };
  Value keep = ratio(neighbour(c.build, y, along, -std::numeric_limits<double>::infinity()), y);
  return {step_by_step(c.build, along, {m.mul(c.tangents[0], ratio(x, y)), keep},
                       [](Builder& step, Value reached, std::span<const Value> now) {
                         return step("add", {step("multiply", {reached, now[1]}), now[0]});
                       })};
}

}  // namespace ig::ops
