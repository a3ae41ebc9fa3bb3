// A row spread along one of two axes keeps them apart, and so does an array whose last three axes all move.
// RUN: %intaglio opt --passes=fuse,raise-views,merge-axes --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fuse,raise-views,merge-axes %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[20, 30, 3], %row: f32[3], %y: f32[4, 5, 6]) {
  %t = transpose(%x) {permutation = [1, 2, 0]} : f32[30, 3, 20]
  %r = broadcast_in_dim(%row) {shape = <30, 3, 20>, broadcast_dimensions = [1]} : f32[30, 3, 20]
  %a = multiply(%t, %r) : f32[30, 3, 20]
  %u = transpose(%y) {permutation = [2, 1, 0]} : f32[6, 5, 4]
  return %a, %u
}

// CHECK:      graph @main(%x: f32[20, 30, 3], %row: f32[3], %y: f32[4, 5, 6]) {
// CHECK-NEXT:   %a = fusion(%x, %row) {kind = "loop"} : f32[30, 3, 20] {
// CHECK-NEXT:     ^(%x$1: f32[20, 30, 3], %row$1: f32[3]) {
// CHECK-NEXT:       %t = transpose(%x$1) {permutation = [1, 2, 0]} : f32[30, 3, 20]
// CHECK-NEXT:       %r = broadcast_in_dim(%row$1) {shape = <30, 3, 20>, broadcast_dimensions = [1]} : f32[30, 3, 20]
// CHECK-NEXT:       %a$1 = multiply(%t, %r) : f32[30, 3, 20]
// CHECK-NEXT:       return %a$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %u = fusion(%y) {kind = "loop"} : f32[6, 5, 4] {
// CHECK-NEXT:     ^(%y$1: f32[4, 5, 6]) {
// CHECK-NEXT:       %u$1 = transpose(%y$1) {permutation = [2, 1, 0]} : f32[6, 5, 4]
// CHECK-NEXT:       return %u$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %a, %u
// CHECK-NEXT: }
