// Primitives convert nothing.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[2], %y: f64[2]) {
  %z = add(%x, %y) : f64[2]
  return %z
}

// CHECK:error: <stdin>:5:8: add: x is float32, but y is float64
// CHECK-NEXT:  why: both must have one element type
// CHECK-NEXT:      %z = add(%x, %y) : f64[2]
// CHECK-NEXT:           ^
// CHECK-NEXT:  hint: convert one of them with astype
