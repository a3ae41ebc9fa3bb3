// Features that are joined stay in the chain's order: a block that reads all that came before it, as in DenseNet.
// RUN: %intaglio opt --passes=choose-layouts --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=choose-layouts %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[2, 3, 8, 8], %w1: f32[4, 3, 3, 3], %w2: f32[4, 4, 3, 3], %w3: f32[5, 8, 3, 3]) {
  %a = convolution(%x, %w1) {layout = "bf01_oi01->bf01", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 4, 8, 8]
  %b = convolution(%a, %w2) {layout = "bf01_oi01->bf01", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 4, 8, 8]
  %c = concatenate(%a, %b) {axis = 1} : f32[2, 8, 8, 8]
  %t = tanh(%c) : f32[2, 8, 8, 8]
  %y = convolution(%t, %w3) {layout = "bf01_oi01->bf01", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 5, 8, 8]
  return %y
}

// CHECK:      %a = convolution(%x, %w1) {layout = "bf01_oi01->b01f"
// CHECK-SAME: : f32[2, 8, 8, 4]
// CHECK-NEXT: %b = convolution(%a, %w2) {layout = "b01f_oi01->b01f"
// CHECK-NEXT: %c = concatenate(%a, %b) {axis = 3} : f32[2, 8, 8, 8]
// CHECK-NEXT: %t = tanh(%c) : f32[2, 8, 8, 8]
// CHECK-NEXT: %y = convolution(%t, %w3) {layout = "b01f_oi01->bf01"
// CHECK-NOT:  transpose
