// A matrix made in the program, read in a loop within a loop: it is turned over where it is made.
// RUN: %intaglio opt --passes=turn-matrices --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=turn-matrices %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%a: f64[64, 64], %x: f64[64]) {
  %m = negate(%a) : f64[64, 64]
  %y = scan(%m | %x | ) {length = <3>, reverse = false} : f64[64] {
    ^(%m: f64[64, 64], %x: f64[64]) {
      %y = scan(%m | %x | ) {length = <4>, reverse = false} : f64[64] {
        ^(%m: f64[64, 64], %x: f64[64]) {
          %y = dot_general(%m, %x) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f64[64]
          %next = negate(%y) : f64[64]
          return %next
        }
      }
      return %y
    }
  }
  return %y
}

// CHECK:      [[M:%.+]] = negate(%a)
// CHECK-NEXT: [[T:%.+]] = transpose([[M]]) {permutation = [1, 0]} : f64[64, 64]
// CHECK-NEXT: scan([[M]], [[T]] | %x | )
// CHECK-NEXT:   ^([[M1:%.+]]: f64[64, 64], [[T1:%.+]]: f64[64, 64],
// CHECK-NEXT:     scan([[M1]], [[T1]] |
// CHECK-NEXT:       ^({{%.+}}: f64[64, 64], [[T2:%.+]]: f64[64, 64],
// CHECK-NEXT:         dot_general([[T2]], {{%.+}}) {{{.*}}lhs_contracting_dimensions = [0]
