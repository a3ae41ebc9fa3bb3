// An op has its number of operands.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[2]) {
  %z = add(%x) : f32[2]
  return %z
}

// CHECK:error: <stdin>:5:8: add: expected 2 operands, got 1
// CHECK-NEXT:  why: the op takes that many arrays
// CHECK-NEXT:      %z = add(%x) : f32[2]
// CHECK-NEXT:           ^
// CHECK-NEXT:  hint: see the documentation of add
