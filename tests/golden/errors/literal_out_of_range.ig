// A number that does not fit its element type.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main() {
  %a = constant() {value = i8[] {300}} : i8[]
  return %a
}

// CHECK:error: <stdin>:5:34: 300 does not fit i8
// CHECK-NEXT:  why: the text does not follow the grammar here:
// CHECK-NEXT:      %a = constant() {value = i8[] {300}} : i8[]
// CHECK-NEXT:                                     ^
// CHECK-NEXT:  hint: docs/ir.md has the grammar
