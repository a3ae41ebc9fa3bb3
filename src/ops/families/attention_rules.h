// The derivative of attention, and what it shares with the body.
#pragma once

#include "ops/attention_attrs.h"
#include "ops/families/compose.h"

namespace ig::ops {

// Queries, keys, values and a mask (null: none), wide.
class Attention {
 public:
  Attention(Builder& build, const Attrs& attrs, std::span<const Value> operands);
  // The sums over that axis of y of the products with the last one of x.
  Value dot(Value x, Value y, int64_t contracted);
  // The sums over the axis before the last of both: x^T y.
  Value turned_dot(Value x, Value y);
  Value scaled(Value x);  // by the factor of the scores
  // The scores, -inf where a query may not attend to a key.
  Value masked(Value scores);

  struct Steps {
    Value weights, result, sums;  // sums: the logarithms of the sums of powers, 0 where there is no key
  };
  Steps steps();
  // The weights again, of queries that are scaled and the logarithms.
  Value weights(Value scaled_q, Value sums);

  Value q, k, v, mask;
  int64_t rank;
  bool masks = false;  // some weights may be 0 whatever the scores are

 private:
  Compose m_;
  const Attrs& attrs_;
};

std::vector<Value> jvp_attention(JvpContext& c);
std::vector<Value> attention_tangent_body(BodyContext& c);
std::vector<Value> attention_gradient_body(BodyContext& c);
std::vector<Value> transpose_attention_tangent(TransposeContext& c);

}  // namespace ig::ops
