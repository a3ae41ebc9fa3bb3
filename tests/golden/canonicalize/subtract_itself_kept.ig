// x - x is no 0 where x is NaN or an infinity.
// RUN: %intaglio opt --passes=canonicalize --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=canonicalize --print-changes -o /dev/null %s 2>&1 | FileCheck --check-prefix=SAME %s
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[64]) {
  %y = subtract(%x, %x) : f32[64]
  return %y
}

// CHECK:      graph @main(%x: f32[64]) {
// CHECK-NEXT:   %y = subtract(%x, %x) : f32[64]
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
// SAME: canonicalize: unchanged
