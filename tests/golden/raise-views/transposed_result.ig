// A transposed result becomes a transposed operand, which the kernel turns over by tiles; reshapes let it pass, one
// view serves all that read the same array, and numbers stay numbers.
// RUN: %intaglio opt --passes=fuse,raise-views --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fuse,raise-views %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[64, 48]) {
  %two = constant() {value = f32[] {0x1p+1}} : f32[]
  %twos = broadcast_in_dim(%two) {shape = <64, 48>, broadcast_dimensions = []} : f32[64, 48]
  %a = multiply(%x, %twos) : f32[64, 48]
  %b = add(%a, %x) : f32[64, 48]
  %c = reshape(%b) {shape = <8, 8, 48>} : f32[8, 8, 48]
  %y = transpose(%c) {permutation = [2, 0, 1]} : f32[48, 8, 8]
  return %y
}

// CHECK:      graph @main(%x: f32[64, 48]) {
// CHECK-NEXT:   %y = fusion(%x) {kind = "loop"} : f32[48, 8, 8] {
// CHECK-NEXT:     ^(%x$1: f32[64, 48]) {
// CHECK-NEXT:       %0 = reshape(%x$1) {shape = <8, 8, 48>} : f32[8, 8, 48]
// CHECK-NEXT:       %1 = transpose(%0) {permutation = [2, 0, 1]} : f32[48, 8, 8]
// CHECK-NEXT:       %two = constant() {value = f32[] {0x1p+1}} : f32[]
// CHECK-NEXT:       %2 = broadcast_in_dim(%two) {shape = <48, 8, 8>, broadcast_dimensions = []} : f32[48, 8, 8]
// CHECK-NEXT:       %3 = multiply(%1, %2) : f32[48, 8, 8]
// CHECK-NEXT:       %y$1 = add(%3, %1) : f32[48, 8, 8]
// CHECK-NEXT:       return %y$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
