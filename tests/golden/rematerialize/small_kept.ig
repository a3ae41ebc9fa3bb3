// Of one product two values are read late: the product is kept, and they are computed again, behind what is
// computed late.
// RUN: %intaglio opt --passes=rematerialize --print-changes %s 2>&1 | FileCheck %s
// RUN: %intaglio opt --passes=rematerialize %s | %intaglio run - --reference --compare-with %s --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[16, 64], %w: f32[64, 64]) {
  %a = dot_general(%x, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[16, 64]
  %s = sine(%a) : f32[16, 64]
  %c = cosine(%a) : f32[16, 64]
  %e = tanh(%a) : f32[16, 64]
  %b = dot_general(%e, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[16, 64]
  %d = dot_general(%b, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[16, 64]
  %f = multiply(%d, %s) : f32[16, 64]
  %g = dot_general(%f, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[16, 64]
  %h = multiply(%g, %c) : f32[16, 64]
  return %h
}
