// The file ends in the middle of a block.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

// CHECK:error: <stdin>:11:1: the block is not closed
// CHECK-NEXT:  why: the text does not follow the grammar here:
// CHECK-NEXT:{{    }}
// CHECK-NEXT:    ^
// CHECK-NEXT:  hint: a block ends with 'return' and '}'
graph @main(%x: f32[2]) {
  %y = negate(%x) : f32[2]
