// A loss of many classes stays in the scan, though the state that it is computed of is stacked anyway: behind it the
// classes of all steps would be there at once.
// RUN: %intaglio opt --passes=hoist-scan --verify %s | FileCheck %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%w: f32[6, 90], %h: f32[2, 6], %x: f32[5, 2, 6]) {
  %last, %all, %loss = scan(%w | %h | %x) {length = <>, reverse = false} : f32[2, 6], f32[5, 2, 6], f32[5, 2] {
    ^(%w: f32[6, 90], %h: f32[2, 6], %item: f32[2, 6]) {
      %c = add(%h, %item) : f32[2, 6]
      %next = tanh(%c) : f32[2, 6]
      %y = dot_general(%next, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[2, 90]
      %top = reduce_max(%y) {axes = [1]} : f32[2]
      return %next, %next, %top
    }
  }
  return %last, %all, %loss
}

// CHECK:     scan(
// CHECK:       dot_general(
// CHECK:       return
// CHECK-NOT: dot_general(
