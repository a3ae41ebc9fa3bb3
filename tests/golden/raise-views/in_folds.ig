// Kernels of folds are element-wise in front of the folds.
// RUN: %intaglio opt --passes=fuse,raise-views --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fuse,raise-views %s | %intaglio run - --compare-with %s --reference --tolerance 1e-5 --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[64, 48]) {
  %a = abs(%x) : f32[64, 48]
  %t = transpose(%a) {permutation = [1, 0]} : f32[48, 64]
  %y = reduce_sum(%t) {axes = [0]} : f32[64]
  return %y
}

// CHECK:      graph @main(%x: f32[64, 48]) {
// CHECK-NEXT:   %y = fusion(%x) {kind = "column"} : f32[64] {
// CHECK-NEXT:     ^(%x$1: f32[64, 48]) {
// CHECK-NEXT:       %0 = transpose(%x$1) {permutation = [1, 0]} : f32[48, 64]
// CHECK-NEXT:       %t = abs(%0) : f32[48, 64]
// CHECK-NEXT:       %y$1 = reduce_sum(%t) {axes = [0]} : f32[64]
// CHECK-NEXT:       return %y$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
