// What is carried is stacked, and scanned over from the last to the first; the rest of a step is computed again.
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

// CHECK:      graph @main(%xs: f32[5], %0: f32[5], %1: f32[]) {
// CHECK-NEXT:   %2, %3 = scan( | %1 | %xs, %0) {length = <5>, reverse = true} : f32[], f32[5] {
// CHECK-NEXT:     ^(%4: f32[], %5: f32[], %6: f32[]) {
// CHECK-NEXT:       %m = multiply(%6, %5) : f32[]
// CHECK-NEXT:       %7 = cosine(%m) : f32[]
// CHECK-NEXT:       %8 = multiply(%4, %7) : f32[]
// CHECK-NEXT:       %9 = multiply(%6, %8) : f32[]
// CHECK-NEXT:       %10 = multiply(%8, %5) : f32[]
// CHECK-NEXT:       return %10, %9
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %2, %3
// CHECK-NEXT: }
