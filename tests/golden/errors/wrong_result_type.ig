// The type of a result is the one that the op gives.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[2], %y: f32[2]) {
  %z = add(%x, %y) : f32[3]
  return %z
}

// CHECK:error: <stdin>:5:8: add: result 0 is f32[3], its op gives f32[2]
// CHECK-NEXT:  why: the graph and the op's declaration disagree
// CHECK-NEXT:      %z = add(%x, %y) : f32[3]
// CHECK-NEXT:           ^
// CHECK-NEXT:  hint: docs/ops.md has the op's types and attributes
