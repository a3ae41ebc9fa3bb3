// What takes less than a megabyte is left as it is.
// RUN: %intaglio opt --passes=rematerialize --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=rematerialize --print-changes -o /dev/null %s 2>&1 | FileCheck --check-prefix=SAID %s

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

// SAID: rematerialize: unchanged
// CHECK: graph @main
// CHECK-NOT: after(
