// A convolution of 3 x 3 taps goes by minimal filtering, whose roundings are others than those of the sum over the
// taps; where the program is to be exact, or the same bits are asked for, it has the definition's.
// RUN: %intaglio run %s --compare --atol 2e-4 --inputs random:1 | FileCheck %s
// RUN: %intaglio run %s --compare --tolerance exact --inputs random:1 | FileCheck %s --check-prefix=EXACT
// RUN: %intaglio run %s --compare --exact --inputs random:1 | FileCheck %s --check-prefix=EXACT

graph @main(%x: f32[2, 16, 12, 11], %w: f32[20, 16, 3, 3]) {
  %a = convolution(%x, %w) {layout = "bf01_oi01->bf01", strides = [1, 1], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 20, 12, 11]
  return %a
}

// CHECK: a: {{[0-9]+}} of 5280 elements differ from the reference
// EXACT: a: all 5280 elements have the same bits as the reference
