// Eager operations with a Python number: x ** 2 is x * x. Where an op's own algebra (its `simplify` rule) has
// a form for that number, the form is what runs, as it does in a compiled program.
#pragma once

#include <optional>

#include "ops/op.h"
#include "tensor/tensor.h"

namespace ig::eager {

// The op on x and the scalar `number` (an array of rank 0, of x's dtype), by a form of the op for it, or
// nothing.
std::optional<Tensor> run_scalar_form(const ops::Op& op, const Tensor& x, const Tensor& number);

}  // namespace ig::eager
