// Primitives broadcast nothing.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[2], %y: f32[3]) {
  %z = add(%x, %y) : f32[3]
  return %z
}

// CHECK:error: <stdin>:5:8: add: shapes [2] and [3] differ
// CHECK-NEXT:  why: this op works element by element and needs equal shapes
// CHECK-NEXT:      %z = add(%x, %y) : f32[3]
// CHECK-NEXT:           ^
// CHECK-NEXT:  hint: broadcast or reshape one of them
