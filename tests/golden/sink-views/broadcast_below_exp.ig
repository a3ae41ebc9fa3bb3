// exp of a spread row is done once an element, and spread afterwards.
// RUN: %intaglio opt --passes=sink-views --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=sink-views %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[8]) {
  %a = broadcast_in_dim(%x) {shape = <64, 8>, broadcast_dimensions = [1]} : f32[64, 8]
  %y = exponential(%a) : f32[64, 8]
  return %y
}

// CHECK:      graph @main(%x: f32[8]) {
// CHECK-NEXT:   %a = broadcast_in_dim(%x) {shape = <64, 8>, broadcast_dimensions = [1]} : f32[64, 8]
// CHECK-NEXT:   %0 = exponential(%x) : f32[8]
// CHECK-NEXT:   %y = broadcast_in_dim(%0) {shape = <64, 8>, broadcast_dimensions = [1]} : f32[64, 8]
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
