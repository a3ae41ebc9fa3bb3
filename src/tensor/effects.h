// Effects from the user's program: done at once when eager, recorded in the graph when captured. Each run of
// the graph then does them, in the program's order, on the path that it takes.
#pragma once

#include <span>
#include <string>

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

}  // namespace ig::effects
