// Every element type.
// RUN: %intaglio show %s | FileCheck --match-full-lines %s
// RUN: %intaglio show %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --binary %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio run %s --compare --inputs special:1 --tolerance exact

graph @main(%a: bool[2], %b: i8[2], %c: i16[2], %d: i32[2], %e: i64[2], %f: u8[2], %g: u16[2], %h: u32[2], %i: u64[2], %j: f16[2], %k: bf16[2], %l: f32[2], %m: f64[2], %n: c64[2], %o: c128[2], %p: key[2]) {
  return %a, %b, %c, %d, %e, %f, %g, %h, %i, %j, %k, %l, %m, %n, %o, %p
}

// CHECK:      graph @main(%a: bool[2], %b: i8[2], %c: i16[2], %d: i32[2], %e: i64[2], %f: u8[2], %g: u16[2], %h: u32[2], %i: u64[2], %j: f16[2], %k: bf16[2], %l: f32[2], %m: f64[2], %n: c64[2], %o: c128[2], %p: key[2]) {
// CHECK-NEXT:   return %a, %b, %c, %d, %e, %f, %g, %h, %i, %j, %k, %l, %m, %n, %o, %p
// CHECK-NEXT: }
