// Literals of every kind: hexadecimal floats, infinities, NaN with bits, -0, the least numbers, complex pairs, none at all.
// RUN: %intaglio show %s | FileCheck --match-full-lines %s
// RUN: %intaglio show %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --binary %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio run %s --compare --tolerance exact

graph @main() {
  %a = constant() {value = f32[7] {0x1.8p+1, -0x0p+0, inf, -inf, nan, -nan, nan(0x7fc00001)}} : f32[7]
  %b = constant() {value = f64[2] {0x0.0000000000001p-1022, 0x1.fffffffffffffp+1023}} : f64[2]
  %c = constant() {value = f16[2] {0x1.ffcp+15, 0x1p-24}} : f16[2]
  %d = constant() {value = bf16[1] {0x1.fep+127}} : bf16[1]
  %e = constant() {value = i8[2] {-128, 127}} : i8[2]
  %f = constant() {value = i64[2] {-9223372036854775808, 9223372036854775807}} : i64[2]
  %g = constant() {value = u64[1] {18446744073709551615}} : u64[1]
  %h = constant() {value = bool[2] {true, false}} : bool[2]
  %i = constant() {value = c64[2] {(0x1p+0, -0x0p+0), (nan, inf)}} : c64[2]
  %j = constant() {value = f32[0, 3] {}} : f32[0, 3]
  %k = constant() {value = f32[] {0x1p-149}} : f32[]
  %l = constant() {value = i32[2, 2] {1, 2, 3, 4}} : i32[2, 2]
  return %a, %b, %c, %d, %e, %f, %g, %h, %i, %j, %k, %l
}

// CHECK:      graph @main() {
// CHECK-NEXT:   %a = constant() {value = f32[7] {0x1.8p+1, -0x0p+0, inf, -inf, nan, -nan, nan(0x7fc00001)}} : f32[7]
// CHECK-NEXT:   %b = constant() {value = f64[2] {0x0.0000000000001p-1022, 0x1.fffffffffffffp+1023}} : f64[2]
// CHECK-NEXT:   %c = constant() {value = f16[2] {0x1.ffcp+15, 0x1p-24}} : f16[2]
// CHECK-NEXT:   %d = constant() {value = bf16[1] {0x1.fep+127}} : bf16[1]
// CHECK-NEXT:   %e = constant() {value = i8[2] {-128, 127}} : i8[2]
// CHECK-NEXT:   %f = constant() {value = i64[2] {-9223372036854775808, 9223372036854775807}} : i64[2]
// CHECK-NEXT:   %g = constant() {value = u64[1] {18446744073709551615}} : u64[1]
// CHECK-NEXT:   %h = constant() {value = bool[2] {true, false}} : bool[2]
// CHECK-NEXT:   %i = constant() {value = c64[2] {(0x1p+0, -0x0p+0), (nan, inf)}} : c64[2]
// CHECK-NEXT:   %j = constant() {value = f32[0, 3] {}} : f32[0, 3]
// CHECK-NEXT:   %k = constant() {value = f32[] {0x1p-149}} : f32[]
// CHECK-NEXT:   %l = constant() {value = i32[2, 2] {1, 2, 3, 4}} : i32[2, 2]
// CHECK-NEXT:   return %a, %b, %c, %d, %e, %f, %g, %h, %i, %j, %k, %l
// CHECK-NEXT: }
