// An integer less itself is zero.
// RUN: %intaglio opt --passes=canonicalize --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=canonicalize %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: u8[3, 4]) {
  %y = subtract(%x, %x) : u8[3, 4]
  return %y
}

// CHECK:      graph @main(%x: u8[3, 4]) {
// CHECK-NEXT:   %0 = constant() {value = u8[] {0}} : u8[]
// CHECK-NEXT:   %y = broadcast_in_dim(%0) {shape = <3, 4>, broadcast_dimensions = []} : u8[3, 4]
// CHECK-NEXT:   return %y
// CHECK-NEXT: }

