// A name is given once.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[2]) {
  %x = negate(%x) : f32[2]
  return %x
}

// CHECK:error: <stdin>:5:3: the name %x is given twice
// CHECK-NEXT:  why: the text does not follow the grammar here:
// CHECK-NEXT:      %x = negate(%x) : f32[2]
// CHECK-NEXT:      ^
// CHECK-NEXT:  hint: names are unique in a block
