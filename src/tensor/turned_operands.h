// Products of arrays that have not been laid out (Tensor::turning): dot_general says by itself which axes it
// sums over, so it takes the array that such a one is made of.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ops/op.h"
#include "tensor/tensor.h"

namespace ig::eager {

// The results by `run`, with what operands are made of and attributes that speak of that; or by `run_body`
// for an op that is made of products. Nothing where neither has less to lay out: the bits are the same.
std::optional<std::vector<Tensor>> with_turned_operands(
    const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
    const std::function<std::optional<std::vector<Tensor>>(std::span<const Tensor>, const Attrs&)>& run,
    const std::function<std::vector<Tensor>(const Graph& body)>& run_body);

}  // namespace ig::eager
