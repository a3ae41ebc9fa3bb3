// Effects from the user's program: done at once when eager, recorded in the graph when captured. Each run of
// the graph then does them, in the program's order, on the path that it takes.
#pragma once

#include <span>
#include <string>

#include "ops/host_call.h"
#include "tensor/tensor.h"

namespace ig::effects {

// Prints a line; "{0}", "{1:.2f}" … name the values, "{{" is a brace.
void print(std::string text, std::span<const Tensor> values);

struct Check {
  std::string message;  // with fields, as in `print`
  std::string why, hint;
  std::string kind = "value";  // value, index, zero_division
};
// Ends the run with the error where the condition (booleans) is false in any element. Values of the
// condition's shape are shown at the first such element, others whole.
void check(const Tensor& condition, Check text, std::span<const Tensor> values);

// Functions of the host (ops/host_call.h): called at once when eager, and by each run where captured.
// What a function without effects gives: a run may leave the call out, share it, or do it again. How a batch
// is computed is told by `vmap_method`: none, sequential, expand_dims or broadcast_all.
std::vector<Tensor> call_pure(const ops::HostRef& function, std::span<const Tensor> arguments,
                              std::span<const Type> results, std::string vmap_method = "none",
                              std::string structure = "");
// An effect: each run calls the function once, in the order of the program's effects, on the path it takes.
std::vector<Tensor> call_effect(const ops::HostRef& function, std::span<const Tensor> arguments,
                                std::span<const Type> results, std::string structure = "");

}  // namespace ig::effects
