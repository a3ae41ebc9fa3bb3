// Calls of ops with axes made one, so that one kernel for any sizes serves all, however many axes there are
// and whichever of them are 1: those of the examples of an op on many ([batch, heads, length, features] is so
// many matrices of [length, features]), and neighbours of which a fold folds both, or neither.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ops/op.h"
#include "tensor/tensor.h"

namespace ig::eager {

// The results of `run` on the operands with one axis of examples, with the axes that they have. Nothing where
// the op has no examples (`OpDecl::example_axes`), they have one axis already or are a single one, or what is
// spread over them is not the same for all.
std::optional<std::vector<Tensor>> with_merged_examples(
    const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
    const std::function<std::vector<Tensor>(std::span<const Tensor>)>& run);

// Whether an op folds axes of its only operand (Front::Reduction) of which neighbours may be made one, where
// it folds both, or neither, and the order of the fold stays. Attributes and ranks alone say so.
bool has_axes_to_merge(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs);
// The results of `run` on such an operand with these axes made one, with the axes that they have.
std::vector<Tensor> with_merged_axes(
    const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
    const std::function<std::vector<Tensor>(std::span<const Tensor>, const Attrs&)>& run);

}  // namespace ig::eager
