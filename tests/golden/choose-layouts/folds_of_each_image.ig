// Squeeze and excite: the means of each image's features, of all places at once or along one axis after the
// other, are read from the turned image, and what they give scales it there.
// RUN: %intaglio opt --passes=choose-layouts --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=choose-layouts %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --atol 0.05 --inputs random:1

graph @main(%x: f32[2, 4, 6, 37], %w1: f32[20, 4, 3, 3], %w2: f32[5, 20, 1, 1]) {
  %h = convolution(%x, %w1) {layout = "bf01_oi01->bf01", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 20, 6, 37]
  %sum = reduce_sum(%h) {axes = [2, 3]} : f32[2, 20]
  %columns = reduce_max(%h) {axes = [2]} : f32[2, 20, 37]
  %greatest = reduce_max(%columns) {axes = [2]} : f32[2, 20]
  %gate = subtract(%sum, %greatest) : f32[2, 20]
  %spread = broadcast_in_dim(%gate) {shape = <2, 20, 6, 37>, broadcast_dimensions = [0, 1]} : f32[2, 20, 6, 37]
  %scaled = multiply(%h, %spread) : f32[2, 20, 6, 37]
  %y = convolution(%scaled, %w2) {layout = "bf01_oi01->bf01", strides = [], padding = [0, 0, 0, 0], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[2, 5, 6, 37]
  return %y
}

// CHECK:      %h = convolution(%x, %w1) {layout = "bf01_oi01->b01f"
// CHECK:      transpose(%h) {permutation = [0, 3, 1, 2]} : f32[2, 20, 6, 37]
// CHECK:      %sum = reduce_sum({{.*}}) {axes = [2, 3]} : f32[2, 20]
// CHECK:      %columns = reduce_max({{.*}}) {axes = [2]} : f32[2, 20, 37]
// CHECK:      %scaled = multiply(%h, {{.*}}) : f32[2, 6, 37, 20]
// CHECK:      %y = convolution(%scaled, %w2) {layout = "b01f_oi01->bf01"
