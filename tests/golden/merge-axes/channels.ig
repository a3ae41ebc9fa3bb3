// An image whose channels move along with its columns: a matrix turned over.
// RUN: %intaglio opt --passes=fuse,raise-views,merge-axes --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fuse,raise-views,merge-axes %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[20, 30, 3]) {
  %t = transpose(%x) {permutation = [1, 2, 0]} : f32[30, 3, 20]
  %y = exponential(%t) : f32[30, 3, 20]
  return %y
}

// CHECK:      graph @main(%x: f32[20, 30, 3]) {
// CHECK-NEXT:   %y = fusion(%x) {kind = "loop"} : f32[90, 20] {
// CHECK-NEXT:     ^(%x$1: f32[20, 30, 3]) {
// CHECK-NEXT:       %0 = reshape(%x$1) {shape = <20, 90>} : f32[20, 90]
// CHECK-NEXT:       %t = transpose(%0) {permutation = [1, 0]} : f32[90, 20]
// CHECK-NEXT:       %y$1 = exponential(%t) : f32[90, 20]
// CHECK-NEXT:       return %y$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %y$2 = fusion(%y) {kind = "relabel"} : f32[30, 3, 20] {
// CHECK-NEXT:     ^(%1: f32[90, 20]) {
// CHECK-NEXT:       %2 = reshape(%1) {shape = <30, 3, 20>} : f32[30, 3, 20]
// CHECK-NEXT:       return %2
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %y$2
// CHECK-NEXT: }
