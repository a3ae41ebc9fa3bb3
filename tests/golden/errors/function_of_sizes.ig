// The functions of sizes are four.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[div(n, 2)]) where n {
  return %x
}

// CHECK:error: <stdin>:4:21: 'div' is not a function of sizes
// CHECK-NEXT:  why: the text does not follow the grammar here:
// CHECK-NEXT:    graph @main(%x: f32[div(n, 2)]) where n {
// CHECK-NEXT:                        ^
// CHECK-NEXT:  hint: the functions are floordiv, mod, min and max
