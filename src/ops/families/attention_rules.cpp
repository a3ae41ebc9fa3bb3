// The derivative of attention. Its weights are a matrix that grows with the square of the sequence, and are
// not kept: the logarithm of each query's sum of powers is, and the backward part makes the weights again
// from the queries and keys, when it is there (Dao et al., FlashAttention, 2022). Its transpose is a
// composite with a blocked kernel of its own, attention_gradient, so the matrix is in memory in neither part.
//
//   w = exp(s - log_sum)           ds = scale (tq k^T + q tk^T) + t_mask
//   t_log_sum = rowsum(w ds)       t_result = (w ds) v + w tv - t_log_sum result
//
// and, of cotangents g and h:      dv = w^T g      ds = w (g v^T - rowsum(g result) + h)
//                                  dq = scale ds k      dk = scale ds^T q      d_mask = ds
#include "ops/families/attention_rules.h"

#include <limits>

#include "ops/attrs.h"
#include "ops/saved_values.h"
#include "ops/table.h"

namespace ig::ops {

namespace {
// Of queries and keys: which keys stand at a query's place or in front of it.
Value no_later(Compose& m, const Dims& pairs) {
  return m.less_equal(m.iota(DType::I64, pairs, 1), m.iota(DType::I64, pairs, 0));
}
}  // namespace

Value causal_mask(Builder& build, const Node* node) {
  Compose m(build);
  const Value lower =
      no_later(m, {node->operand(0)->type().dims.rbegin()[1], node->operand(1)->type().dims.rbegin()[1]});
  return node->operands().size() > 3 ? m.both(node->operand(3), lower) : lower;
}

Attention::Attention(Builder& build, const Attrs& attrs, std::span<const Value> operands)
    : mask(operands.size() > 3 ? operands[3] : nullptr),
      rank(operands[0]->type().rank()),
      m_(build),
      attrs_(attrs) {
  q = m_.wide(operands[0]), k = m_.wide(operands[1]), v = m_.wide(operands[2]);
  masks = mask || attrs.get(kCausal);
}

Value Attention::dot(Value x, Value y, int64_t contracted) {
  Ints batch = tools::iota(rank - 2);
  return m_.b("dot_general", {x, y},
              {{"lhs_batching_dimensions", batch},
               {"rhs_batching_dimensions", batch},
               {"lhs_contracting_dimensions", Ints{rank - 1}},
               {"rhs_contracting_dimensions", Ints{contracted}}});
}

Value Attention::turned_dot(Value x, Value y) {
  Ints batch = tools::iota(rank - 2);
  return m_.b("dot_general", {x, y},
              {{"lhs_batching_dimensions", batch},
               {"rhs_batching_dimensions", batch},
               {"lhs_contracting_dimensions", Ints{rank - 2}},
               {"rhs_contracting_dimensions", Ints{rank - 2}}});
}

Value Attention::scaled(Value x) {
  double scale = attrs_.get(kScale);
  return scale == 0 ? m_.div(x, m_.sqrt(m_.count(q, {rank - 1}))) : m_.mul(x, scale);
}

Value Attention::masked(Value scores) {
  const Dims shape = scores->type().dims;
  Value taken = nullptr;  // where a query may attend to a key
  if (mask) {
    if (mask->type().dtype == DType::Bool)
      taken = m_.b.broadcast_to(mask, shape);
    else
      scores = m_.add(scores, m_.wide(mask));
  }
  if (attrs_.get(kCausal)) {
    Value lower = m_.b.broadcast_to(no_later(m_, {shape.end() - 2, shape.end()}), shape);
    taken = taken ? m_.both(taken, lower) : lower;
  }
  if (taken) scores = m_.where(taken, scores, m_.number(scores, -std::numeric_limits<double>::infinity()));
  return scores;
}

Attention::Steps Attention::steps() {
  // A row with no key has the maximum -inf; nothing is subtracted there, its powers are 0, and so is the
  // result.
  const Ints keys{rank - 1};
  Value scores = masked(scaled(dot(q, k, rank - 1))), top = m_.top_keep(scores, keys);
  Value lowest = m_.number(top, -std::numeric_limits<double>::infinity());
  top = m_.where(m_.equal(top, lowest), m_.number(top, 0), top);
  Value power = m_.exp(m_.sub(scores, top));
  Value sum = m_.sum_keep(power, keys);
  sum = m_.where(m_.equal(sum, m_.number(sum, 0)), m_.number(sum, 1), sum);
  Dims rows = sum->type().dims;
  rows.pop_back();
  Steps out{m_.div(power, sum), nullptr, m_.b.reshape(m_.add(m_.log(sum), top), rows)};
  out.result = dot(out.weights, v, rank - 2);
  return out;
}

Value Attention::weights(Value scaled_q, Value sums) {
  Value scores = masked(dot(scaled_q, k, rank - 1));
  return m_.exp(m_.sub(scores, m_.keep(sums, scores, {rank - 1})));
}

namespace {

Value or_null(Compose& m, Value v) { return v ? m.wide(v) : nullptr; }

struct Tangents {
  Value result, sums;  // null: zero
};

// Of these tangents of queries, keys, values and mask; null: zero.
Tangents push(Compose& m, Attention& a, const Attention::Steps& steps, std::span<const Value> tangents) {
  auto moving = [&](size_t i) { return i < tangents.size() ? or_null(m, tangents[i]) : nullptr; };
  Value moved = nullptr;
  if (Value tq = moving(0)) moved = a.dot(a.scaled(tq), a.k, a.rank - 1);
  if (Value tk = moving(1)) moved = tools::sum_of(m.b, moved, a.dot(a.scaled(a.q), tk, a.rank - 1));
  if (Value t = moving(3)) moved = tools::sum_of(m.b, moved, m.b.broadcast_to(t, steps.weights->type().dims));
  Value tv = moving(2);
  Tangents out{tv ? a.dot(steps.weights, tv, a.rank - 2) : nullptr, nullptr};
  if (!moved) return out;
  moved = m.mul(steps.weights, moved);
  // A masked key contributes nothing, whatever its value.
  if (a.masks) moved = m.where(m.equal(steps.weights, m.number(moved, 0)), m.number(moved, 0), moved);
  Value along = m.sum_keep(moved, {a.rank - 1});
  out.sums = m.b.reshape(along, steps.sums->type().dims);
  Value mixed = m.sub(a.dot(moved, a.v, a.rank - 2), m.mul(steps.result, along));
  out.result = tools::sum_of(m.b, mixed, out.result);
  return out;
}

// Whether a head has so few weights that products of whole matrices, with the weights kept, are quicker than
// blocks of them; and where nobody knows.
bool weights_are_few(const JvpContext& c) {
  constexpr int64_t kFew = 2048;
  const Type &q = c.operands[0]->type(), &k = c.operands[1]->type();
  auto positions = static_cast<size_t>(q.rank() - 2);
  Dim weights = q.dims[positions] * k.dims[positions];
  return weights.is_constant() && weights.constant() <= kFew;
}

// The cotangent of what was broadcast to x's shape.
Value folded_to(Compose& m, Value x, const Type& type) {
  const Dims dims = x->type().dims;
  size_t in_front = dims.size() - type.dims.size();
  Ints axes;
  for (size_t i = 0; i < dims.size(); ++i)
    if (i < in_front || type.dims[i - in_front] != dims[i]) axes.push_back(static_cast<int64_t>(i));
  if (!axes.empty()) x = m.b.reshape(m.sum(x, axes), type.dims);
  return m.b.convert(x, type.dtype);
}

}  // namespace

std::vector<Value> jvp_attention(JvpContext& c) {
  Compose m(c.build);
  const Attrs& attrs = c.node->attrs();
  const std::vector<std::pair<std::string, AttrValue>> same{kCausal % attrs.get(kCausal),
                                                            kScale % attrs.get(kScale)};
  std::vector<Value> operands(c.operands.begin(), c.operands.end());
  const DType dtype = c.results[0]->type().dtype;
  const bool both = c.results.size() > 1;
  const bool masks = operands.size() > 3 || attrs.get(kCausal);
  const bool again = c.split && (masks || !weights_are_few(c));
  Tangents t;
  std::vector<Value> given(c.results.begin(), c.results.end());
  // With a mask the value is the kernel's own: products with weights of 0 would let NaN in from masked keys.
  if (!both && (again || masks)) {
    given = c.build.many("attention_with_sums", operands, same);
    c.replaced = {given[0]};
  }
  if (again) {
    std::vector<Value> all{operands[0], operands[1], operands[2], given[0], given[1]};
    for (size_t i = 0; i < 3; ++i)
      all.push_back(c.tangents[i] ? c.tangents[i] : tools::zeros_like(c.build, operands[i]));
    if (operands.size() > 3) all.push_back(operands[3]);
    if (operands.size() > 3 && c.tangents[3]) all.push_back(c.tangents[3]);
    std::vector<Value> moved = c.build.many("attention_tangent", all, same);
    t = {moved[0], moved[1]};
  } else {
    Attention a(c.build, attrs, c.operands);
    Attention::Steps steps{};
    if (masks) {
      steps = {a.weights(a.scaled(a.q), given[1]), m.wide(given[0]), given[1]};
    } else {
      steps = a.steps();
      c.replaced = {c.build.convert(steps.result, dtype)};
      if (both) c.replaced.push_back(steps.sums);
    }
    t = push(m, a, steps, c.tangents);
    t.result = c.build.convert(t.result, dtype);
  }
  if (!both) return {t.result};
  return {t.result, t.sums};
}

namespace {

// The operands of the tangent: what the op itself takes.
std::vector<Value> operands_of(std::span<const Value> all) {
  std::vector<Value> out(all.begin(), all.begin() + 3);
  if (all.size() > 8) out.push_back(all[8]);
  return out;
}

// The mask with an element for each query and key, but not for each batch entry where it has none.
Value of_each_pair(Builder& build, std::span<const Value> operands) {
  Dims dims = operands[3]->type().dims;
  while (dims.size() < 2) dims.insert(dims.begin(), Dim(1));
  for (size_t i : {0u, 1u}) {
    const Dims& from = operands[i]->type().dims;
    dims[dims.size() - 2 + i] = from[from.size() - 2];
  }
  return build.broadcast_to(operands[3], dims);
}

struct Gradients {
  Value q, k, v, scores;  // v: null where g is
};

// Of these cotangents of the result and of the logarithms; null: zero, but not both.
Gradients pull(Compose& m, Attention& a, Value result, Value sums, Value g, Value h) {
  Value scaled_q = a.scaled(a.q), weights = a.weights(scaled_q, m.wide(sums));
  Gradients out{};
  if (g) out.v = a.turned_dot(weights, g);
  Value row = h;  // what is added to the cotangent of each score of a query
  if (g) {
    Value along = m.neg(m.sum(m.mul(g, m.wide(result)), {a.rank - 1}));
    row = row ? m.add(row, along) : along;
  }
  row = m.keep(row, weights, {a.rank - 1});
  out.scores = m.mul(weights, g ? m.add(a.dot(g, a.v, a.rank - 1), row) : row);
  // A masked key contributes nothing, whatever its value.
  if (a.masks)
    out.scores = m.where(m.equal(weights, m.number(weights, 0)), m.number(out.scores, 0), out.scores);
  out.q = a.scaled(a.dot(out.scores, a.k, a.rank - 2));
  out.k = a.turned_dot(out.scores, scaled_q);
  return out;
}

}  // namespace

std::vector<Value> attention_tangent_body(BodyContext& c) {
  Compose m(c.build);
  std::vector<Value> operands = operands_of(c.operands);
  Attention a(c.build, c.attrs, operands);
  Value sums = m.wide(c.operands[4]);
  Attention::Steps steps{a.weights(a.scaled(a.q), sums), m.wide(c.operands[3]), sums};
  std::vector<Value> tangents(c.operands.begin() + 5, c.operands.begin() + 8);
  if (c.operands.size() > 9) tangents.push_back(c.operands[9]);
  Tangents t = push(m, a, steps, tangents);
  return {c.build.convert(t.result, c.operands[3]->type().dtype),
          c.build.convert(t.sums, c.operands[4]->type().dtype)};
}

std::vector<Value> transpose_attention_tangent(TransposeContext& c) {
  Compose m(c.build);
  Value g = or_null(m, c.cotangents[0]), h = c.cotangents[1], gate = g ? g : h;
  std::vector<Value> out(c.operands.size(), nullptr);
  if (!gate) return out;
  for (size_t i = 0; i < c.operands.size(); ++i)
    if (c.linear[i] && (i < 5 || i == 8))
      throw make_error(ErrorKind::Unsupported,
                       "attention_tangent: it is not linear, and cannot be transposed")
          .at(c.node->location().str())
          .why("it is linear in the tangents alone, the last of its operands")
          .hint("transpose it by the tangents");
  auto give = [&](size_t i, Value ct) {
    if (c.linear[i]) out[i] = c.build.convert(ct, c.node->operand(i)->type().dtype);
  };
  const bool moves_mask = c.linear.size() > 9 && c.linear[9];
  std::vector<Value> operands = operands_of(c.operands);
  if (g && !h) {
    std::vector<Value> all{operands[0],   operands[1],   operands[2],
                           c.operands[3], c.operands[4], c.cotangents[0]};
    if (operands.size() > 3) all.push_back(moves_mask ? of_each_pair(c.build, operands) : operands[3]);
    const Attrs& attrs = c.node->attrs();
    std::vector<Value> by =
        c.build.many("attention_gradient", all,
                     {kCausal % attrs.get(kCausal), kScale % attrs.get(kScale), kMaskGradient % moves_mask});
    for (size_t i = 0; i < 3; ++i) give(5 + i, by[i]);
    if (moves_mask) out[9] = folded_to(m, by[3], c.node->operand(9)->type());
    return out;
  }
  // Behind the cotangent, so that the weights are not made, and kept, when the queries are known.
  operands[0] = behind(c.build, operands[0], gate);
  Attention a(c.build, c.node->attrs(), operands);
  Gradients by = pull(m, a, c.operands[3], c.operands[4], g, h);
  give(5, by.q), give(6, by.k);
  if (by.v) give(7, by.v);
  if (moves_mask) out[9] = folded_to(m, by.scores, c.node->operand(9)->type());
  return out;
}

std::vector<Value> attention_gradient_body(BodyContext& c) {
  Compose m(c.build);
  std::vector<Value> operands(c.operands.begin(), c.operands.begin() + 3);
  if (c.operands.size() > 6) operands.push_back(c.operands[6]);
  Attention a(c.build, c.attrs, operands);
  Gradients by = pull(m, a, c.operands[3], c.operands[4], m.wide(c.operands[5]), nullptr);
  std::vector<Value> out;
  for (Value v : {by.q, by.k, by.v}) out.push_back(c.build.convert(v, c.operands[out.size()]->type().dtype));
  if (c.attrs.get(kMaskGradient))
    out.push_back(folded_to(m, by.scores, Type::tensor(a.q->type().dtype, c.operands[6]->type().dims)));
  return out;
}

}  // namespace ig::ops
