// x / x is no 1: 0 / 0 is NaN for floats, -1 for whole numbers.
// RUN: %intaglio opt --passes=canonicalize --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=canonicalize --print-changes -o /dev/null %s 2>&1 | FileCheck --check-prefix=SAME %s
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[64], %i: i32[64]) {
  %y = divide(%x, %x) : f32[64]
  %j = divide(%i, %i) : i32[64]
  return %y, %j
}

// CHECK:      graph @main(%x: f32[64], %i: i32[64]) {
// CHECK-NEXT:   %y = divide(%x, %x) : f32[64]
// CHECK-NEXT:   %j = divide(%i, %i) : i32[64]
// CHECK-NEXT:   return %y, %j
// CHECK-NEXT: }
// SAME: canonicalize: unchanged
