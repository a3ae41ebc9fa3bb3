// The range of m says more than 2*n does, so the fact stays; and nothing is known of k.
// RUN: %intaglio opt --passes=refine-shapes --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=refine-shapes --print-changes -o /dev/null %s 2>&1 | FileCheck --check-prefix=SAME %s

graph @main(%x: f32[n], %y: f32[m], %z: f32[k]) where k in [1, inf], m in [10, 20], n in [1, 100], m == 2*n {
  return %x, %y, %z
}

// CHECK:      graph @main(%x: f32[n], %y: f32[m], %z: f32[k]) where k in [1, inf], m in [10, 20], n in [1, 100], m == 2*n {
// CHECK-NEXT:   return %x, %y, %z
// CHECK-NEXT: }
// SAME: refine-shapes: unchanged
