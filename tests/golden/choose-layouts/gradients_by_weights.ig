// A training step of a depthwise convolution between two of one tap: the gradients by their weights read images and
// cotangents with the features last, as the convolutions do. Of one tap they are products, whatever order the axes lie in.
// RUN: %intaglio opt --passes=choose-layouts --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=choose-layouts %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --atol 0.05 --inputs random:1

graph @main(%x: f32[2, 4, 9, 9], %w1: f32[20, 4, 1, 1], %w2: f32[20, 1, 3, 3], %w3: f32[6, 20, 1, 1], %ct: f32[2, 6, 9, 9]) {
  %h = convolution(%x, %w1) {layout = "bf01_oi01->bf01", strides = [], padding = [0, 0, 0, 0], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 20, 9, 9]
  %s = sine(%h) : f32[2, 20, 9, 9]
  %d = convolution(%s, %w2) {layout = "bf01_oi01->bf01", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 20, batch_group_count = 1, accumulate = f32} : f32[2, 20, 9, 9]
  %t = sine(%d) : f32[2, 20, 9, 9]
  %dw3 = dot_general(%ct, %t) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [0, 2, 3], rhs_contracting_dimensions = [0, 2, 3], accumulate = f32} : f32[6, 20]
  %dt = convolution(%ct, %w3) {layout = "bf01_io01->bf01", strides = [], padding = [0, 0, 0, 0], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 20, 9, 9]
  %c = cosine(%d) : f32[2, 20, 9, 9]
  %dd = multiply(%dt, %c) : f32[2, 20, 9, 9]
  %dw2 = convolution(%s, %dd) {layout = "fb01_io01->fb01", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 20, accumulate = f32} : f32[20, 1, 3, 3]
  return %dw3, %dw2
}

// CHECK:      %h = convolution(%x, %w1) {layout = "bf01_oi01->b01f"
// CHECK-NEXT: %s = sine(%h) : f32[2, 9, 9, 20]
// CHECK-NEXT: %d = convolution(%s, %w2) {layout = "b01f_oi01->b01f"
// CHECK-NEXT: %t = sine(%d) : f32[2, 9, 9, 20]
// CHECK-NEXT: %dw3 = dot_general(%ct, %t) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [0, 2, 3], rhs_contracting_dimensions = [0, 1, 2]
// CHECK-NEXT: %dt = convolution(%ct, %w3) {layout = "bf01_io01->b01f"
// CHECK:      %dw2 = convolution(%s, %dd) {layout = "f01b_i01o->fb01"
