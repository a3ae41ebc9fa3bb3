// Floats may be written in decimal; they are printed as they are, in hexadecimal.
// RUN: %intaglio show %s | FileCheck --match-full-lines %s
// RUN: %intaglio show %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --binary %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio run %s --compare --tolerance exact

graph @main() {
  %a = constant() {value = f32[4] {1.5, -0.0, 1e-3, 3}} : f32[4]
  return %a
}

// CHECK:      graph @main() {
// CHECK-NEXT:   %a = constant() {value = f32[4] {0x1.8p+0, -0x0p+0, 0x1.0624dep-10, 0x1.8p+1}} : f32[4]
// CHECK-NEXT:   return %a
// CHECK-NEXT: }
