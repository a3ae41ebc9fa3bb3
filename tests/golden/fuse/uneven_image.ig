// An image whose features are shuffled does not lie at even distances: it is written by a kernel of its own, and the
// convolution's kernel reads it. A view that leaves even distances is taken into the loads.
// RUN: %intaglio opt --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[1, 8, 9, 9], %w: f32[8, 8, 3, 3]) {
  %parts = reshape(%x) {shape = <1, 2, 4, 9, 9>} : f32[1, 2, 4, 9, 9]
  %turned = transpose(%parts) {permutation = [0, 2, 1, 3, 4]} : f32[1, 4, 2, 9, 9]
  %shuffled = reshape(%turned) {shape = <1, 8, 9, 9>} : f32[1, 8, 9, 9]
  %a = convolution(%shuffled, %w) {layout = "bf01_oi01->bf01", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[1, 8, 9, 9]
  %mirror = reverse(%x) {dimensions = [3]} : f32[1, 8, 9, 9]
  %b = convolution(%mirror, %w) {layout = "bf01_oi01->bf01", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[1, 8, 9, 9]
  return %a, %b
}

// CHECK:      graph @main(%x: f32[1, 8, 9, 9], %w: f32[8, 8, 3, 3]) {
// CHECK-NEXT:   %turned = fusion(%x) {kind = "loop"} : f32[4, 2, 81] {
// CHECK-NEXT:     ^(%x$1: f32[1, 8, 9, 9]) {
// CHECK-NEXT:       %0 = reshape(%x$1) {shape = <2, 4, 81>} : f32[2, 4, 81]
// CHECK-NEXT:       %turned$1 = transpose(%0) {permutation = [1, 0, 2]} : f32[4, 2, 81]
// CHECK-NEXT:       return %turned$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %turned$2 = fusion(%turned) {kind = "relabel"} : f32[1, 4, 2, 9, 9] {
// CHECK-NEXT:     ^(%1: f32[4, 2, 81]) {
// CHECK-NEXT:       %2 = reshape(%1) {shape = <1, 4, 2, 9, 9>} : f32[1, 4, 2, 9, 9]
// CHECK-NEXT:       return %2
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %a = fusion(%turned$2, %w) {kind = "contraction"} : f32[1, 8, 9, 9] {
// CHECK-NEXT:     ^(%turned$3: f32[1, 4, 2, 9, 9], %w$1: f32[8, 8, 3, 3]) {
// CHECK-NEXT:       %shuffled = reshape(%turned$3) {shape = <1, 8, 9, 9>} : f32[1, 8, 9, 9]
// CHECK-NEXT:       %a$1 = convolution(%shuffled, %w$1) {layout = "bf01_oi01->bf01", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[1, 8, 9, 9]
// CHECK-NEXT:       return %a$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %b = fusion(%x, %w) {kind = "contraction"} : f32[1, 8, 9, 9] {
// CHECK-NEXT:     ^(%x$2: f32[1, 8, 9, 9], %w$2: f32[8, 8, 3, 3]) {
// CHECK-NEXT:       %mirror = reverse(%x$2) {dimensions = [3]} : f32[1, 8, 9, 9]
// CHECK-NEXT:       %b$1 = convolution(%mirror, %w$2) {layout = "bf01_oi01->bf01", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[1, 8, 9, 9]
// CHECK-NEXT:       return %b$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %a, %b
// CHECK-NEXT: }
