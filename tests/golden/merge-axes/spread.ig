// What is read beside it, or spread over whole axes, is relabelled with it; the graph gives two results.
// RUN: %intaglio opt --passes=fuse,raise-views,merge-axes --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fuse,raise-views,merge-axes %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[4, 6, 5, 3], %z: f32[5, 3, 4, 6], %row: f32[4, 6], %s: f32[]) {
  %t = transpose(%x) {permutation = [2, 3, 0, 1]} : f32[5, 3, 4, 6]
  %a = add(%t, %z) : f32[5, 3, 4, 6]
  %r = broadcast_in_dim(%row) {shape = <5, 3, 4, 6>, broadcast_dimensions = [2, 3]} : f32[5, 3, 4, 6]
  %b = multiply(%a, %r) : f32[5, 3, 4, 6]
  %e = exponential(%s) : f32[]
  %n = broadcast_in_dim(%e) {shape = <5, 3, 4, 6>, broadcast_dimensions = []} : f32[5, 3, 4, 6]
  %c = subtract(%b, %n) : f32[5, 3, 4, 6]
  return %b, %c
}

// CHECK:      graph @main(%x: f32[4, 6, 5, 3], %z: f32[5, 3, 4, 6], %row: f32[4, 6], %s: f32[]) {
// CHECK-NEXT:   %e = fusion(%s) {kind = "loop"} : f32[] {
// CHECK-NEXT:     ^(%s$1: f32[]) {
// CHECK-NEXT:       %e$1 = exponential(%s$1) : f32[]
// CHECK-NEXT:       return %e$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %b, %c = fusion(%x, %z, %row, %e) {kind = "loop"} : f32[15, 24], f32[15, 24] {
// CHECK-NEXT:     ^(%x$1: f32[4, 6, 5, 3], %z$1: f32[5, 3, 4, 6], %row$1: f32[4, 6], %e$2: f32[]) {
// CHECK-NEXT:       %0 = reshape(%x$1) {shape = <24, 15>} : f32[24, 15]
// CHECK-NEXT:       %t = transpose(%0) {permutation = [1, 0]} : f32[15, 24]
// CHECK-NEXT:       %z$2 = reshape(%z$1) {shape = <15, 24>} : f32[15, 24]
// CHECK-NEXT:       %a = add(%t, %z$2) : f32[15, 24]
// CHECK-NEXT:       %1 = reshape(%row$1) {shape = <24>} : f32[24]
// CHECK-NEXT:       %r = broadcast_in_dim(%1) {shape = <15, 24>, broadcast_dimensions = [1]} : f32[15, 24]
// CHECK-NEXT:       %b$1 = multiply(%a, %r) : f32[15, 24]
// CHECK-NEXT:       %n = broadcast_in_dim(%e$2) {shape = <15, 24>, broadcast_dimensions = []} : f32[15, 24]
// CHECK-NEXT:       %c$1 = subtract(%b$1, %n) : f32[15, 24]
// CHECK-NEXT:       return %b$1, %c$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %b$2 = fusion(%b) {kind = "relabel"} : f32[5, 3, 4, 6] {
// CHECK-NEXT:     ^(%2: f32[15, 24]) {
// CHECK-NEXT:       %3 = reshape(%2) {shape = <5, 3, 4, 6>} : f32[5, 3, 4, 6]
// CHECK-NEXT:       return %3
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %c$2 = fusion(%c) {kind = "relabel"} : f32[5, 3, 4, 6] {
// CHECK-NEXT:     ^(%4: f32[15, 24]) {
// CHECK-NEXT:       %5 = reshape(%4) {shape = <5, 3, 4, 6>} : f32[5, 3, 4, 6]
// CHECK-NEXT:       return %5
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %b$2, %c$2
// CHECK-NEXT: }
