// Left as they are: steps (%a), padding (%b), several taps (%c), groups (%d), gaps (%e), a product that would turn its image over (%f), few places of each image (%h), and few features in, many out (%i).
// RUN: %intaglio opt --passes=one-tap-products --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=one-tap-products %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[2, 6, 4, 8], %last: f32[2, 4, 8, 6], %w: f32[9, 6, 1, 1], %v: f32[9, 6, 1, 2], %g: f32[9, 2, 1, 1], %small: f32[2, 6, 3, 6], %few: f32[1, 3, 16, 16], %many: f32[40, 3, 1, 1]) {
  %a = convolution(%x, %w) {layout = "bf01_oi01->bf01", strides = [1, 2], padding = [], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 9, 4, 4]
  %b = convolution(%x, %w) {layout = "bf01_oi01->bf01", strides = [], padding = [0, 1, 0, 0], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 9, 5, 8]
  %c = convolution(%x, %v) {layout = "bf01_oi01->bf01", strides = [], padding = [], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 9, 4, 7]
  %d = convolution(%x, %g) {layout = "bf01_oi01->bf01", strides = [], padding = [], lhs_dilation = [], rhs_dilation = [], feature_group_count = 3, batch_group_count = 1, accumulate = f32} : f32[2, 9, 4, 8]
  %e = convolution(%x, %w) {layout = "bf01_oi01->bf01", strides = [], padding = [], lhs_dilation = [2, 1], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 9, 7, 8]
  %f = convolution(%last, %w) {layout = "b01f_oi01->bf01", strides = [], padding = [], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 9, 4, 8]
  %h = convolution(%small, %w) {layout = "bf01_oi01->bf01", strides = [], padding = [], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 9, 3, 6]
  %i = convolution(%few, %many) {layout = "bf01_oi01->bf01", strides = [], padding = [], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[1, 40, 16, 16]
  return %a, %b, %c, %d, %e, %f, %h, %i
}

// CHECK-COUNT-8: convolution(
// CHECK-NOT: dot_general
