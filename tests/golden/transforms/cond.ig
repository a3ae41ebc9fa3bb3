// Each branch gives what its own derivative needs and cannot compute at little cost; residuals share their places.
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
// CHECK-NEXT:       %2 = constant() {value = f32[] {0x0p+0}} : f32[]
// CHECK-NEXT:       return %s, %2
// CHECK-NEXT:     }
// CHECK-NEXT:     ^(%b: f32[]) {
// CHECK-NEXT:       %e = exponential(%b) : f32[]
// CHECK-NEXT:       return %e, %e
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %3 = constant() {value = f32[] {0x1p+0}} : f32[]
// CHECK-NEXT:   %4 = cond(%p, %1, %x, %3) : f32[] {
// CHECK-NEXT:     ^(%5: f32[], %6: f32[], %7: f32[]) {
// CHECK-NEXT:       %8 = cosine(%6) : f32[]
// CHECK-NEXT:       %9 = multiply(%7, %8) : f32[]
// CHECK-NEXT:       return %9
// CHECK-NEXT:     }
// CHECK-NEXT:     ^(%10: f32[], %11: f32[], %12: f32[]) {
// CHECK-NEXT:       %13 = multiply(%12, %10) : f32[]
// CHECK-NEXT:       return %13
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %0, %4
// CHECK-NEXT: }
