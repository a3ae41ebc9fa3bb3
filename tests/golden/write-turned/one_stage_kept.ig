// One stage of folds goes along another axis, or turns over what it reads: nothing is written out.
// RUN: %intaglio opt --passes=fuse,raise-views,write-turned --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fuse,raise-views,write-turned %s | %intaglio run - --compare-with %s --reference --tolerance 1e-5 --inputs random:1:1:2
// RUN: %intaglio run %s --compare --inputs random:1:1:2

graph @main(%w: f32[300, 200], %x: f32[300, 200], %z: f32[200, 300]) {
  %t = transpose(%x) {permutation = [1, 0]} : f32[200, 300]
  %u = transpose(%w) {permutation = [1, 0]} : f32[200, 300]
  %rows = reduce_sum(%u) {axes = [1]} : f32[200]
  %p = multiply(%t, %z) : f32[200, 300]
  %columns = reduce_sum(%p) {axes = [0]} : f32[300]
  return %rows, %columns
}

// CHECK:      graph @main(%w: f32[300, 200], %x: f32[300, 200], %z: f32[200, 300]) {
// CHECK-NEXT:   %columns = fusion(%x, %z) {kind = "column"} : f32[300] {
// CHECK-NEXT:     ^(%x$1: f32[300, 200], %z$1: f32[200, 300]) {
// CHECK-NEXT:       %t = transpose(%x$1) {permutation = [1, 0]} : f32[200, 300]
// CHECK-NEXT:       %p = multiply(%t, %z$1) : f32[200, 300]
// CHECK-NEXT:       %columns$1 = reduce_sum(%p) {axes = [0]} : f32[300]
// CHECK-NEXT:       return %columns$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %rows = fusion(%w) {kind = "row"} : f32[200] {
// CHECK-NEXT:     ^(%w$1: f32[300, 200]) {
// CHECK-NEXT:       %u = transpose(%w$1) {permutation = [1, 0]} : f32[200, 300]
// CHECK-NEXT:       %rows$1 = reduce_sum(%u) {axes = [1]} : f32[200]
// CHECK-NEXT:       return %rows$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %rows, %columns
// CHECK-NEXT: }
