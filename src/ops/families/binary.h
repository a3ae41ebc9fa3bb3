// The parts of the family of binary ops.
#pragma once

#include "ops/families/elementwise.h"

namespace ig::ops {

std::vector<Op> binary_float_ops();  // binary_float.cpp: powers, angles, and the make-up of floats

}  // namespace ig::ops
