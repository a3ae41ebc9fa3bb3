// What the compiler makes is text as well.
// RUN: %intaglio show %s | FileCheck --match-full-lines %s
// RUN: %intaglio show %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --binary %s | %intaglio show - | FileCheck --match-full-lines %s

graph @main(%x: f32[n]) where n {
  %y = fusion(%x) {kind = "loop"} : f32[n] {
    ^(%a: f32[n]) {
      %b = negate(%a) : f32[n]
      return %b
    }
  }
  return %y
}

// CHECK:      graph @main(%x: f32[n]) where n {
// CHECK-NEXT:   %y = fusion(%x) {kind = "loop"} : f32[n] {
// CHECK-NEXT:     ^(%a: f32[n]) {
// CHECK-NEXT:       %b = negate(%a) : f32[n]
// CHECK-NEXT:       return %b
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
