// A number that the kernel itself computes, of an element of another array.
// RUN: %intaglio opt --passes=fuse,raise-views,merge-axes --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fuse,raise-views,merge-axes %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[20, 30, 3], %s: f32[5]) {
  %t = transpose(%x) {permutation = [1, 2, 0]} : f32[30, 3, 20]
  %one = slice(%s) {start = <2>, limit = <3>, strides = [1]} : f32[1]
  %number = reshape(%one) {shape = <>} : f32[]
  %twice = add(%number, %number) : f32[]
  %all = broadcast_in_dim(%twice) {shape = <30, 3, 20>, broadcast_dimensions = []} : f32[30, 3, 20]
  %y = multiply(%t, %all) : f32[30, 3, 20]
  return %y
}

// CHECK:      graph @main(%x: f32[20, 30, 3], %s: f32[5]) {
// CHECK-NEXT:   %y = fusion(%x, %s) {kind = "loop"} : f32[90, 20] {
// CHECK-NEXT:     ^(%x$1: f32[20, 30, 3], %s$1: f32[5]) {
// CHECK-NEXT:       %0 = reshape(%x$1) {shape = <20, 90>} : f32[20, 90]
// CHECK-NEXT:       %t = transpose(%0) {permutation = [1, 0]} : f32[90, 20]
// CHECK-NEXT:       %one = slice(%s$1) {start = <2>, limit = <3>, strides = [1]} : f32[1]
// CHECK-NEXT:       %number = reshape(%one) {shape = <>} : f32[]
// CHECK-NEXT:       %twice = add(%number, %number) : f32[]
// CHECK-NEXT:       %all = broadcast_in_dim(%twice) {shape = <90, 20>, broadcast_dimensions = []} : f32[90, 20]
// CHECK-NEXT:       %y$1 = multiply(%t, %all) : f32[90, 20]
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
