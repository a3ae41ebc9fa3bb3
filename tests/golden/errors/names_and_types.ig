// As many names as types.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[2]) {
  %y, %z = negate(%x) : f32[2]
  return %z
}

// CHECK:error: <stdin>:5:23: 2 names, but 1 types of results
// CHECK-NEXT:  why: the text does not follow the grammar here:
// CHECK-NEXT:      %y, %z = negate(%x) : f32[2]
// CHECK-NEXT:                          ^
// CHECK-NEXT:  hint: each result has a name and a type
