// Defaults are written out: the message says how.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[2]) {
  %y = gelu(%x) : f32[2]
  return %y
}

// CHECK:error: <stdin>:5:8: gelu: its attributes are not complete and in declared order
// CHECK-NEXT:  why: in full they are {approximate = "none"}
// CHECK-NEXT:      %y = gelu(%x) : f32[2]
// CHECK-NEXT:           ^
// CHECK-NEXT:  hint: docs/ops.md has the op's types and attributes
