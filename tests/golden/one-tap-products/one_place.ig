// A convolution of as many taps as places has one place itself: of one input feature (the one example of a gradient by
// weights) it is a product that sums over the space, whichever axis of the result stands first. Of several it stays.
// RUN: %intaglio opt --passes=one-tap-products --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=one-tap-products %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[1, 6, 4, 8], %g: f32[1, 9, 4, 8], %xs: f32[2, 6, 4, 8], %gs: f32[2, 9, 4, 8], %row: f32[5, 1, 7], %taps: f32[7, 1, 3]) {
  %a = convolution(%x, %g) {layout = "fb01_io01->fb01", strides = [1, 1], padding = [0, 0, 0, 0], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[9, 6, 1, 1]
  %b = convolution(%row, %taps) {layout = "bf0_0io->b0f", strides = [2], padding = [], lhs_dilation = [], rhs_dilation = [1], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[5, 1, 3]
  %c = convolution(%xs, %gs) {layout = "fb01_io01->fb01", strides = [], padding = [], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[9, 6, 1, 1]
  return %a, %b, %c
}

// CHECK:      [[A:%[0-9]+]] = dot_general(%g, %x) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [2, 3, 0], rhs_contracting_dimensions = [2, 3, 0], accumulate = f32} : f32[9, 6]
// CHECK-NEXT: %a = reshape([[A]]) {shape = <9, 6, 1, 1>}
// CHECK-NEXT: [[B:%[0-9]+]] = dot_general(%row, %taps) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [2, 1], rhs_contracting_dimensions = [0, 1], accumulate = f32} : f32[5, 3]
// CHECK-NEXT: %b = reshape([[B]]) {shape = <5, 1, 3>}
// CHECK-NEXT: %c = convolution(%xs, %gs)
