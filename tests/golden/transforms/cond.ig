// Each branch gives what its own derivative needs; the residuals share their places.
// RUN: %intaglio opt --pipeline none --transform grad %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --transform grad %s | %intaglio run - --compare --inputs random:1

graph @main(%p: bool[], %x: f32[]) {
  %r = cond(%p, %x) : f32[] {
    ^(%a: f32[]) {
      %s = sine(%a) : f32[]
      return %s
    }
    ^(%b: f32[]) {
      %e = exponential(%b) : f32[]
      return %e
    }
  }
  return %r
}

// CHECK:      graph @main(%p: bool[], %x: f32[]) {
// CHECK-NEXT:   %0, %1 = cond(%p, %x) : f32[], f32[] {
// CHECK-NEXT:     ^(%a: f32[]) {
// CHECK-NEXT:       %s = sine(%a) : f32[]
// CHECK-NEXT:       %2 = cosine(%a) : f32[]
// CHECK-NEXT:       return %s, %2
// CHECK-NEXT:     }
// CHECK-NEXT:     ^(%b: f32[]) {
// CHECK-NEXT:       %e = exponential(%b) : f32[]
// CHECK-NEXT:       return %e, %e
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %3 = constant() {value = f32[] {0x1p+0}} : f32[]
// CHECK-NEXT:   %4 = cond(%p, %1, %3) : f32[] {
// CHECK-NEXT:     ^(%5: f32[], %6: f32[]) {
// CHECK-NEXT:       %7 = multiply(%6, %5) : f32[]
// CHECK-NEXT:       return %7
// CHECK-NEXT:     }
// CHECK-NEXT:     ^(%8: f32[], %9: f32[]) {
// CHECK-NEXT:       %10 = multiply(%9, %8) : f32[]
// CHECK-NEXT:       return %10
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %0, %4
// CHECK-NEXT: }
