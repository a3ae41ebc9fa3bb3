// An op has its number of results.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[2]) {
  %y, %z = negate(%x) : f32[2], f32[2]
  return %z
}

// CHECK:error: <stdin>:5:12: negate: it has 2 results, its op gives 1
// CHECK-NEXT:  why: the graph and the op's declaration disagree
// CHECK-NEXT:      %y, %z = negate(%x) : f32[2], f32[2]
// CHECK-NEXT:               ^
// CHECK-NEXT:  hint: docs/ops.md has the op's types and attributes
