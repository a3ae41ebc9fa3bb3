// Dead nodes in regions go; a region's unused arguments stay, since all branches take the same.
// RUN: %intaglio opt --passes=dce --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=dce %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%p: bool[], %x: f32[], %y: f32[]) {
  %z = cond(%p, %x, %y) : f32[] {
    ^(%a: f32[], %b: f32[]) {
      %dead = negate(%b) : f32[]
      return %a
    }
    ^(%c: f32[], %d: f32[]) {
      return %d
    }
  }
  return %z
}

// CHECK:      graph @main(%p: bool[], %x: f32[], %y: f32[]) {
// CHECK-NEXT:   %z = cond(%p, %x, %y) : f32[] {
// CHECK-NEXT:     ^(%a: f32[], %b: f32[]) {
// CHECK-NEXT:       return %a
// CHECK-NEXT:     }
// CHECK-NEXT:     ^(%c: f32[], %d: f32[]) {
// CHECK-NEXT:       return %d
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %z
// CHECK-NEXT: }
