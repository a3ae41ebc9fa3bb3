// Sizes may be symbols.
// RUN: %intaglio opt --passes=fuse,raise-views,merge-axes --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fuse,raise-views,merge-axes %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1 --size n=7 --size m=9
// RUN: %intaglio run %s --compare --inputs random:1 --size n=7 --size m=9

graph @main(%x: f32[n, m, 3]) where m in [1, 40], n in [1, 40] {
  %t = transpose(%x) {permutation = [1, 2, 0]} : f32[m, 3, n]
  %y = negate(%t) : f32[m, 3, n]
  return %y
}

// CHECK:      graph @main(%x: f32[n, m, 3]) where m in [1, 40], n in [1, 40] {
// CHECK-NEXT:   %y = fusion(%x) {kind = "loop"} : f32[3*m, n] {
// CHECK-NEXT:     ^(%x$1: f32[n, m, 3]) {
// CHECK-NEXT:       %0 = reshape(%x$1) {shape = <n, 3*m>} : f32[n, 3*m]
// CHECK-NEXT:       %t = transpose(%0) {permutation = [1, 0]} : f32[3*m, n]
// CHECK-NEXT:       %y$1 = negate(%t) : f32[3*m, n]
// CHECK-NEXT:       return %y$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %y$2 = fusion(%y) {kind = "relabel"} : f32[m, 3, n] {
// CHECK-NEXT:     ^(%1: f32[3*m, n]) {
// CHECK-NEXT:       %2 = reshape(%1) {shape = <m, 3, n>} : f32[m, 3, n]
// CHECK-NEXT:       return %2
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %y$2
// CHECK-NEXT: }
