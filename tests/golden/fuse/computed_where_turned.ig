// The gradient of a batch norm whose images have their features last: its sums take what they fold in the order of the
// features first, and still compute it where they read it; the kernel of the convolution writes one array. Sums of one
// array, read through views of different values, are one kernel.
// RUN: %intaglio opt --verify %s | FileCheck %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --atol 0.001 --inputs random:1

graph @main(%x: f32[4, 12, 12, 16], %dy: f32[4, 12, 12, 5], %w: f32[16, 5]) {
  %g = dot_general(%dy, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [1], accumulate = f32} : f32[4, 12, 12, 16]
  %g1 = transpose(%g) {permutation = [0, 3, 1, 2]} : f32[4, 16, 12, 12]
  %bias = reduce_sum(%g1) {axes = [0, 2, 3]} : f32[16]
  %along = multiply(%g, %x) : f32[4, 12, 12, 16]
  %along1 = transpose(%along) {permutation = [0, 3, 1, 2]} : f32[4, 16, 12, 12]
  %scale = reduce_sum(%along1) {axes = [0, 2, 3]} : f32[16]
  %less = broadcast_in_dim(%scale) {shape = <4, 12, 12, 16>, broadcast_dimensions = [3]} : f32[4, 12, 12, 16]
  %dx = subtract(%g, %less) : f32[4, 12, 12, 16]
  return %bias, %scale, %dx
}

// CHECK:     %g = fusion({{.*}}) {kind = "contraction"} : f32[4, 12, 12, 16]
// CHECK:     %bias, %scale = fusion({{.*}}) {kind = "column"} : f32[16], f32[16]
// CHECK:     %dx = fusion({{.*}}) {kind = "loop"} : f32[4, 12, 12, 16]
// CHECK-NOT: fusion(
