// Calls of ops on many examples, with the axes of the examples made one: [batch, heads, length, features] is
// so many matrices of [length, features]. One kernel for any number of them serves all, however many axes
// there are and whichever of them are 1.
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

}  // namespace ig::eager
