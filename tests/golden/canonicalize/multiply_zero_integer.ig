// Whole numbers: x · 0 is 0.
// RUN: %intaglio opt --passes=canonicalize --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=canonicalize %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: u16[64]) {
  %zero = constant() {value = u16[] {0}} : u16[]
  %zeros = broadcast_in_dim(%zero) {shape = <64>, broadcast_dimensions = []} : u16[64]
  %y = multiply(%x, %zeros) : u16[64]
  return %y
}

// CHECK:      graph @main(%x: u16[64]) {
// CHECK-NEXT:   %zero = constant() {value = u16[] {0}} : u16[]
// CHECK-NEXT:   %zeros = broadcast_in_dim(%zero) {shape = <64>, broadcast_dimensions = []} : u16[64]
// CHECK-NEXT:   return %zeros
// CHECK-NEXT: }
