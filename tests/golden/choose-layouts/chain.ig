// A chain of convolutions, windows and element-wise work has its features last inside. The first image is read
// and the last result written as they are, by the convolutions themselves; what is spread out is spread in the
// new order.
// RUN: %intaglio opt --passes=choose-layouts --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=choose-layouts %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[1, 3, 8, 8], %w1: f32[4, 3, 3, 3], %b: f32[4], %w2: f32[5, 4, 3, 3]) {
  %zero = constant() {value = f32[] {0x0p+0}} : f32[]
  %zeros = broadcast_in_dim(%zero) {shape = <1, 4, 8, 8>, broadcast_dimensions = []} : f32[1, 4, 8, 8]
  %y = convolution(%x, %w1) {layout = "bf01_oi01->bf01", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[1, 4, 8, 8]
  %bias = broadcast_in_dim(%b) {shape = <1, 4, 8, 8>, broadcast_dimensions = [1]} : f32[1, 4, 8, 8]
  %s = add(%y, %bias) : f32[1, 4, 8, 8]
  %r = maximum(%s, %zeros) : f32[1, 4, 8, 8]
  %p = reduce_window_max(%r) {window_dimensions = [1, 1, 3, 3], window_strides = [1, 1, 2, 2], window_dilations = [], padding = [0, 0, 0, 0, 1, 1, 1, 1]} : f32[1, 4, 4, 4]
  %z = convolution(%p, %w2) {layout = "bf01_oi01->bf01", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[1, 5, 4, 4]
  return %z
}

// CHECK:      graph @main(%x: f32[1, 3, 8, 8], %w1: f32[4, 3, 3, 3], %b: f32[4], %w2: f32[5, 4, 3, 3]) {
// CHECK-NEXT:   %zero = constant() {value = f32[] {0x0p+0}} : f32[]
// CHECK-NEXT:   %zeros = broadcast_in_dim(%zero) {shape = <1, 4, 8, 8>, broadcast_dimensions = []} : f32[1, 4, 8, 8]
// CHECK-NEXT:   %y = convolution(%x, %w1) {layout = "bf01_oi01->b01f", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[1, 8, 8, 4]
// CHECK-NEXT:   %bias = broadcast_in_dim(%b) {shape = <1, 4, 8, 8>, broadcast_dimensions = [1]} : f32[1, 4, 8, 8]
// CHECK-NEXT:   %0 = broadcast_in_dim(%b) {shape = <1, 8, 8, 4>, broadcast_dimensions = [3]} : f32[1, 8, 8, 4]
// CHECK-NEXT:   %s = add(%y, %0) : f32[1, 8, 8, 4]
// CHECK-NEXT:   %1 = broadcast_in_dim(%zero) {shape = <1, 8, 8, 4>, broadcast_dimensions = []} : f32[1, 8, 8, 4]
// CHECK-NEXT:   %r = maximum(%s, %1) : f32[1, 8, 8, 4]
// CHECK-NEXT:   %p = reduce_window_max(%r) {window_dimensions = [1, 3, 3, 1], window_strides = [1, 2, 2, 1], window_dilations = [], padding = [0, 0, 1, 1, 1, 1, 0, 0]} : f32[1, 4, 4, 4]
// CHECK-NEXT:   %z = convolution(%p, %w2) {layout = "b01f_oi01->bf01", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[1, 5, 4, 4]
// CHECK-NEXT:   return %z
// CHECK-NEXT: }
