// The mean of each feature over all places is read from the turned image; what has no order, a largest element, folds it.
// RUN: %intaglio opt --passes=choose-layouts --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=choose-layouts %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --atol 0.05 --inputs random:1

graph @main(%x: f32[2, 4, 6, 37], %w1: f32[20, 4, 3, 3], %w2: f32[20, 20, 3, 3]) {
  %h = convolution(%x, %w1) {layout = "bf01_oi01->bf01", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 20, 6, 37]
  %m = reduce_sum(%h) {axes = [0, 2, 3]} : f32[20]
  %spread = broadcast_in_dim(%m) {shape = <2, 20, 6, 37>, broadcast_dimensions = [1]} : f32[2, 20, 6, 37]
  %centred = subtract(%h, %spread) : f32[2, 20, 6, 37]
  %squares = multiply(%centred, %centred) : f32[2, 20, 6, 37]
  %v = reduce_max(%squares) {axes = [0, 2, 3]} : f32[20]
  %y = convolution(%centred, %w2) {layout = "bf01_oi01->bf01", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 20, 6, 37]
  return %y, %v
}

// CHECK:      %h = convolution(%x, %w1) {layout = "bf01_oi01->b01f"
// CHECK:      transpose(%h) {permutation = [0, 3, 1, 2]} : f32[2, 20, 6, 37]
// CHECK:      %m = reduce_sum({{.*}}) {axes = [0, 2, 3]} : f32[20]
// CHECK:      %centred = subtract(%h, {{.*}}) : f32[2, 6, 37, 20]
// CHECK:      %squares = multiply(%centred, %centred) : f32[2, 6, 37, 20]
// CHECK:      %v = reduce_max(%squares) {axes = [0, 1, 2]} : f32[20]
// CHECK:      %y = convolution(%centred, %w2) {layout = "b01f_oi01->bf01"
