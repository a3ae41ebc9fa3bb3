// An attribute with choices takes one of them.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[2]) {
  %y = gelu(%x) {approximate = "tan"} : f32[2]
  return %y
}

// CHECK:error: <stdin>:5:8: gelu: the attribute approximate cannot be 'tan'
// CHECK-NEXT:  why: each attribute has a name and a kind
// CHECK-NEXT:      %y = gelu(%x) {approximate = "tan"} : f32[2]
// CHECK-NEXT:           ^
// CHECK-NEXT:  hint: it is one of none|tanh
