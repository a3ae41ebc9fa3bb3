// Sizes that would take more than the text holds are refused before memory is taken.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main() {
  %a = constant() {value = f32[4000000000] {0x1p+0}} : f32[4000000000]
  return %a
}

// CHECK:error: <stdin>:5:28: the literal has fewer elements than its sizes say
// CHECK-NEXT:  why: the text does not follow the grammar here:
// CHECK-NEXT:      %a = constant() {value = f32[4000000000] {0x1p+0}} : f32[4000000000]
// CHECK-NEXT:                               ^
// CHECK-NEXT:  hint: docs/ir.md has the grammar
