// A spread number does not stop a transpose: it is spread over the other shape instead.
// RUN: %intaglio opt --passes=sink-views --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=sink-views %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[4, 8]) {
  %a = transpose(%x) {permutation = [1, 0]} : f32[8, 4]
  %two = constant() {value = f32[] {0x1p+1}} : f32[]
  %twos = broadcast_in_dim(%two) {shape = <8, 4>, broadcast_dimensions = []} : f32[8, 4]
  %y = multiply(%a, %twos) : f32[8, 4]
  return %y
}

// CHECK:      graph @main(%x: f32[4, 8]) {
// CHECK-NEXT:   %a = transpose(%x) {permutation = [1, 0]} : f32[8, 4]
// CHECK-NEXT:   %two = constant() {value = f32[] {0x1p+1}} : f32[]
// CHECK-NEXT:   %twos = broadcast_in_dim(%two) {shape = <8, 4>, broadcast_dimensions = []} : f32[8, 4]
// CHECK-NEXT:   %0 = broadcast_in_dim(%two) {shape = <4, 8>, broadcast_dimensions = []} : f32[4, 8]
// CHECK-NEXT:   %1 = multiply(%x, %0) : f32[4, 8]
// CHECK-NEXT:   %y = transpose(%1) {permutation = [1, 0]} : f32[8, 4]
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
