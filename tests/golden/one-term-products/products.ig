// Products whose sums have one term are multiplications: of matrices (%a), batches of them (%b), what has no axis to sum over (%c), whole numbers (%d), and of a size that is not known (%e). Of floats a zero in a factor gives +0, as a sum from +0 on does.
// RUN: %intaglio opt --passes=one-term-products --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=one-term-products %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1 --size N=4
// RUN: %intaglio run %s --compare --inputs random:1 --size N=4

graph @main(%x: f32[5, 1], %y: f32[1, 7], %p: f32[1, 5, 3], %q: f32[3, 7, 1], %u: f16[5], %v: f16[7], %i: i32[5, 1], %j: i32[1, 7], %n: f32[N, 1]) where N {
  %a = dot_general(%x, %y) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[5, 7]
  %b = dot_general(%p, %q) {lhs_batching_dimensions = [2], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [2], accumulate = f32} : f32[3, 5, 7]
  %c = dot_general(%u, %v) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [], rhs_contracting_dimensions = [], accumulate = f32} : f16[5, 7]
  %d = dot_general(%i, %j) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : i32[5, 7]
  %e = dot_general(%n, %y) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[N, 7]
  return %a, %b, %c, %d, %e
}

// CHECK:      graph @main(%x: f32[5, 1], %y: f32[1, 7], %p: f32[1, 5, 3], %q: f32[3, 7, 1], %u: f16[5], %v: f16[7], %i: i32[5, 1], %j: i32[1, 7], %n: f32[N, 1]) where N {
// CHECK-NEXT:   %0 = reshape(%x) {shape = <5>} : f32[5]
// CHECK-NEXT:   %1 = broadcast_in_dim(%0) {shape = <5, 7>, broadcast_dimensions = [0]} : f32[5, 7]
// CHECK-NEXT:   %2 = transpose(%y) {permutation = [1, 0]} : f32[7, 1]
// CHECK-NEXT:   %3 = reshape(%2) {shape = <7>} : f32[7]
// CHECK-NEXT:   %4 = broadcast_in_dim(%3) {shape = <5, 7>, broadcast_dimensions = [1]} : f32[5, 7]
// CHECK-NEXT:   %a = product_term(%1, %4) : f32[5, 7]
// CHECK-NEXT:   %5 = transpose(%p) {permutation = [2, 1, 0]} : f32[3, 5, 1]
// CHECK-NEXT:   %6 = reshape(%5) {shape = <3, 5>} : f32[3, 5]
// CHECK-NEXT:   %7 = broadcast_in_dim(%6) {shape = <3, 5, 7>, broadcast_dimensions = [0, 1]} : f32[3, 5, 7]
// CHECK-NEXT:   %8 = reshape(%q) {shape = <3, 7>} : f32[3, 7]
// CHECK-NEXT:   %9 = broadcast_in_dim(%8) {shape = <3, 5, 7>, broadcast_dimensions = [0, 2]} : f32[3, 5, 7]
// CHECK-NEXT:   %b = product_term(%7, %9) : f32[3, 5, 7]
// CHECK-NEXT:   %10 = broadcast_in_dim(%u) {shape = <5, 7>, broadcast_dimensions = [0]} : f16[5, 7]
// CHECK-NEXT:   %11 = broadcast_in_dim(%v) {shape = <5, 7>, broadcast_dimensions = [1]} : f16[5, 7]
// CHECK-NEXT:   %c = product_term(%10, %11) : f16[5, 7]
// CHECK-NEXT:   %12 = reshape(%i) {shape = <5>} : i32[5]
// CHECK-NEXT:   %13 = broadcast_in_dim(%12) {shape = <5, 7>, broadcast_dimensions = [0]} : i32[5, 7]
// CHECK-NEXT:   %14 = transpose(%j) {permutation = [1, 0]} : i32[7, 1]
// CHECK-NEXT:   %15 = reshape(%14) {shape = <7>} : i32[7]
// CHECK-NEXT:   %16 = broadcast_in_dim(%15) {shape = <5, 7>, broadcast_dimensions = [1]} : i32[5, 7]
// CHECK-NEXT:   %d = multiply(%13, %16) : i32[5, 7]
// CHECK-NEXT:   %17 = reshape(%n) {shape = <N>} : f32[N]
// CHECK-NEXT:   %18 = broadcast_in_dim(%17) {shape = <N, 7>, broadcast_dimensions = [0]} : f32[N, 7]
// CHECK-NEXT:   %19 = transpose(%y) {permutation = [1, 0]} : f32[7, 1]
// CHECK-NEXT:   %20 = reshape(%19) {shape = <7>} : f32[7]
// CHECK-NEXT:   %21 = broadcast_in_dim(%20) {shape = <N, 7>, broadcast_dimensions = [1]} : f32[N, 7]
// CHECK-NEXT:   %e = product_term(%18, %21) : f32[N, 7]
// CHECK-NEXT:   return %a, %b, %c, %d, %e
// CHECK-NEXT: }
