// x · 1 and x / 1 are x.
// RUN: %intaglio opt --passes=canonicalize --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=canonicalize %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: bf16[64]) {
  %one = constant() {value = bf16[] {0x1p+0}} : bf16[]
  %ones = broadcast_in_dim(%one) {shape = <64>, broadcast_dimensions = []} : bf16[64]
  %y = multiply(%ones, %x) : bf16[64]
  %z = divide(%y, %ones) : bf16[64]
  return %z
}

// CHECK:      graph @main(%x: bf16[64]) {
// CHECK-NEXT:   return %x
// CHECK-NEXT: }
