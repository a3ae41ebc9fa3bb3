// Padding, kernels of any layout, groups and one spatial axis: attributes follow their axes.
// RUN: %intaglio opt --passes=choose-layouts --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=choose-layouts %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[2, 4, 9], %w1: f32[6, 2, 3], %w2: f32[3, 6, 8]) {
  %zero = constant() {value = f32[] {0x0p+0}} : f32[]
  %y = convolution(%x, %w1) {layout = "bf0_oi0->bf0", strides = [], padding = [0, 0], lhs_dilation = [], rhs_dilation = [], feature_group_count = 2, batch_group_count = 1, accumulate = f32} : f32[2, 6, 7]
  %p = pad(%y, %zero) {low = <0, 0, 1>, high = <0, 0, 2>, interior = [0, 0, 1]} : f32[2, 6, 16]
  %e = exponential(%p) : f32[2, 6, 16]
  %z = convolution(%e, %w2) {layout = "bf0_0io->fb0", strides = [], padding = [1, 0], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[8, 2, 15]
  return %z
}

// CHECK:      graph @main(%x: f32[2, 4, 9], %w1: f32[6, 2, 3], %w2: f32[3, 6, 8]) {
// CHECK-NEXT:   %zero = constant() {value = f32[] {0x0p+0}} : f32[]
// CHECK-NEXT:   %y = convolution(%x, %w1) {layout = "bf0_oi0->b0f", strides = [], padding = [0, 0], lhs_dilation = [], rhs_dilation = [], feature_group_count = 2, batch_group_count = 1, accumulate = f32} : f32[2, 7, 6]
// CHECK-NEXT:   %p = pad(%y, %zero) {low = <0, 1, 0>, high = <0, 2, 0>, interior = [0, 1, 0]} : f32[2, 16, 6]
// CHECK-NEXT:   %e = exponential(%p) : f32[2, 16, 6]
// CHECK-NEXT:   %z = convolution(%e, %w2) {layout = "b0f_0io->fb0", strides = [], padding = [1, 0], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[8, 2, 15]
// CHECK-NEXT:   return %z
// CHECK-NEXT: }
