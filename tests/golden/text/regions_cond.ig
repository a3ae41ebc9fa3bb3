// Two regions with closed bodies.
// RUN: %intaglio show %s | FileCheck --match-full-lines %s
// RUN: %intaglio show %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --binary %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%p: bool[], %x: f32[3]) {
  %y = cond(%p, %x) : f32[3] {
    ^(%a: f32[3]) {
      %b = negate(%a) : f32[3]
      return %b
    }
    ^(%c: f32[3]) {
      return %c
    }
  }
  return %y
}

// CHECK:      graph @main(%p: bool[], %x: f32[3]) {
// CHECK-NEXT:   %y = cond(%p, %x) : f32[3] {
// CHECK-NEXT:     ^(%a: f32[3]) {
// CHECK-NEXT:       %b = negate(%a) : f32[3]
// CHECK-NEXT:       return %b
// CHECK-NEXT:     }
// CHECK-NEXT:     ^(%c: f32[3]) {
// CHECK-NEXT:       return %c
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
