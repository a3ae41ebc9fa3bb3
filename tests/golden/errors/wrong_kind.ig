// An attribute has its kind.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[2, 2]) {
  %y = transpose(%x) {permutation = "10"} : f32[2, 2]
  return %y
}

// CHECK:error: <stdin>:5:8: transpose: the attribute permutation is of kind ints, got text
// CHECK-NEXT:  why: each attribute has a name and a kind
// CHECK-NEXT:      %y = transpose(%x) {permutation = "10"} : f32[2, 2]
// CHECK-NEXT:           ^
// CHECK-NEXT:  hint: For each axis of the result, the operand's axis it was.
