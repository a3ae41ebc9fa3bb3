// x + -0 is x, for every x: signed zeros, infinities and NaN too.
// RUN: %intaglio opt --passes=canonicalize --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=canonicalize %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[64]) {
  %zero = constant() {value = f32[] {-0x0p+0}} : f32[]
  %zeros = broadcast_in_dim(%zero) {shape = <64>, broadcast_dimensions = []} : f32[64]
  %y = add(%x, %zeros) : f32[64]
  %z = add(%zeros, %y) : f32[64]
  return %z
}

// CHECK:      graph @main(%x: f32[64]) {
// CHECK-NEXT:   return %x
// CHECK-NEXT: }
