// Left as they are: few products (%a), a small matrix (%b), one that no cache holds (%c), a product of two matrices (%d), and
// one that most calls leave as it is (%e), of which kernels read a form that is made once for all calls.
// RUN: %intaglio opt --passes=turn-matrices --steady=4 --verify %s | FileCheck %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%a: f32[64, 64], %b: f32[60, 60], %c: f32[600, 600], %d: f32[64, 64], %e: f32[64, 64], %x: f32[64], %y: f32[60], %z: f32[600], %w: f32[64, 64]) {
  %1 = scan(%a | %x | ) {length = <7>, reverse = false} : f32[64] {
    ^(%a: f32[64, 64], %x: f32[64]) {
      %y = dot_general(%a, %x) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[64]
      return %y
    }
  }
  %2, %3, %4, %5 = scan(%b, %c, %d, %e | %y, %z, %w, %x | ) {length = <20>, reverse = false} : f32[60], f32[600], f32[64, 64], f32[64] {
    ^(%b: f32[60, 60], %c: f32[600, 600], %d: f32[64, 64], %e: f32[64, 64], %y: f32[60], %z: f32[600], %w: f32[64, 64], %x: f32[64]) {
      %1 = dot_general(%b, %y) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[60]
      %2 = dot_general(%c, %z) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[600]
      %3 = dot_general(%d, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[64, 64]
      %4 = dot_general(%e, %x) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[64]
      %5 = negate(%1) : f32[60]
      %6 = negate(%2) : f32[600]
      %7 = negate(%3) : f32[64, 64]
      %8 = negate(%4) : f32[64]
      return %5, %6, %7, %8
    }
  }
  return %1, %2, %3, %4, %5
}

// CHECK-NOT: transpose
