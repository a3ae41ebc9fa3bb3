// A size that is equal to an expression of others becomes that expression, also inside of regions.
// RUN: %intaglio opt --passes=refine-shapes --verify %s | FileCheck --match-full-lines %s

graph @main(%p: bool[], %x: f32[n], %y: f32[m]) where m in [0, inf], n in [1, 100], m == 2*n {
  %z = cond(%p, %y) : f32[m] {
    ^(%a: f32[m]) {
      %b = sine(%a) : f32[m]
      return %b
    }
    ^(%a: f32[m]) {
      return %a
    }
  }
  return %x, %z
}

// CHECK:      graph @main(%p: bool[], %x: f32[n], %y: f32[2*n]) where n in [1, 100] {
// CHECK-NEXT:   %z = cond(%p, %y) : f32[2*n] {
// CHECK-NEXT:     ^(%a: f32[2*n]) {
// CHECK-NEXT:       %b = sine(%a) : f32[2*n]
// CHECK-NEXT:       return %b
// CHECK-NEXT:     }
// CHECK-NEXT:     ^(%a$1: f32[2*n]) {
// CHECK-NEXT:       return %a$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %x, %z
// CHECK-NEXT: }
