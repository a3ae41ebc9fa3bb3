// What the folds share: inference, walking in the reference, and rules on graphs.
#pragma once

#include "ops/attrs.h"
#include "ops/families/elementwise.h"
#include "ops/reduce_attrs.h"

namespace ig::ops {

void require_folded_axes(const InferContext& c, const Ints& axes, int rank);  // ascending, distinct, in range
Dims without_axes(const Dims& dims, const Ints& axes);
Ints other_axes(int rank, const Ints& axes);
void infer_fold(InferContext& c);                                             // the operand's element type

// Calls visit(result element, operand element, position along the folded axes) in row-major order of the operand.
void walk_fold(const Literal& x, const Ints& axes, const std::function<void(int64_t, int64_t, int64_t)>& visit);

Batched batch_fold(BatchContext& c);
Value simplify_fold(SimplifyContext& c);  // no axes, or only of size 1: a reshape
Value spread_back(Builder& build, Value folded, Value like, const Ints& axes);

}  // namespace ig::ops
