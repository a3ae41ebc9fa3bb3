// Scaled dot-product attention, as one composite: a backend that has a blocked kernel takes it whole. It
// comes twice: as users call it, and for derivatives with the logarithm of each query's sum of powers beside
// it. Its gradient is a composite that a backend takes whole too.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "ops/attention_attrs.h"
#include "ops/families/attention_rules.h"
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

std::vector<Value> with_sums_body(BodyContext& c) {
  Compose m(c.build);
  Attention a(c.build, c.attrs, c.operands);
  Attention::Steps steps = a.steps();
  return {c.build.convert(steps.result, c.operands[0]->type().dtype), steps.sums};
}

std::vector<Value> attention_body(BodyContext& c) { return {with_sums_body(c)[0]}; }

void infer_attention_gradient(InferContext& c) {
  if (c.size() < 6)
    c.fail(ErrorKind::Value,
           fmt::format("takes a query, keys, values, the result, its sums and a cotangent, got {} operands",
                       c.size()),
           "the weights are made again from them",
           "pass the operands of attention_with_sums, its results, and g");
  c.require_dtype(0, DTypeSet::Float);
  const Type &q = c.operand(0), &k = c.operand(1);
  if (q.rank() < 2)
    c.fail(ErrorKind::Shape, fmt::format("needs [..., queries, features], got {}", q.str()),
           "the last two axes are positions and features", "reshape the arrays to two axes or more");
  // So the sizes of the body's reshapes are equal by name, whatever they are.
  const auto l = static_cast<size_t>(q.rank() - 2);
  for (size_t i : {size_t{1}, size_t{2}, size_t{3}, size_t{5}}) c.require_rank(i, q.rank());
  c.require_rank(4, q.rank() - 1);
  for (size_t i = 1; i < 6; ++i)
    for (size_t d = 0; d < l; ++d) c.require_equal(q.dims[d], c.operand(i).dims[d], "the batch axes");
  c.require_equal(q.dims[l + 1], k.dims[l + 1], "the features of query and key");
  c.require_equal(k.dims[l], c.operand(2).dims[l], "the numbers of keys and values");
  for (size_t i = 3; i < 6; ++i)
    c.require_equal(q.dims[l], c.operand(i).dims[l], "the numbers of queries and results");
  for (size_t i : {size_t{3}, size_t{5}})
    c.require_equal(c.operand(2).dims[l + 1], c.operand(i).dims[l + 1], "the features of values and results");
  if (c.get(kMaskGradient)) {
    auto pair = static_cast<size_t>(q.rank() - 2);
    const Dims wanted{q.dims[pair], k.dims[pair]};
    const bool whole = c.size() > 6 && c.operand(6).dtype == q.dtype && c.operand(6).rank() >= 2 &&
                       std::equal(wanted.begin(), wanted.end(), c.operand(6).dims.end() - 2);
    if (!whole)
      c.fail(ErrorKind::Shape, "gives the gradient of a mask of floats for each query and key alone",
             "its sum over what a mask is spread along is another op", "broadcast the mask to [..., l, s]");
  }
  tools::infer_by_body(c);
}

// Axes in front are batch axes already. A mask of each example's own is aligned at the end with the scores,
// so axes of size 1 come between.
Batched batch_with_mask(BatchContext& c, size_t mask_at, bool own_mask) {
  std::vector<Value> operands;
  for (size_t i = 0; i < mask_at; ++i) operands.push_back(in_front(c, i));
  if (c.operands.size() > mask_at) {
    Value mask = c.operands[mask_at];
    if (own_mask || any_batched(c, mask_at)) {
      mask = in_front(c, mask_at);
      auto missing = static_cast<size_t>(operands[0]->type().rank() - mask->type().rank());
      Dims dims = mask->type().dims;
      dims.insert(dims.begin() + 1, missing, Dim(1));
      mask = c.build.reshape(mask, dims);
    }
    operands.push_back(mask);
  }
  return again(c, std::move(operands), c.node->attrs());
}

Batched batch_attention(BatchContext& c) { return batch_with_mask(c, 3, false); }

// A gradient of each example's own is asked of a mask of its own, and has the axes that the mask then has.
Batched batch_attention_gradient(BatchContext& c) {
  const bool own = c.node->attrs().get(kMaskGradient);
  Batched out = batch_with_mask(c, 6, own);
  if (!own) return out;
  Dims dims = c.node->result(3)->type().dims;
  dims.insert(dims.begin(), c.size);
  out.results[3] = c.build.reshape(out.results[3], dims);
  return out;
}

// The operands without a mask, of examples of these sizes ("2, 3"); of the gradient with what the forward
// part keeps.
std::vector<std::string> usual_operands(std::string_view examples, bool gradient) {
  std::vector<std::string> out;
  for (const char* rest : {"4, 5", "6, 5", "6, 7", "4, 7", "4", "4, 7"})
    if (gradient || out.size() < 3) out.push_back(fmt::format("f32[{}, {}]", examples, rest));
  return out;
}
// Of any number of examples: without a mask, causal, with a mask for all, and with one for all queries of
// [batch, heads, length, features] (of padding), as training has it too; forwards with other masks for all,
// with padding of one example, and of a single query.
std::vector<UsualCall> usual_calls(bool gradient) {
  std::vector<UsualCall> out(3, {usual_operands("3", gradient)});
  out[1].attrs.set(kCausal, true);
  out[2].operands.push_back("bool[4, 6]");
  for (const char* type : {"bool", "f32"}) {
    out.push_back({usual_operands("2, 3", gradient)});
    out.back().operands.push_back(fmt::format("{}[2, 1, 1, 6]", type));
  }
  return out;
}
std::vector<UsualCall> usual_calls_forwards() {
  std::vector<UsualCall> out = usual_calls(false);
  out.push_back({usual_operands("3", false)});
  out.back().operands.push_back("f32[4, 6]");
  out.push_back({{"f32[3, 1, 5]", "f32[3, 6, 5]", "f32[3, 6, 7]"}});
  for (const char* type : {"bool", "f32"}) {
    out.push_back({usual_operands("1, 3", false)});
    out.back().operands.push_back(fmt::format("{}[1, 1, 1, 6]", type));
  }
  return out;
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
                    {.name = "mask", .doc = "Broadcasts to [..., l, s].", .optional = true, .spread = true}},
       .attrs = {kCausal, kScale},
       .example_axes = 2,
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
  ops.back().rules.jvp = jvp_attention;
  OpDecl with_sums = ops.back().decl;
  ops.back().decl.usual = usual_calls_forwards();
  with_sums.name = "attention_with_sums";
  with_sums.python = "";
  with_sums.doc =
      "scaled_dot_product_attention, and for each query [..., l] the logarithm of the sum of the powers of "
      "its scores (0 where it has no key), in float32 for 16-bit arrays.\n\nWhat its derivative keeps in the "
      "place of the weights.";
  with_sums.front = Front::None;
  with_sums.numpy = "none: the first result is that of scaled_dot_product_attention";
  with_sums.example = "";
  with_sums.results = 2;
  with_sums.usual = usual_calls(false);
  with_sums.bad_samples[0].error =
      "ShapeError: attention_with_sums: needs [..., queries, features], got f32[4]";
  ops.push_back(composite(std::move(with_sums), with_sums_body, infer_attention));
  ops.back().rules.batch = batch_attention;
  ops.back().rules.jvp = jvp_attention;
  ops.push_back(composite(
      {.name = "attention_tangent",
       .doc =
           "The tangents of the results of attention_with_sums: linear in those of its operands, which "
           "come last but for the mask.\n\nIts transpose makes the weights again from what is given, where "
           "it needs them.",
       .operands = {{"q", "Queries [..., l, d]."},
                    {"k", "Keys [..., s, d]."},
                    {"v", "Values [..., s, e]."},
                    {"result", "[..., l, e]."},
                    {"sums", "The logarithms [..., l]."},
                    {"t_q", "The queries' tangent."},
                    {"t_k", "The keys'."},
                    {"t_v", "The values'."},
                    {.name = "mask", .doc = "Broadcasts to [..., l, s].", .optional = true},
                    {.name = "t_mask", .doc = "The mask's tangent.", .optional = true}},
       .attrs = {kCausal, kScale},
       .results = 2,
       .dtypes = DTypeSet::Float,
       .front = Front::None,
       .numpy = "none: it is checked as the derivative that it is",
       .samples = {{"T[3, 4], T[5, 4], T[5, 2], T[3, 2], T[3], T[3, 4], T[5, 4], T[5, 2]", "{}", -1, 1},
                   {"T[2, 3, 4], T[2, 3, 4], T[2, 3, 4], T[2, 3, 4], T[2, 3], T[2, 3, 4], T[2, 3, 4], "
                    "T[2, 3, 4], T[3, 3], T[3, 3]",
                    "{causal = true, scale = 0x1p-1}", -1, 1}},
       .ulp = 4096},
      attention_tangent_body));
  ops.back().rules.transpose = transpose_attention_tangent;
  ops.push_back(composite(
      {.name = "attention_gradient",
       .doc =
           "The cotangents of the queries, keys and values of attention_with_sums, and with `mask_gradient` "
           "of the mask, of the cotangent of its first result.\n\nThe weights are made again, some queries "
           "and keys at a time. A mask whose gradient is wanted has an element for each query and key; the "
           "gradient has its sizes, in float32 for 16-bit arrays.",
       .operands = {{"q", "Queries [..., l, d]."},
                    {"k", "Keys [..., s, d]."},
                    {"v", "Values [..., s, e]."},
                    {"result", "[..., l, e]."},
                    {"sums", "The logarithms [..., l]."},
                    {"g", "The cotangent of the result [..., l, e]."},
                    {.name = "mask", .doc = "Broadcasts to [..., l, s].", .optional = true, .spread = true}},
       .attrs = {kCausal, kScale, kMaskGradient},
       .results = -1,
       .example_axes = 2,
       .dtypes = DTypeSet::Float,
       .traits = static_cast<uint32_t>(Trait::Contraction),
       .front = Front::None,
       .numpy = "none: it is checked as the derivative that it is",
       .samples = {{"T[3, 4], T[5, 4], T[5, 2], T[3, 2], T[3], T[3, 2]", "{}", -1, 1},
                   {"T[2, 3, 4], T[2, 5, 4], T[2, 5, 4], T[2, 3, 4], T[2, 3], T[2, 3, 4], bool[5] {true, "
                    "false, true, true, false}",
                    "{scale = 0x1p-1}", -1, 1},
                   {"T[2, 3, 4], T[2, 3, 4], T[2, 3, 4], T[2, 3, 4], T[2, 3], T[2, 3, 4], T[3, 3]",
                    "{causal = true, mask_gradient = true}", -1, 1},
                   {"T[0, 4], T[3, 4], T[3, 4], T[0, 4], T[0], T[0, 4]", "{}", -1, 1},
                   {"T[2, 4], T[0, 4], T[0, 3], T[2, 3], T[2], T[2, 3]", "{}", -1, 1}},
       .bad_samples =
           {{"T[4], T[4], T[4], T[4], T[4], T[4]", "{}",
             "ShapeError: attention_gradient: needs [..., queries, features], got f32[4]"},
            {"T[2, 4], T[3, 4], T[3, 4], T[2, 4], T[2], T[2, 4], T[1, 3]", "{mask_gradient = true}",
             "ShapeError: attention_gradient: gives the gradient of a mask of floats for each query "
             "and key alone"}},
       .ulp = 4096},
      attention_gradient_body, infer_attention_gradient));
  ops.back().rules.batch = batch_attention_gradient;
  ops.back().decl.usual = usual_calls(true);
  return ops;
}

}  // namespace ig::ops
