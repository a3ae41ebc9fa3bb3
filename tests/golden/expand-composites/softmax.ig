// softmax subtracts the row's largest element first.
// RUN: %intaglio opt --passes=expand-composites --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=expand-composites %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[3, 8]) {
  %y = softmax(%x) {axis = 1} : f32[3, 8]
  return %y
}

// CHECK:      graph @main(%x: f32[3, 8]) {
// CHECK-NEXT:   %0 = reduce_max(%x) {axes = [1]} : f32[3]
// CHECK-NEXT:   %1 = reshape(%0) {shape = <3, 1>} : f32[3, 1]
// CHECK-NEXT:   %2 = broadcast_in_dim(%1) {shape = <3, 8>, broadcast_dimensions = [0, 1]} : f32[3, 8]
// CHECK-NEXT:   %3 = subtract(%x, %2) : f32[3, 8]
// CHECK-NEXT:   %4 = exponential(%3) : f32[3, 8]
// CHECK-NEXT:   %5 = reduce_sum(%4) {axes = [1]} : f32[3]
// CHECK-NEXT:   %6 = reshape(%5) {shape = <3, 1>} : f32[3, 1]
// CHECK-NEXT:   %7 = broadcast_in_dim(%6) {shape = <3, 8>, broadcast_dimensions = [0, 1]} : f32[3, 8]
// CHECK-NEXT:   %y = divide(%4, %7) : f32[3, 8]
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
