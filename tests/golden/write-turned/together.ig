// Arrays that are put together are read across in no tiles: the transposed one is written out first, the other is read
// where it lies.
// RUN: %intaglio opt --passes=fuse,raise-views,write-turned --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fuse,raise-views,write-turned %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[300, 200], %z: f32[100, 300]) {
  %t = transpose(%x) {permutation = [1, 0]} : f32[200, 300]
  %y = concatenate(%t, %z) {axis = 0} : f32[300, 300]
  return %y
}

// CHECK:      graph @main(%x: f32[300, 200], %z: f32[100, 300]) {
// CHECK-NEXT:   %t = fusion(%x) {kind = "loop"} : f32[200, 300] {
// CHECK-NEXT:     ^(%x$1: f32[300, 200]) {
// CHECK-NEXT:       %t$1 = transpose(%x$1) {permutation = [1, 0]} : f32[200, 300]
// CHECK-NEXT:       return %t$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %y = fusion(%t, %z) {kind = "loop"} : f32[300, 300] {
// CHECK-NEXT:     ^(%t$2: f32[200, 300], %z$1: f32[100, 300]) {
// CHECK-NEXT:       %y$1 = concatenate(%t$2, %z$1) {axis = 0} : f32[300, 300]
// CHECK-NEXT:       return %y$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
