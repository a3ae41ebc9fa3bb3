// x - 0 is x, -0 included.
// RUN: %intaglio opt --passes=canonicalize --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=canonicalize %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f64[64]) {
  %zero = constant() {value = f64[] {0x0p+0}} : f64[]
  %zeros = broadcast_in_dim(%zero) {shape = <64>, broadcast_dimensions = []} : f64[64]
  %y = subtract(%x, %zeros) : f64[64]
  return %y
}

// CHECK:      graph @main(%x: f64[64]) {
// CHECK-NEXT:   return %x
// CHECK-NEXT: }
