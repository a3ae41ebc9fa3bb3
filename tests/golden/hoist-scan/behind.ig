// A product that no later step reads, and what is computed of it, is made behind the scan for all steps: its
// operand is stacked, once, where a result is that already.
// RUN: %intaglio opt --passes=hoist-scan,dce --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=hoist-scan %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%w: f32[6, 9], %r: f32[6, 6], %b: f32[9], %h: f32[2, 6], %x: f32[5, 2, 6]) {
  %last, %all, %out, %half = scan(%w, %r, %b | %h | %x) {length = <>, reverse = false} : f32[2, 6], f32[5, 2, 6], f32[5, 2, 9], f32[5, 2, 9] {
    ^(%w: f32[6, 9], %r: f32[6, 6], %b: f32[9], %h: f32[2, 6], %item: f32[2, 6]) {
      %a = dot_general(%h, %r) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[2, 6]
      %c = add(%a, %item) : f32[2, 6]
      %next = tanh(%c) : f32[2, 6]
      %y = dot_general(%next, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[2, 9]
      %bias = broadcast_in_dim(%b) {shape = <2, 9>, broadcast_dimensions = [1]} : f32[2, 9]
      %z = add(%y, %bias) : f32[2, 9]
      %s = tanh(%y) : f32[2, 9]
      return %next, %next, %z, %s
    }
  }
  return %last, %all, %out, %half
}

// CHECK:     scan(
// CHECK-SAME: : f32[2, 6], f32[5, 2, 6] {
// CHECK:       dot_general(%h
// CHECK-NOT:   dot_general
// CHECK:       return
// CHECK:     dot_general({{.*}} : f32[5, 2, 9]
// CHECK:     add({{.*}} : f32[5, 2, 9]
// CHECK:     tanh({{.*}} : f32[5, 2, 9]
// CHECK-NOT: scan(
