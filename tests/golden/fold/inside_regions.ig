// Regions are folded too.
// RUN: %intaglio opt --passes=fold --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fold %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%p: bool[], %x: f32[]) {
  %y = cond(%p, %x) : f32[] {
    ^(%a: f32[]) {
      %one = constant() {value = f32[] {0x1p+0}} : f32[]
      %two = add(%one, %one) : f32[]
      %b = multiply(%a, %two) : f32[]
      return %b
    }
    ^(%c: f32[]) {
      return %c
    }
  }
  return %y
}

// CHECK:      graph @main(%p: bool[], %x: f32[]) {
// CHECK-NEXT:   %y = cond(%p, %x) : f32[] {
// CHECK-NEXT:     ^(%a: f32[]) {
// CHECK-NEXT:       %one = constant() {value = f32[] {0x1p+0}} : f32[]
// CHECK-NEXT:       %two = constant() {value = f32[] {0x1p+1}} : f32[]
// CHECK-NEXT:       %b = multiply(%a, %two) : f32[]
// CHECK-NEXT:       return %b
// CHECK-NEXT:     }
// CHECK-NEXT:     ^(%c: f32[]) {
// CHECK-NEXT:       return %c
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
