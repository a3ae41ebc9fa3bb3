// The error names the user's line where the graph knows it.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[2]) {
  %y = add(%x, %x) : f32[4] loc("model.py":7 in "forward")
  return %y
}

// CHECK:error: <stdin>:5:8: add: result 0 is f32[4], its op gives f32[2]
// CHECK-NEXT:  why: the graph and the op's declaration disagree
// CHECK-NEXT:      %y = add(%x, %x) : f32[4] loc("model.py":7 in "forward")
// CHECK-NEXT:           ^
// CHECK-NEXT:  hint: docs/ops.md has the op's types and attributes
