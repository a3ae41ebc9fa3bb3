// Sizes are counted in 64 bits.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[9223372036854775807 + n]) where n in [1, 2] {
  %y = reshape(%x) {shape = <9223372036854775807*9223372036854775807>} : f32[4]
  return %y
}

// CHECK:error: <stdin>:5:30: a size overflows 64 bits
// CHECK-NEXT:  why: the text does not follow the grammar here:
// CHECK-NEXT:      %y = reshape(%x) {shape = <9223372036854775807*9223372036854775807>} : f32[4]
// CHECK-NEXT:                                 ^
// CHECK-NEXT:  hint: use smaller sizes, or split the array
