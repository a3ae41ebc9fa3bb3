// A conversion to a wider type of the same kind, and on from there, is one conversion.
// RUN: %intaglio opt --passes=canonicalize --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=canonicalize %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f16[64], %i: i8[64]) {
  %a = convert(%x) {dtype = f32} : f32[64]
  %b = convert(%a) {dtype = f64} : f64[64]
  %c = convert(%i) {dtype = i64} : i64[64]
  %d = convert(%c) {dtype = f32} : f32[64]
  return %b, %d
}

// CHECK:      graph @main(%x: f16[64], %i: i8[64]) {
// CHECK-NEXT:   %b = convert(%x) {dtype = f64} : f64[64]
// CHECK-NEXT:   %d = convert(%i) {dtype = f32} : f32[64]
// CHECK-NEXT:   return %b, %d
// CHECK-NEXT: }
