// An attribute that the op does not have.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[2]) {
  %y = negate(%x) {axis = 0} : f32[2]
  return %y
}

// CHECK:error: <stdin>:5:8: negate: negative: unknown attribute 'axis'
// CHECK-NEXT:  why: each attribute has a name and a kind
// CHECK-NEXT:      %y = negate(%x) {axis = 0} : f32[2]
// CHECK-NEXT:           ^
// CHECK-NEXT:  hint: it has no attributes
