// Ops whose own kernel is not at hand, by others whose kernels are: for products of matrices and element-wise
// ops one kernel serves all sizes. So who convolves and pools images of many sizes, or multiplies what lies
// across, waits for no compiler. The bits are those of the op's own kernel.
#pragma once

#include <optional>
#include <span>

#include "ir/graph.h"
#include "ops/op.h"
#include "tensor/tensor.h"

namespace ig::eager {

// Whether others may stand in for a node: a product, a convolution, a fold of windows, a border, or other
// axes in front; or its reference for what moves elements or counts.
bool has_stand_in(const Node* node);

// Its result by others. Nothing where they cannot: a kernel that they take is not at hand either; a
// convolution is of other types than float32 and float64; the reference would meet more than a few elements.
std::optional<Tensor> run_stand_in(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs);

}  // namespace ig::eager
