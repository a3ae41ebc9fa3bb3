// The product of a slice with a weight is one product over all steps; the weight is turned over once.
// RUN: %intaglio opt --passes=hoist-scan,dce --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=hoist-scan %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%w: f32[6, 4], %r: f32[6, 6], %h: f32[2, 6], %x: f32[5, 2, 4]) {
  %last, %all = scan(%w, %r | %h | %x) {length = <>, reverse = false} : f32[2, 6], f32[5, 2, 6] {
    ^(%w: f32[6, 4], %r: f32[6, 6], %h: f32[2, 6], %item: f32[2, 4]) {
      %wt = transpose(%w) {permutation = [1, 0]} : f32[4, 6]
      %rt = transpose(%r) {permutation = [1, 0]} : f32[6, 6]
      %a = dot_general(%item, %wt) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[2, 6]
      %b = dot_general(%h, %rt) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[2, 6]
      %c = add(%a, %b) : f32[2, 6]
      %next = tanh(%c) : f32[2, 6]
      return %next, %next
    }
  }
  return %last, %all
}

// CHECK-DAG: transpose(%w)
// CHECK-DAG: transpose(%r)
// CHECK:     dot_general(%x
// CHECK-SAME: : f32[5, 2, 6]
// CHECK:     scan(
// CHECK:       dot_general(%h
// CHECK-NOT:   dot_general
