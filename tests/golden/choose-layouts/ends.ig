// A residual block: what others read of it, and what it gives, is turned back once, behind the chain.
// RUN: %intaglio opt --passes=choose-layouts --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=choose-layouts %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[2, 4, 6, 7], %w1: f32[4, 4, 3, 3], %w2: f32[4, 4, 3, 3], %w3: f32[4, 4, 1, 1]) {
  %h = convolution(%x, %w1) {layout = "bf01_oi01->bf01", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 4, 6, 7]
  %y = convolution(%h, %w2) {layout = "bf01_oi01->bf01", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 4, 6, 7]
  %s = add(%h, %y) : f32[2, 4, 6, 7]
  %t = convolution(%s, %w3) {layout = "bf01_oi01->bf01", strides = [], padding = [0, 0, 0, 0], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 4, 6, 7]
  %u = add(%t, %s) : f32[2, 4, 6, 7]
  %m = reduce_sum(%u) {axes = [2, 3]} : f32[2, 4]
  return %u, %m
}

// CHECK:      graph @main(%x: f32[2, 4, 6, 7], %w1: f32[4, 4, 3, 3], %w2: f32[4, 4, 3, 3], %w3: f32[4, 4, 1, 1]) {
// CHECK-NEXT:   %h = convolution(%x, %w1) {layout = "bf01_oi01->b01f", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 6, 7, 4]
// CHECK-NEXT:   %y = convolution(%h, %w2) {layout = "b01f_oi01->b01f", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 6, 7, 4]
// CHECK-NEXT:   %s = add(%h, %y) : f32[2, 6, 7, 4]
// CHECK-NEXT:   %t = convolution(%s, %w3) {layout = "b01f_oi01->b01f", strides = [], padding = [0, 0, 0, 0], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 6, 7, 4]
// CHECK-NEXT:   %u = add(%t, %s) : f32[2, 6, 7, 4]
// CHECK-NEXT:   %u$1 = transpose(%u) {permutation = [0, 3, 1, 2]} : f32[2, 4, 6, 7]
// CHECK-NEXT:   %m = reduce_sum(%u$1) {axes = [2, 3]} : f32[2, 4]
// CHECK-NEXT:   return %u$1, %m
// CHECK-NEXT: }
