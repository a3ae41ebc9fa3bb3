// The matrix of a solver is turned over once, in front of its loops, for the products in all of their steps: of a scan, and
// of a while whose number of steps nobody knows; the product that reads it along its columns reads it as it is.
// RUN: %intaglio opt --passes=turn-matrices --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=turn-matrices %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%a: f32[80, 60], %b: f32[60, 80], %x: f32[60]) {
  %n = constant() {value = i32[] {0}} : i32[]
  %y = scan(%a, %b | %x | ) {length = <9>, reverse = false} : f32[60] {
    ^(%a: f32[80, 60], %b: f32[60, 80], %x: f32[60]) {
      %y = dot_general(%a, %x) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[80]
      %z = dot_general(%y, %a) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], accumulate = f32} : f32[60]
      %next = negate(%z) : f32[60]
      return %next
    }
  }
  %last, %w = while(%b | %n, %y) : i32[], f32[60] {
    ^(%b: f32[60, 80], %n: i32[], %x: f32[60]) {
      %three = constant() {value = i32[] {3}} : i32[]
      %more = less(%n, %three) : bool[]
      return %more
    }
    ^(%b: f32[60, 80], %n: i32[], %x: f32[60]) {
      %one = constant() {value = i32[] {1}} : i32[]
      %y = dot_general(%x, %b) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], accumulate = f32} : f32[80]
      %z = dot_general(%y, %b) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [1], accumulate = f32} : f32[60]
      %w = negate(%z) : f32[60]
      %next = add(%n, %one) : i32[]
      return %next, %w
    }
  }
  return %w
}

// CHECK:      [[B:%.+]] = transpose(%b) {permutation = [1, 0]} : f32[80, 60]
// CHECK:      [[A:%.+]] = transpose(%a) {permutation = [1, 0]} : f32[60, 80]
// CHECK:      scan(%a, %b, [[A]] | %x | )
// CHECK-NEXT:   ^([[A0:%.+]]: f32[80, 60], {{%.+}}: f32[60, 80], [[A1:%.+]]: f32[60, 80], [[X:%.+]]: f32[60])
// CHECK-NEXT:     [[Y:%.+]] = dot_general([[A1]], [[X]]) {{{.*}}lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]
// CHECK-NEXT:     dot_general([[Y]], [[A0]]) {{{.*}}lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]
// CHECK:      while(%b, [[B]] |
// CHECK:        ^([[B0:%.+]]: f32[60, 80], [[B1:%.+]]: f32[80, 60], {{%.+}}: i32[], [[X:%.+]]: f32[60])
// CHECK:        ^([[B0:%.+]]: f32[60, 80], [[B1:%.+]]: f32[80, 60], {{%.+}}: i32[], [[X:%.+]]: f32[60])
// CHECK:          [[Y:%.+]] = dot_general([[X]], [[B0]]) {{{.*}}rhs_contracting_dimensions = [0]
// CHECK-NEXT:     dot_general([[Y]], [[B1]]) {{{.*}}lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]
