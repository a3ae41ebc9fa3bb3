// A loss of many classes, computed chunk by chunk for its memory's sake, stays in the scan: one product would hold the
// classes of all chunks at once.
// RUN: %intaglio opt --passes=hoist-scan --verify %s | FileCheck %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%w: f32[2, 600], %sum: f32[], %x: f32[40, 8, 2]) {
  %total, %all = scan(%w | %sum | %x) {length = <>, reverse = false} : f32[], f32[40, 8] {
    ^(%w: f32[2, 600], %sum: f32[], %item: f32[8, 2]) {
      %y = dot_general(%item, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[8, 600]
      %top = reduce_max(%y) {axes = [1]} : f32[8]
      %one = reduce_max(%top) {axes = [0]} : f32[]
      %next = add(%sum, %one) : f32[]
      return %next, %top
    }
  }
  return %total, %all
}

// CHECK:     scan(
// CHECK:       dot_general(
// CHECK:       return
// CHECK-NOT: dot_general(
