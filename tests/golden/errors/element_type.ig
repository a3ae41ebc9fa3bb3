// A type that there is none of.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: float32[2]) {
  return %x
}

// CHECK:error: <stdin>:4:17: 'float32' is not an element type
// CHECK-NEXT:  why: the text does not follow the grammar here:
// CHECK-NEXT:    graph @main(%x: float32[2]) {
// CHECK-NEXT:                    ^
// CHECK-NEXT:  hint: the element types are bool, i8 … i64, u8 … u64, f16, bf16, f32, f64, c64, c128, key
