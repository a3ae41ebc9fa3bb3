// One graph a file.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[2]) {
  return %x
}
graph @other() {
  return
}

// CHECK:error: <stdin>:7:1: unexpected text after the graph
// CHECK-NEXT:  why: the text does not follow the grammar here:
// CHECK-NEXT:    graph @other() {
// CHECK-NEXT:    ^
// CHECK-NEXT:  hint: docs/ir.md has the grammar
