// An axis lies in the rank.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[2, 3]) {
  %y = reduce_sum(%x) {axes = [2]} : f32[2, 3]
  return %y
}

// CHECK:error: <stdin>:5:8: reduce_sum: axis 2 is out of range for rank 2
// CHECK-NEXT:  why: axes run from 0 to 1, or from -2 to -1
// CHECK-NEXT:      %y = reduce_sum(%x) {axes = [2]} : f32[2, 3]
// CHECK-NEXT:           ^
// CHECK-NEXT:  hint: give an axis that the array has
