// Scaled dot-product attention, as one composite: a backend that has a blocked kernel takes it whole.
#include <cmath>
#include <limits>

#include "ops/attention_attrs.h"
#include "ops/families/batch_rules.h"
#include "ops/families/compose.h"

namespace ig::ops {

std::vector<Op> attention_ops();

namespace {

void infer_attention(InferContext& c) {
  if (c.size() < 3)
    c.fail(ErrorKind::Value, fmt::format("takes a query, keys and values, got {} operands", c.size()),
           "each query looks at keys and takes values", "pass query, key and value");
  c.require_dtype(0, DTypeSet::Float);
  const Type &q = c.operand(0), &k = c.operand(1), &v = c.operand(2);
  if (q.rank() < 2)
    c.fail(ErrorKind::Shape, fmt::format("needs [..., queries, features], got {}", q.str()),
           "the last two axes are positions and features", "reshape the arrays to two axes or more");
  for (size_t i = 1; i < 3; ++i) {
    c.require_same_dtype(0, i);
    c.require_rank(i, q.rank());
    for (int d = 0; d + 2 < q.rank(); ++d)
      c.require_equal(q.dims[static_cast<size_t>(d)], c.operand(i).dims[static_cast<size_t>(d)],
                      "the batch axes");
  }
  auto last = static_cast<size_t>(q.rank() - 1);
  c.require_equal(q.dims[last], k.dims[last], "the features of query and key");
  c.require_equal(k.dims[last - 1], v.dims[last - 1], "the numbers of keys and values");
  if (c.size() > 3 && c.operand(3).dtype != DType::Bool) c.require_same_dtype(0, 3);
  tools::infer_by_body(c);
}

std::vector<Value> attention_body(BodyContext& c) {
  Compose m(c.build);
  Value q = m.wide(c.operands[0]), k = m.wide(c.operands[1]), v = m.wide(c.operands[2]);
  int64_t rank = q->type().rank();
  Ints batch = tools::iota(rank - 2), keys{rank - 1};
  auto dot = [&](Value x, Value y, int64_t contracted) {
    return c.build("dot_general", {x, y},
                   {{"lhs_batching_dimensions", batch},
                    {"rhs_batching_dimensions", batch},
                    {"lhs_contracting_dimensions", Ints{rank - 1}},
                    {"rhs_contracting_dimensions", Ints{contracted}}});
  };
  Value scores = dot(q, k, rank - 1);
  scores = c.get(kScale) == 0 ? m.div(scores, m.sqrt(m.count(q, keys))) : m.mul(scores, c.get(kScale));
  const Dims shape = scores->type().dims;
  Value taken = nullptr;  // where a query may attend to a key
  if (c.operands.size() > 3) {
    Value mask = c.operands[3];
    if (mask->type().dtype == DType::Bool)
      taken = c.build.broadcast_to(mask, shape);
    else
      scores = m.add(scores, m.wide(mask));
  }
  if (c.get(kCausal)) {
    Dims square(shape.end() - 2, shape.end());
    Value lower = m.less_equal(m.iota(DType::I64, square, 1), m.iota(DType::I64, square, 0));
    lower = c.build.broadcast_to(lower, shape);
    taken = taken ? m.both(taken, lower) : lower;
  }
  Value lowest = m.number(scores, -std::numeric_limits<double>::infinity());
  if (taken) scores = m.where(taken, scores, lowest);
  // A row with no key has the maximum -inf; nothing is subtracted there, its powers are 0, and so is the
  // result.
  Value top = m.top_keep(scores, keys);
  top = m.where(m.equal(top, m.number(top, -std::numeric_limits<double>::infinity())), m.number(top, 0), top);
  Value power = m.exp(m.sub(scores, top));
  Value sum = m.sum_keep(power, keys);
  Value weight = m.div(power, m.where(m.equal(sum, m.number(sum, 0)), m.number(sum, 1), sum));
  return {c.build.convert(dot(weight, v, rank - 2), c.operands[0]->type().dtype)};
}

// Axes in front are batch axes already. A mask of each example's own is aligned at the end with the scores,
// so axes of size 1 come between.
Batched batch_attention(BatchContext& c) {
  std::vector<Value> operands{in_front(c, 0), in_front(c, 1), in_front(c, 2)};
  if (c.operands.size() > 3) {
    Value mask = c.operands[3];
    if (any_batched(c, 3)) {
      mask = in_front(c, 3);
      auto missing = static_cast<size_t>(operands[0]->type().rank() - mask->type().rank());
      Dims dims = mask->type().dims;
      dims.insert(dims.begin() + 1, missing, Dim(1));
      mask = c.build.reshape(mask, dims);
    }
    operands.push_back(mask);
  }
  return again(c, std::move(operands), c.node->attrs());
}

}  // namespace

std::vector<Op> attention_ops() {
  std::vector<Op> ops;
  ops.push_back(composite(
      {.name = "scaled_dot_product_attention",
       .python = "scaled_dot_product_attention",
       .doc = "softmax(q k^T scale) v over the last two axes; all axes in front are batch axes.\nThe mask is "
              "boolean "
              "(true: takes part) or is added to the scores. The weight of a masked key is exactly 0, and a "
              "query with "
              "no key at all gives 0.",
       .operands = {{"q", "Queries [..., l, d]."},
                    {"k", "Keys [..., s, d]."},
                    {"v", "Values [..., s, e]."},
                    {.name = "mask", .doc = "Broadcasts to [..., l, s].", .optional = true}},
       .attrs = {kCausal, kScale},
       .dtypes = DTypeSet::Float,
       .traits = static_cast<uint32_t>(Trait::Contraction),
       .numpy = "(lambda s: (lambda t: (lambda e: np.matmul(e / np.where(e.sum(-1, keepdims=True) == 0, 1, "
                "e.sum(-1, "
                "keepdims=True)), v))(np.exp(t - np.where(np.isneginf(t.max(-1, keepdims=True, "
                "initial=-np.inf)), 0, "
                "t.max(-1, keepdims=True, initial=-np.inf)))))(np.where((mask if mask is not None and "
                "mask.dtype == "
                "bool else True) & (np.tri(s.shape[-2], s.shape[-1], dtype=bool) if causal else True), s + "
                "(mask if "
                "mask is not None and mask.dtype != bool else 0), -np.inf)))(np.matmul(q, np.swapaxes(k, -1, "
                "-2)) * "
                "(scale or 1 / np.sqrt(max(q.shape[-1], 1))))",
       .example = "ig.scaled_dot_product_attention(ig.asarray([[1.0, 0.0]]), ig.asarray([[1.0, 0.0], [0.0, "
                  "1.0]]), ig.asarray([[1.0], [2.0]]))",
       .samples = {{"T[3, 4], T[5, 4], T[5, 2]", "{}", -2, 2},
                   {"T[2, 3, 4], T[2, 5, 4], T[2, 5, 4]", "{}", -2, 2},
                   {"T[1, 2, 6, 4], T[1, 2, 6, 4], T[1, 2, 6, 4]", "{causal = true}", -2, 2},
                   {"T[2, 3, 4], T[2, 5, 4], T[2, 5, 4]", "{scale = 0x1p-1}", -2, 2},
                   {"T[2, 3, 4], T[2, 5, 4], T[2, 5, 4], T[3, 5]", "{}", -2, 2},
                   {"T[2, 4], T[3, 4], T[3, 4], bool[2, 3] {true, false, true, false, false, false}", "{}",
                    -2, 2},
                   {"T[1, 4], T[1, 4], T[1, 4]", "{}", -2, 2},
                   {"T[0, 4], T[3, 4], T[3, 4]", "{}", -2, 2},
                   {"T[2, 4], T[0, 4], T[0, 3]", "{}", -2, 2}},
       .bad_samples =
           {{"T[4], T[4], T[4]", "{}",
             "ShapeError: scaled_dot_product_attention: needs [..., queries, features], got f32[4]"}},
       .ulp = 256},
      attention_body, infer_attention));
  ops.back().rules.batch = batch_attention;
  return ops;
}

}  // namespace ig::ops
