// A conversion through a narrower type rounds, or wraps: it stays.
// RUN: %intaglio opt --passes=canonicalize --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=canonicalize --print-changes -o /dev/null %s 2>&1 | FileCheck --check-prefix=SAME %s
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[64], %i: i32[64], %u: u8[64]) {
  %a = convert(%x) {dtype = f16} : f16[64]
  %b = convert(%a) {dtype = f32} : f32[64]
  %c = convert(%i) {dtype = i8} : i8[64]
  %d = convert(%c) {dtype = i32} : i32[64]
  %e = convert(%u) {dtype = i8} : i8[64]
  %f = convert(%e) {dtype = i32} : i32[64]
  return %b, %d, %f
}

// CHECK:      graph @main(%x: f32[64], %i: i32[64], %u: u8[64]) {
// CHECK-NEXT:   %a = convert(%x) {dtype = f16} : f16[64]
// CHECK-NEXT:   %b = convert(%a) {dtype = f32} : f32[64]
// CHECK-NEXT:   %c = convert(%i) {dtype = i8} : i8[64]
// CHECK-NEXT:   %d = convert(%c) {dtype = i32} : i32[64]
// CHECK-NEXT:   %e = convert(%u) {dtype = i8} : i8[64]
// CHECK-NEXT:   %f = convert(%e) {dtype = i32} : i32[64]
// CHECK-NEXT:   return %b, %d, %f
// CHECK-NEXT: }
// SAME: canonicalize: unchanged
