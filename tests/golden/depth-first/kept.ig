// What stays kernel by kernel: a chain whose examples depend on one another, one whose batch is near as it is, and one
// whose weights would be read again for every example, for more than that spares.
// RUN: %intaglio opt --passes=fuse,depth-first --print-changes -o /dev/null %s 2>&1 | FileCheck %s
// CHECK: depth-first: unchanged

graph @main(%x: f32[7, 4096, 16], %u: f32[7, 256, 16], %v: f32[7, 256, 512], %w1: f32[16, 32], %w2: f32[32, 16], %w3: f32[16, 32], %w4: f32[32, 16], %w5: f32[512, 1024], %w6: f32[1024, 512]) {
  %a = dot_general(%x, %w1) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0], accumulate = f32} : f32[7, 4096, 32]
  %r = reverse(%a) {dimensions = [0]} : f32[7, 4096, 32]
  %c = dot_general(%r, %w2) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0], accumulate = f32} : f32[7, 4096, 16]
  %d = dot_general(%u, %w3) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0], accumulate = f32} : f32[7, 256, 32]
  %e = dot_general(%d, %w4) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0], accumulate = f32} : f32[7, 256, 16]
  %f = dot_general(%v, %w5) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0], accumulate = f32} : f32[7, 256, 1024]
  %g = dot_general(%f, %w6) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0], accumulate = f32} : f32[7, 256, 512]
  return %c, %e, %g
}
