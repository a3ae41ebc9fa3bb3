// Composites inside bodies are opened too: none is left.
// RUN: %intaglio opt --passes=expand-composites --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=expand-composites %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[2, 8]) {
  %y = log_softmax(%x) {axis = 1} : f32[2, 8]
  %z = silu(%y) : f32[2, 8]
  return %z
}

// CHECK:      graph @main(%x: f32[2, 8]) {
// CHECK-NEXT:   %0 = reduce_max(%x) {axes = [1]} : f32[2]
// CHECK-NEXT:   %1 = reshape(%0) {shape = <2, 1>} : f32[2, 1]
// CHECK-NEXT:   %2 = broadcast_in_dim(%1) {shape = <2, 8>, broadcast_dimensions = [0, 1]} : f32[2, 8]
// CHECK-NEXT:   %3 = subtract(%x, %2) : f32[2, 8]
// CHECK-NEXT:   %4 = exponential(%3) : f32[2, 8]
// CHECK-NEXT:   %5 = reduce_sum(%4) {axes = [1]} : f32[2]
// CHECK-NEXT:   %6 = reshape(%5) {shape = <2, 1>} : f32[2, 1]
// CHECK-NEXT:   %7 = log(%6) : f32[2, 1]
// CHECK-NEXT:   %8 = broadcast_in_dim(%7) {shape = <2, 8>, broadcast_dimensions = [0, 1]} : f32[2, 8]
// CHECK-NEXT:   %y = subtract(%3, %8) : f32[2, 8]
// CHECK-NEXT:   %9 = logistic(%y) : f32[2, 8]
// CHECK-NEXT:   %z = multiply(%y, %9) : f32[2, 8]
// CHECK-NEXT:   return %z
// CHECK-NEXT: }
