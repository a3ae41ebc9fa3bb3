// The transpose of a slice, a scale and a sum over rows.
// RUN: %intaglio opt --pipeline none --transform transpose %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --transform transpose %s | %intaglio run - --compare --inputs random:1

graph @main(%x: f32[4], %k: i64[]) {
  %y = slice(%x) {start = <1>, limit = <3>, strides = [1]} : f32[2]
  %m = negate(%y) : f32[2]
  %s = reduce_sum(%m) {axes = [0]} : f32[]
  return %s
}

// CHECK:      graph @main(%k: i64[], %ct_s: f32[]) {
// CHECK-NEXT:   %0 = broadcast_in_dim(%ct_s) {shape = <2>, broadcast_dimensions = []} : f32[2]
// CHECK-NEXT:   %1 = negate(%0) : f32[2]
// CHECK-NEXT:   %2 = constant() {value = f32[] {0x0p+0}} : f32[]
// CHECK-NEXT:   %3 = pad(%1, %2) {low = <1>, high = <1>, interior = [0]} : f32[4]
// CHECK-NEXT:   return %3
// CHECK-NEXT: }
