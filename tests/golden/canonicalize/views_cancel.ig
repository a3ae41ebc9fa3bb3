// Views that undo each other go; two in a row become one. Bits move, and stay what they are.
// RUN: %intaglio opt --passes=canonicalize --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=canonicalize %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[4, 6]) {
  %a = transpose(%x) {permutation = [1, 0]} : f32[6, 4]
  %b = transpose(%a) {permutation = [1, 0]} : f32[4, 6]
  %c = reverse(%b) {dimensions = [0, 1]} : f32[4, 6]
  %d = reverse(%c) {dimensions = [0, 1]} : f32[4, 6]
  %e = reshape(%d) {shape = <2, 12>} : f32[2, 12]
  %f = reshape(%e) {shape = <24>} : f32[24]
  return %f
}

// CHECK:      graph @main(%x: f32[4, 6]) {
// CHECK-NEXT:   %f = reshape(%x) {shape = <24>} : f32[24]
// CHECK-NEXT:   return %f
// CHECK-NEXT: }
