// The longer batch rules of the primitives, and the tools that short ones are written with. Rules bring batch
// axes to the front, so a batched result has its batch axis there unless the rule says otherwise.
#pragma once

#include "ops/builder.h"
#include "ops/op.h"

namespace ig::ops {

// Operand i with its batch axis in front; one that is not batched is repeated.
Value in_front(BatchContext& c, size_t i);
std::vector<Value> all_in_front(BatchContext& c);
bool any_batched(const BatchContext& c, size_t first = 0);  // of the operands from `first` on
Ints shifted(Ints axes, int64_t by = 1);
Ints with_front(Ints list, int64_t value);
Dims with_front(Dims list, Dim value);
// The node again, on operands with their batch axes in front; all results are batched there.
Batched again(BatchContext& c, std::vector<Value> operands, Attrs attrs);
// Ops whose operands only need the axis in front, and that have no attribute to shift.
Batched batch_in_front(BatchContext& c);
// Ops with an attribute `axis`.
Batched batch_along_axis(BatchContext& c);

Batched batch_dynamic_slice(BatchContext& c);
Batched batch_dynamic_update_slice(BatchContext& c);
Batched batch_gather(BatchContext& c);
Batched batch_scatter(BatchContext& c);
Batched batch_convolution(BatchContext& c);

Batched batch_cond(BatchContext& c);
Batched batch_switch(BatchContext& c);
Batched batch_while(BatchContext& c);
Batched batch_scan(BatchContext& c);
Batched batch_call(BatchContext& c);
Batched batch_custom_jvp(BatchContext& c);
Batched batch_custom_vjp(BatchContext& c);

// The result of the op for one example after the other, by a scan: for what no wider form of the op can say.
Batched batch_by_loop(BatchContext& c);

}  // namespace ig::ops
