// One convolution between arrays whose order is fixed: its kernel packs and turns over by itself, which costs
// less than a transposition in memory.
// RUN: %intaglio opt --passes=choose-layouts --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=choose-layouts --print-changes -o /dev/null %s 2>&1 | FileCheck --check-prefix=SAME %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[1, 3, 8, 8], %w: f32[4, 3, 3, 3], %z: f32[1, 4, 8, 8]) {
  %y = convolution(%x, %w) {layout = "bf01_oi01->bf01", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[1, 4, 8, 8]
  %s = add(%y, %z) : f32[1, 4, 8, 8]
  return %s
}

// CHECK:      graph @main(%x: f32[1, 3, 8, 8], %w: f32[4, 3, 3, 3], %z: f32[1, 4, 8, 8]) {
// CHECK-NEXT:   %y = convolution(%x, %w) {layout = "bf01_oi01->bf01", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[1, 4, 8, 8]
// CHECK-NEXT:   %s = add(%y, %z) : f32[1, 4, 8, 8]
// CHECK-NEXT:   return %s
// CHECK-NEXT: }
// SAME: choose-layouts: unchanged
