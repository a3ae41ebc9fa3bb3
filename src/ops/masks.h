// Cotangents of what a choice did not take: `select(condition, value, 0)`, or the other way round. Steps that
// go element by element may run on the value, and choose afterwards: a factor that is infinite where the
// choice went the other way then meets no 0 there, which would be NaN.
#pragma once

#include <optional>
#include <vector>

#include "ops/builder.h"

namespace ig::ops {

struct Mask {
  Value condition;
  bool where;  // the condition's value at which the cotangent counts
};

struct Masked {
  Value value;
  Mask mask;
};

std::optional<Masked> masked(Value v);                       // where it is such a choice
Value with_mask(Builder& build, Value v, const Mask& mask);  // v, and 0 elsewhere

// All masks off the value, the outermost first; and all on again.
Value without_masks(Value v, std::vector<Mask>& masks);
Value with_masks(Builder& build, Value v, const std::vector<Mask>& masks);

// The sum of two cotangents (null: zero): under the mask, where it is the same of both.
Value sum_of_masked(Builder& build, Value a, Value b);

}  // namespace ig::ops
