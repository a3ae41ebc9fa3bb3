// What a later step reads stays in the scan, and so does a product whose stacked operand would be more than four
// times as large as its result.
// RUN: %intaglio opt --passes=hoist-scan --verify %s | FileCheck %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%w: f32[64, 6], %v: f32[64, 2], %h: f32[2, 64], %x: f32[5, 2, 64]) {
  %last, %state, %narrow = scan(%w, %v | %h | %x) {length = <>, reverse = true} : f32[2, 64], f32[5, 2], f32[5, 2, 2] {
    ^(%w: f32[64, 6], %v: f32[64, 2], %h: f32[2, 64], %item: f32[2, 64]) {
      %y = dot_general(%h, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[2, 6]
      %sum = reduce_sum(%y) {axes = [1]} : f32[2]
      %wide = broadcast_in_dim(%sum) {shape = <2, 64>, broadcast_dimensions = [0]} : f32[2, 64]
      %c = add(%wide, %item) : f32[2, 64]
      %next = tanh(%c) : f32[2, 64]
      %sine = sine(%next) : f32[2, 64]
      %z = dot_general(%sine, %v) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[2, 2]
      return %next, %sum, %z
    }
  }
  return %last, %state, %narrow
}

// CHECK:     scan(
// CHECK:       dot_general(
// CHECK:       dot_general(
// CHECK:       return
// CHECK-NOT: dot_general(
