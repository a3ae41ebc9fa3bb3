// Both operands are the same view: it moves below.
// RUN: %intaglio opt --passes=sink-views --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=sink-views %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[4, 8], %y: f32[4, 8]) {
  %a = transpose(%x) {permutation = [1, 0]} : f32[8, 4]
  %b = transpose(%y) {permutation = [1, 0]} : f32[8, 4]
  %z = add(%a, %b) : f32[8, 4]
  return %z
}

// CHECK:      graph @main(%x: f32[4, 8], %y: f32[4, 8]) {
// CHECK-NEXT:   %a = transpose(%x) {permutation = [1, 0]} : f32[8, 4]
// CHECK-NEXT:   %b = transpose(%y) {permutation = [1, 0]} : f32[8, 4]
// CHECK-NEXT:   %0 = add(%x, %y) : f32[4, 8]
// CHECK-NEXT:   %z = transpose(%0) {permutation = [1, 0]} : f32[8, 4]
// CHECK-NEXT:   return %z
// CHECK-NEXT: }
