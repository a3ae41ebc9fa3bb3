// A sum over no axis adds nothing: whole numbers are passed on, but a float sum starts at 0, and 0 + -0 is 0.
// RUN: %intaglio opt --passes=canonicalize --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=canonicalize %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[6], %i: i32[6]) {
  %y = reduce_sum(%x) {axes = []} : f32[6]
  %j = reduce_sum(%i) {axes = []} : i32[6]
  return %y, %j
}

// CHECK:      graph @main(%x: f32[6], %i: i32[6]) {
// CHECK-NEXT:   %0 = constant() {value = f32[] {0x0p+0}} : f32[]
// CHECK-NEXT:   %1 = broadcast_in_dim(%0) {shape = <6>, broadcast_dimensions = []} : f32[6]
// CHECK-NEXT:   %y = add(%x, %1) : f32[6]
// CHECK-NEXT:   return %y, %i
// CHECK-NEXT: }
