// What is cheap, read as it is and moved about, is computed at both places, as it would be if the view stayed below.
// RUN: %intaglio opt --passes=fuse,raise-views --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fuse,raise-views %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[64, 48]) {
  %e = negate(%x) : f32[64, 48]
  %t = transpose(%e) {permutation = [1, 0]} : f32[48, 64]
  %r = reshape(%e) {shape = <48, 64>} : f32[48, 64]
  %y = add(%t, %r) : f32[48, 64]
  return %y
}

// CHECK:      graph @main(%x: f32[64, 48]) {
// CHECK-NEXT:   %y = fusion(%x) {kind = "loop"} : f32[48, 64] {
// CHECK-NEXT:     ^(%x$1: f32[64, 48]) {
// CHECK-NEXT:       %0 = transpose(%x$1) {permutation = [1, 0]} : f32[48, 64]
// CHECK-NEXT:       %e = negate(%x$1) : f32[64, 48]
// CHECK-NEXT:       %r = reshape(%e) {shape = <48, 64>} : f32[48, 64]
// CHECK-NEXT:       %t = negate(%0) : f32[48, 64]
// CHECK-NEXT:       %y$1 = add(%t, %r) : f32[48, 64]
// CHECK-NEXT:       return %y$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
