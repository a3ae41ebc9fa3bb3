// The gradient of a sum of tanh(x w): forward values, then the cotangents, and nothing else.
// RUN: %intaglio opt --pipeline none --transform grad %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --transform grad %s | %intaglio run - --compare --inputs random:1

graph @main(%w: f32[3], %x: f32[4, 3]) {
  %y = dot_general(%x, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[4]
  %t = tanh(%y) : f32[4]
  %s = reduce_sum(%t) {axes = [0]} : f32[]
  return %s
}

// CHECK:      graph @main(%w: f32[3], %x: f32[4, 3]) {
// CHECK-NEXT:   %y = dot_general(%x, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[4]
// CHECK-NEXT:   %t = tanh(%y) : f32[4]
// CHECK-NEXT:   %0 = constant() {value = f32[] {0x1p+0}} : f32[]
// CHECK-NEXT:   %1 = broadcast_in_dim(%0) {shape = <4>, broadcast_dimensions = []} : f32[4]
// CHECK-NEXT:   %2 = square(%t) : f32[4]
// CHECK-NEXT:   %3 = subtract(%1, %2) : f32[4]
// CHECK-NEXT:   %s = reduce_sum(%t) {axes = [0]} : f32[]
// CHECK-NEXT:   %4 = constant() {value = f32[] {0x1p+0}} : f32[]
// CHECK-NEXT:   %5 = broadcast_in_dim(%4) {shape = <4>, broadcast_dimensions = []} : f32[4]
// CHECK-NEXT:   %6 = multiply(%5, %3) : f32[4]
// CHECK-NEXT:   %7 = dot_general(%6, %x) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], accumulate = f32} : f32[3]
// CHECK-NEXT:   %8 = dot_general(%6, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [], rhs_contracting_dimensions = [], accumulate = f32} : f32[4, 3]
// CHECK-NEXT:   return %s, %7, %8
// CHECK-NEXT: }
