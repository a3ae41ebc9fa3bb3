// Of two sizes that are equal one stands for both, with the ranges of both; the fact is spent.
// RUN: %intaglio opt --passes=refine-shapes --verify %s | FileCheck --match-full-lines %s

graph @main(%x: f32[a], %y: f32[c]) where a in [1, 64], c in [2, 128], a == c {
  %z = concatenate(%x, %y) {axis = 0} : f32[a + c]
  return %z
}

// CHECK:      graph @main(%x: f32[a], %y: f32[a]) where a in [2, 64] {
// CHECK-NEXT:   %z = concatenate(%x, %y) {axis = 0} : f32[2*a]
// CHECK-NEXT:   return %z
// CHECK-NEXT: }
