// Two values are computed again behind the same gate, and the one that is computed first is read last.
// RUN: %intaglio opt --passes=rematerialize --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=rematerialize %s | %intaglio run - --reference --compare-with %s --tolerance exact --inputs random:1

graph @main(%x: f32[4096, 64], %w: f32[64, 64]) {
  %a = dot_general(%x, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[4096, 64]
  %s = sine(%a) : f32[4096, 64]
  %c = cosine(%a) : f32[4096, 64]
  %e = tanh(%a) : f32[4096, 64]
  %b = dot_general(%e, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[4096, 64]
  %d = dot_general(%b, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[4096, 64]
  %f = multiply(%d, %c) : f32[4096, 64]
  %g = dot_general(%f, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[4096, 64]
  %h = multiply(%d, %s) : f32[4096, 64]
  %k = multiply(%g, %h) : f32[4096, 64]
  return %k
}

// CHECK:        %d = dot_general(%b, %w)
// CHECK-NEXT:   %0 = after(%a, %d) : f32[4096, 64]
// CHECK-NEXT:   %c = cosine(%0) : f32[4096, 64]
// CHECK-NEXT:   %f = multiply(%d, %c) : f32[4096, 64]
// CHECK-NEXT:   %g = dot_general(%f, %w)
// CHECK-NEXT:   %s = sine(%0) : f32[4096, 64]
// CHECK-NEXT:   %h = multiply(%d, %s) : f32[4096, 64]
// CHECK-NEXT:   %k = multiply(%g, %h) : f32[4096, 64]
// CHECK-NEXT:   return %k
