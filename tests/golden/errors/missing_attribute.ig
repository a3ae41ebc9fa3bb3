// An attribute without a default must stand there.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[2]) {
  %y = reduce_sum(%x) : f32[]
  return %y
}

// CHECK:error: <stdin>:5:8: reduce_sum: the attribute axes is missing
// CHECK-NEXT:  why: each attribute has a name and a kind
// CHECK-NEXT:      %y = reduce_sum(%x) : f32[]
// CHECK-NEXT:           ^
// CHECK-NEXT:  hint: The axes to fold, ascending; none folds nothing.
