// The residuals are stacked, and scanned over from the last to the first.
// RUN: %intaglio opt --pipeline none --transform vjp-backward %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --transform vjp-backward %s | %intaglio run - --compare --inputs random:1

graph @main(%c: f32[], %xs: f32[5]) {
  %r = scan(|%c|%xs) {length = <5>, reverse = false} : f32[] {
    ^(%h: f32[], %x: f32[]) {
      %m = multiply(%h, %x) : f32[]
      %s = sine(%m) : f32[]
      return %s
    }
  }
  return %r
}

// CHECK:      graph @main(%xs: f32[5], %0: f32[5], %1: f32[5], %2: f32[]) {
// CHECK-NEXT:   %3, %4 = scan( | %2 | %xs, %0, %1) {length = <5>, reverse = true} : f32[], f32[5] {
// CHECK-NEXT:     ^(%5: f32[], %6: f32[], %7: f32[], %8: f32[]) {
// CHECK-NEXT:       %9 = multiply(%5, %8) : f32[]
// CHECK-NEXT:       %10 = multiply(%7, %9) : f32[]
// CHECK-NEXT:       %11 = multiply(%9, %6) : f32[]
// CHECK-NEXT:       return %11, %10
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %3, %4
// CHECK-NEXT: }
