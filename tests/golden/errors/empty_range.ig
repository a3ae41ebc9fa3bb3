// A symbol's range holds a number.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[n]) where n in [8, 4] {
  return %x
}

// CHECK:error: <stdin>:4:37: the range is empty
// CHECK-NEXT:  why: the text does not follow the grammar here:
// CHECK-NEXT:    graph @main(%x: f32[n]) where n in [8, 4] {
// CHECK-NEXT:                                        ^
// CHECK-NEXT:  hint: the smaller bound stands first
