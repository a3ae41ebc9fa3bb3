// Sizes are expressions over symbols with ranges, and facts that the graph relies on.
// RUN: %intaglio show %s | FileCheck --match-full-lines %s
// RUN: %intaglio show %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --binary %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio run %s --compare --inputs random:1 --size a=2 --size b=3 --size c=4

graph @main(%x: f32[a, b], %u: f32[c], %y: f32[a*b], %z: f32[floordiv(c, 2), mod(c, 2)], %w: f32[min(a, b), max(a, b)], %v: f32[2*a + 1]) where a in [1, 64], b in [0, inf], c, a <= b, c == 2*a {
  %r = reshape(%x) {shape = <a*b>} : f32[a*b]
  %s = add(%r, %y) : f32[a*b]
  return %s, %v
}

// CHECK:      graph @main(%x: f32[a, b], %u: f32[c], %y: f32[a*b], %z: f32[floordiv(c, 2), mod(c, 2)], %w: f32[min(a, b), max(a, b)], %v: f32[2*a + 1]) where a in [1, 64], b, c, a <= b, c == 2*a {
// CHECK-NEXT:   %r = reshape(%x) {shape = <a*b>} : f32[a*b]
// CHECK-NEXT:   %s = add(%r, %y) : f32[a*b]
// CHECK-NEXT:   return %s, %v
// CHECK-NEXT: }
