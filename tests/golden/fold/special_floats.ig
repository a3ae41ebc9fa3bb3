// Infinities, NaN and -0 fold to what the processor gives.
// RUN: %intaglio opt --passes=fold --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fold %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main() {
  %a = constant() {value = f32[5] {inf, -0x0p+0, 0x0p+0, -0x0p+0, nan}} : f32[5]
  %b = constant() {value = f32[5] {-inf, -0x0p+0, -0x0p+0, 0x1p+0, 0x1p+0}} : f32[5]
  %sum = add(%a, %b) : f32[5]
  %least = minimum(%a, %b) : f32[5]
  %product = multiply(%a, %b) : f32[5]
  return %sum, %least, %product
}

// CHECK:      graph @main() {
// CHECK-NEXT:   %a = constant() {value = f32[5] {inf, -0x0p+0, 0x0p+0, -0x0p+0, nan}} : f32[5]
// CHECK-NEXT:   %b = constant() {value = f32[5] {-inf, -0x0p+0, -0x0p+0, 0x1p+0, 0x1p+0}} : f32[5]
// CHECK-NEXT:   %sum = constant() {value = f32[5] {-nan, -0x0p+0, 0x0p+0, 0x1p+0, nan}} : f32[5]
// CHECK-NEXT:   %least = constant() {value = f32[5] {-inf, -0x0p+0, -0x0p+0, -0x0p+0, nan}} : f32[5]
// CHECK-NEXT:   %product = constant() {value = f32[5] {-inf, 0x0p+0, -0x0p+0, -0x0p+0, nan}} : f32[5]
// CHECK-NEXT:   return %sum, %least, %product
// CHECK-NEXT: }
