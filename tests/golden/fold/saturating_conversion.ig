// Floats beyond the range saturate, and NaN becomes 0.
// RUN: %intaglio opt --passes=fold --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fold %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main() {
  %a = constant() {value = f32[5] {nan, inf, -inf, 0x1p+40, -0x1.cp+1}} : f32[5]
  %y = convert(%a) {dtype = i32} : i32[5]
  %z = convert(%a) {dtype = u8} : u8[5]
  return %y, %z
}

// CHECK:      graph @main() {
// CHECK-NEXT:   %a = constant() {value = f32[5] {nan, inf, -inf, 0x1p+40, -0x1.cp+1}} : f32[5]
// CHECK-NEXT:   %y = constant() {value = i32[5] {0, 2147483647, -2147483648, 2147483647, -3}} : i32[5]
// CHECK-NEXT:   %z = constant() {value = u8[5] {0, 255, 0, 255, 0}} : u8[5]
// CHECK-NEXT:   return %y, %z
// CHECK-NEXT: }
