// Derivatives of composites over rows, where a better one than that of the body is known: by the result
// alone, with nothing of the maximum that the body subtracts.
#include "ops/families/row_rules.h"
#include "ops/attrs.h"
#include "ops/families/compose.h"
#include "ops/table.h"

namespace ig::ops {
namespace {

Ints row_axis(const JvpContext& c) {
  return {checked_axis(c.node->op().name(), std::get<int64_t>(*c.node->attrs().find("axis")),
                       c.operands[0]->type().rank())};
}

}  // namespace

// y (t - sum(y t))
std::vector<Value> jvp_softmax(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Compose m(c.build);
  Value y = m.wide(c.results[0]), t = m.wide(c.tangents[0]);
  Value out = m.mul(y, m.sub(t, m.sum_keep(m.mul(y, t), row_axis(c))));
  return {c.build.convert(out, c.results[0]->type().dtype)};
}

// t - sum(exp(y) t)
std::vector<Value> jvp_log_softmax(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Compose m(c.build);
  Value y = m.wide(c.results[0]), t = m.wide(c.tangents[0]);
  Value out = m.sub(t, m.sum_keep(m.mul(m.exp(y), t), row_axis(c)));
  return {c.build.convert(out, c.results[0]->type().dtype)};
}

// sum(exp(x - y) t)
std::vector<Value> jvp_logsumexp(JvpContext& c) {
  if (!c.tangents[0]) return {nullptr};
  Compose m(c.build);
  const Ints& axes = c.node->attrs().get(kAxes);
  Value x = m.wide(c.operands[0]), t = m.wide(c.tangents[0]), y = m.wide(c.results[0]);
  Value share = m.exp(m.sub(x, m.keep(y, x, axes)));
  Value out = c.build.reshape(m.sum(m.mul(share, t), axes), y->type().dims);
  return {c.build.convert(out, c.results[0]->type().dtype)};
}

}  // namespace ig::ops
