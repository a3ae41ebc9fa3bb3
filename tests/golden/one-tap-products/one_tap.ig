// A convolution of one tap is a product: of each image's features and places, of one image, of places and features where these
// lie last, and where a transposition behind it puts them last.
// RUN: %intaglio opt --passes=one-tap-products --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=one-tap-products %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[2, 6, 4, 8], %one: f32[1, 6, 4, 8], %last: f32[2, 4, 8, 6], %w: f32[9, 6, 1, 1], %v: f32[6, 9, 1, 1]) {
  %a = convolution(%x, %w) {layout = "bf01_oi01->bf01", strides = [], padding = [], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 9, 4, 8]
  %b = convolution(%one, %v) {layout = "bf01_io01->bf01", strides = [1, 1], padding = [0, 0, 0, 0], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[1, 9, 4, 8]
  %c = convolution(%last, %v) {layout = "b01f_io01->b01f", strides = [], padding = [], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 4, 8, 9]
  %d = convolution(%x, %w) {layout = "bf01_oi01->bf01", strides = [], padding = [], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 9, 4, 8]
  %e = transpose(%d) {permutation = [0, 2, 3, 1]} : f32[2, 4, 8, 9]
  return %a, %b, %c, %e
}

// CHECK-NOT:  convolution
// CHECK:      [[W:%[0-9]+]] = reshape(%w) {shape = <9, 6>} : f32[9, 6]
// CHECK:      [[ALL:%[0-9]+]] = broadcast_in_dim([[W]]) {shape = <2, 9, 6>, broadcast_dimensions = [1, 2]} : f32[2, 9, 6]
// CHECK:      %a = dot_general([[ALL]], %x) {lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], accumulate = f32} : f32[2, 9, 4, 8]
// CHECK:      [[V:%[0-9]+]] = reshape(%v) {shape = <1, 6, 9>} : f32[1, 6, 9]
// CHECK:      %b = dot_general([[V]], %one) {lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], accumulate = f32} : f32[1, 9, 4, 8]
// CHECK:      %c = dot_general(%last, {{.*}}) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [0], accumulate = f32} : f32[2, 4, 8, 9]
// CHECK:      %e = dot_general(%x, {{.*}}) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], accumulate = f32} : f32[2, 4, 8, 9]
// CHECK-NOT:  transpose
// CHECK:      return %a, %b, %c, %e
