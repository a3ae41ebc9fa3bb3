// Left as they are: two terms (%a), a number of terms that is not known (%b), and what is read in parts, which its kernel computes side by side (%c).
// RUN: %intaglio opt --passes=one-term-products --verify %s | FileCheck %s
// RUN: %intaglio run %s --compare --inputs random:1 --size N=4

graph @main(%x: f32[5, 2], %y: f32[2, 7], %n: f32[5, N], %m: f32[N, 7], %p: f32[5, 1], %q: f32[1, 8]) where N {
  %a = dot_general(%x, %y) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[5, 7]
  %b = dot_general(%n, %m) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[5, 7]
  %c = dot_general(%p, %q) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[5, 8]
  %d = slice(%c) {start = <0, 0>, limit = <5, 4>, strides = [1, 1]} : f32[5, 4]
  %e = slice(%c) {start = <0, 4>, limit = <5, 8>, strides = [1, 1]} : f32[5, 4]
  %f = multiply(%d, %e) : f32[5, 4]
  return %a, %b, %f
}

// CHECK-COUNT-3: dot_general(
// CHECK-NOT: broadcast_in_dim
