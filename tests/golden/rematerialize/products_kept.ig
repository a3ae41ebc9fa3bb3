// Two products are kept, though the one value that both are made of takes less.
// RUN: %intaglio opt --passes=rematerialize --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=rematerialize --print-changes -o /dev/null %s 2>&1 | FileCheck --check-prefix=SAID %s
// RUN: %intaglio opt --passes=rematerialize %s | %intaglio run - --reference --compare-with %s --tolerance exact --inputs random:1

graph @main(%x: f32[4096, 64], %w: f32[64, 64]) {
  %v = dot_general(%x, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[4096, 64]
  %p = dot_general(%v, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[4096, 64]
  %q = dot_general(%v, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], accumulate = f32} : f32[4096, 64]
  %e = tanh(%v) : f32[4096, 64]
  %b = dot_general(%e, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[4096, 64]
  %f = multiply(%b, %p) : f32[4096, 64]
  %g = dot_general(%f, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[4096, 64]
  %h = multiply(%g, %q) : f32[4096, 64]
  return %h
}

// SAID: rematerialize: unchanged
// CHECK: graph @main
// CHECK-NOT: after(
