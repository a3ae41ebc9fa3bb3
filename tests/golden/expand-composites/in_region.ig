// Composites in regions are opened in their region.
// RUN: %intaglio opt --passes=expand-composites --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=expand-composites %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%p: bool[], %x: f32[8]) {
  %y = cond(%p, %x) : f32[8] {
    ^(%a: f32[8]) {
      %b = relu(%a) : f32[8]
      return %b
    }
    ^(%c: f32[8]) {
      return %c
    }
  }
  return %y
}

// CHECK:      graph @main(%p: bool[], %x: f32[8]) {
// CHECK-NEXT:   %y = cond(%p, %x) : f32[8] {
// CHECK-NEXT:     ^(%a: f32[8]) {
// CHECK-NEXT:       %0 = constant() {value = f32[] {0x0p+0}} : f32[]
// CHECK-NEXT:       %1 = broadcast_in_dim(%0) {shape = <8>, broadcast_dimensions = []} : f32[8]
// CHECK-NEXT:       %b = maximum(%a, %1) : f32[8]
// CHECK-NEXT:       return %b
// CHECK-NEXT:     }
// CHECK-NEXT:     ^(%c: f32[8]) {
// CHECK-NEXT:       return %c
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
