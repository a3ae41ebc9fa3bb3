// Nodes with regions stay, and nothing is merged across a region's edge: regions are closed.
// RUN: %intaglio opt --passes=cse --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=cse %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%p: bool[], %x: f32[]) {
  %a = negate(%x) : f32[]
  %y = cond(%p, %x) : f32[] {
    ^(%c: f32[]) {
      %d = negate(%c) : f32[]
      %e = negate(%c) : f32[]
      %f = multiply(%d, %e) : f32[]
      return %f
    }
    ^(%g: f32[]) {
      %h = negate(%g) : f32[]
      return %h
    }
  }
  %z = add(%a, %y) : f32[]
  return %z
}

// CHECK:      graph @main(%p: bool[], %x: f32[]) {
// CHECK-NEXT:   %a = negate(%x) : f32[]
// CHECK-NEXT:   %y = cond(%p, %x) : f32[] {
// CHECK-NEXT:     ^(%c: f32[]) {
// CHECK-NEXT:       %d = negate(%c) : f32[]
// CHECK-NEXT:       %f = multiply(%d, %d) : f32[]
// CHECK-NEXT:       return %f
// CHECK-NEXT:     }
// CHECK-NEXT:     ^(%g: f32[]) {
// CHECK-NEXT:       %h = negate(%g) : f32[]
// CHECK-NEXT:       return %h
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %z = add(%a, %y) : f32[]
// CHECK-NEXT:   return %z
// CHECK-NEXT: }
