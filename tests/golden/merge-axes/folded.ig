// What images have at each place, over all of them: the places are one axis, in both stages of the fold.
// RUN: %intaglio opt --passes=fuse,raise-views,merge-axes --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fuse,raise-views,merge-axes %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[20, 5, 7, 3], %y: f32[5, 7, 3]) {
  %top = reduce_max(%x) {axes = [0]} : f32[5, 7, 3]
  %t = broadcast_in_dim(%top) {shape = <20, 5, 7, 3>, broadcast_dimensions = [1, 2, 3]} : f32[20, 5, 7, 3]
  %d = subtract(%x, %t) : f32[20, 5, 7, 3]
  %least = reduce_min(%d) {axes = [0]} : f32[5, 7, 3]
  %z = multiply(%least, %y) : f32[5, 7, 3]
  return %z
}

// CHECK:      graph @main(%x: f32[20, 5, 7, 3], %y: f32[5, 7, 3]) {
// CHECK-NEXT:   %z = fusion(%x, %y) {kind = "panel"} : f32[105] {
// CHECK-NEXT:     ^(%x$1: f32[20, 5, 7, 3], %y$1: f32[5, 7, 3]) {
// CHECK-NEXT:       %x$2 = reshape(%x$1) {shape = <20, 105>} : f32[20, 105]
// CHECK-NEXT:       %top = reduce_max(%x$2) {axes = [0]} : f32[105]
// CHECK-NEXT:       %t = broadcast_in_dim(%top) {shape = <20, 105>, broadcast_dimensions = [1]} : f32[20, 105]
// CHECK-NEXT:       %d = subtract(%x$2, %t) : f32[20, 105]
// CHECK-NEXT:       %least = reduce_min(%d) {axes = [0]} : f32[105]
// CHECK-NEXT:       %y$2 = reshape(%y$1) {shape = <105>} : f32[105]
// CHECK-NEXT:       %z$1 = multiply(%least, %y$2) : f32[105]
// CHECK-NEXT:       return %z$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %z$2 = fusion(%z) {kind = "relabel"} : f32[5, 7, 3] {
// CHECK-NEXT:     ^(%0: f32[105]) {
// CHECK-NEXT:       %1 = reshape(%0) {shape = <5, 7, 3>} : f32[5, 7, 3]
// CHECK-NEXT:       return %1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %z$2
// CHECK-NEXT: }

