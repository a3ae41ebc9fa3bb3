// A literal has as many elements as its type says.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main() {
  %a = constant() {value = f32[3] {0x1p+0, 0x1p+1}} : f32[3]
  return %a
}

// CHECK:error: <stdin>:5:50: expected ',' between the elements
// CHECK-NEXT:  why: the text does not follow the grammar here:
// CHECK-NEXT:      %a = constant() {value = f32[3] {0x1p+0, 0x1p+1}} : f32[3]
// CHECK-NEXT:                                                     ^
// CHECK-NEXT:  hint: docs/ir.md has the grammar
