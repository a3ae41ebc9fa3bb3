// A gradient by 3 x 3 taps reads the features of the image by whole vectors (its "batch"), so a chain from one
// convolution to it is turned as between two; a gradient by other taps would turn the image over element by element.
// RUN: %intaglio opt --passes=choose-layouts --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=choose-layouts %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --atol 1e-3 --inputs random:1

graph @main(%x: f32[1, 16, 16, 16], %w: f32[16, 16, 1, 1], %g: f32[1, 16, 16, 16], %h: f32[1, 16, 12, 12]) {
  %y = convolution(%x, %w) {layout = "bf01_oi01->bf01", strides = [1, 1], padding = [0, 0, 0, 0], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[1, 16, 16, 16]
  %r = negate(%y) : f32[1, 16, 16, 16]
  %d = convolution(%r, %g) {layout = "fb01_io01->fb01", strides = [1, 1], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[16, 16, 3, 3]
  %z = convolution(%x, %w) {layout = "bf01_oi01->bf01", strides = [1, 1], padding = [0, 0, 0, 0], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[1, 16, 16, 16]
  %s = abs(%z) : f32[1, 16, 16, 16]
  %e = convolution(%s, %h) {layout = "fb01_io01->fb01", strides = [1, 1], padding = [0, 0, 0, 0], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[16, 16, 5, 5]
  return %d, %e
}

// CHECK:      %y = convolution(%x, %w) {layout = "bf01_oi01->b01f"
// CHECK-NEXT: %r = negate(%y)
// CHECK-NEXT: %d = convolution(%r, %g) {layout = "f01b_io01->fb01"
// CHECK-NEXT: %z = convolution(%x, %w) {layout = "bf01_oi01->bf01"
// CHECK-NEXT: %s = abs(%z)
// CHECK-NEXT: %e = convolution(%s, %h) {layout = "fb01_io01->fb01"
