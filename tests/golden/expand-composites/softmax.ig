// softmax subtracts the row's largest element first, and divides once a row.
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
// CHECK-NEXT:   %7 = constant() {value = f32[] {0x1p+0}} : f32[]
// CHECK-NEXT:   %8 = broadcast_in_dim(%7) {shape = <3, 1>, broadcast_dimensions = []} : f32[3, 1]
// CHECK-NEXT:   %9 = divide(%8, %6) : f32[3, 1]
// CHECK-NEXT:   %10 = broadcast_in_dim(%9) {shape = <3, 8>, broadcast_dimensions = [0, 1]} : f32[3, 8]
// CHECK-NEXT:   %y = multiply(%4, %10) : f32[3, 8]
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
