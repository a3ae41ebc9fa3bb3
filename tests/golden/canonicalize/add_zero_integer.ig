// Whole numbers have one zero: x + 0 is x, on both sides.
// RUN: %intaglio opt --passes=canonicalize --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=canonicalize %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: i8[64]) {
  %zero = constant() {value = i8[] {0}} : i8[]
  %zeros = broadcast_in_dim(%zero) {shape = <64>, broadcast_dimensions = []} : i8[64]
  %y = add(%x, %zeros) : i8[64]
  %z = add(%zeros, %y) : i8[64]
  return %z
}

// CHECK:      graph @main(%x: i8[64]) {
// CHECK-NEXT:   return %x
// CHECK-NEXT: }
