// A block ends with a return.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

// CHECK:error: <stdin>:12:1: the block has no 'return'
// CHECK-NEXT:  why: the text does not follow the grammar here:
// CHECK-NEXT:{{    }}
// CHECK-NEXT:    ^
// CHECK-NEXT:  hint: a block ends with 'return' and its results
graph @main(%x: f32[2]) {
  %y = negate(%x) : f32[2]
}
