// Sizes are printed in their canonical form, however they are written.
// RUN: %intaglio show %s | FileCheck --match-full-lines %s
// RUN: %intaglio show %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --binary %s | %intaglio show - | FileCheck --match-full-lines %s

graph @main(%x: f32[b + b], %y: f32[2*(n + 1) - 2], %z: f32[max(n, n)]) where b, n {
  return %x, %y, %z
}

// CHECK:      graph @main(%x: f32[2*b], %y: f32[2*n], %z: f32[n]) where b, n {
// CHECK-NEXT:   return %x, %y, %z
// CHECK-NEXT: }
