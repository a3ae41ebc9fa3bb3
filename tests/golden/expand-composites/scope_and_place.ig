// The body stands where the composite stood, with its module path.
// RUN: %intaglio opt --passes=expand-composites --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=expand-composites %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[4]) {
  %a = negate(%x) : f32[4]
  %y = square(%a) : f32[4] scope("block.act")
  %z = relu(%y) : f32[4] scope("block.act")
  return %z
}

// CHECK:      graph @main(%x: f32[4]) {
// CHECK-NEXT:   %a = negate(%x) : f32[4]
// CHECK-NEXT:   %y = square(%a) : f32[4] scope("block.act")
// CHECK-NEXT:   %0 = constant() {value = f32[] {0x0p+0}} : f32[] scope("block.act")
// CHECK-NEXT:   %1 = broadcast_in_dim(%0) {shape = <4>, broadcast_dimensions = []} : f32[4] scope("block.act")
// CHECK-NEXT:   %z = maximum(%y, %1) : f32[4] scope("block.act")
// CHECK-NEXT:   return %z
// CHECK-NEXT: }
