// The families of ops: each is one function that gives its declarations, in one file or a few. families()
// lists them all, in the order of the documentation.
#pragma once

#include <vector>

#include "ops/op.h"

namespace ig::ops {

// Element by element.
std::vector<Op> unary_float_ops();
std::vector<Op> unary_ops();
std::vector<Op> binary_ops();
std::vector<Op> complex_ops();
std::vector<Op> compare_ops();
std::vector<Op> logic_ops();
std::vector<Op> convert_ops();
std::vector<Op> select_ops();
std::vector<Op> create_ops();
// Folds.
std::vector<Op> reduce_ops();
std::vector<Op> reduce_composites();
std::vector<Op> cumulative_ops();
// Moves.
std::vector<Op> structural_ops();
std::vector<Op> indexing_ops();
// Sums of products, windows.
std::vector<Op> contraction_ops();
std::vector<Op> window_ops();
// Order, randomness, control.
std::vector<Op> order_ops();
std::vector<Op> random_ops();
std::vector<Op> control_ops();
std::vector<Op> named_axis_ops();
std::vector<Op> effect_ops();
std::vector<Op> host_call_ops();
// Composites.
std::vector<Op> nn_composites();
std::vector<Op> numpy_composites();
std::vector<Op> numpy_numbers();
std::vector<Op> numpy_statistics();
// Factors of matrices.
std::vector<Op> linalg_ops();
// Special functions.
std::vector<Op> special_ops();
// Fourier transforms.
std::vector<Op> fft_ops();
// What the compiler itself puts into graphs.
std::vector<Op> compiler_ops();

std::vector<Op> families();

}  // namespace ig::ops
