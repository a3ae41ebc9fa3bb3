// No graph at all.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

// CHECK:error: <stdin>:10:1: expected 'graph'
// CHECK-NEXT:  why: the text does not follow the grammar here:
// CHECK-NEXT:{{    }}
// CHECK-NEXT:    ^
// CHECK-NEXT:  hint: a graph starts with: graph @name(%x: f32[2]) {

