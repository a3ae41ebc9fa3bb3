// Sums of products of a step's one term each, as large as the first cache or larger, are added up behind the scan;
// what is added to them is stacked. Sums of several terms that stay in the second cache are not.
// RUN: %intaglio opt --passes=hoist-scan,dce --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=hoist-scan %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%s: f32[70, 61], %t: f32[70, 61], %u: f32[61, 70], %h: f32[1, 70], %x: f32[5, 1, 61], %y: f32[5, 2, 70], %z: f32[5, 2, 61]) {
  %last, %a, %b, %c = scan( | %h, %s, %t, %u | %x, %y, %z) {length = <>, reverse = true} : f32[1, 70], f32[70, 61], f32[70, 61], f32[61, 70] {
    ^(%h: f32[1, 70], %s: f32[70, 61], %t: f32[70, 61], %u: f32[61, 70], %x: f32[1, 61], %y: f32[2, 70], %z: f32[2, 61]) {
      %next = tanh(%h) : f32[1, 70]
      %p = dot_general(%next, %x) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], accumulate = f32} : f32[70, 61]
      %s1 = add(%s, %p) : f32[70, 61]
      %q = dot_general(%y, %z) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], accumulate = f32} : f32[70, 61]
      %t1 = add(%q, %t) : f32[70, 61]
      %r = dot_general(%next, %x) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], accumulate = f32} : f32[70, 61]
      %turned = transpose(%r) {permutation = [1, 0]} : f32[61, 70]
      %u1 = add(%u, %turned) : f32[61, 70]
      return %next, %s1, %t1, %u1
    }
  }
  return %last, %a, %b, %c
}

// CHECK:     scan(
// CHECK-SAME: : f32[1, 70], f32[70, 61], f32[5, 1, 70] {
// CHECK:       tanh
// CHECK-NOT:   dot_general(%next
// CHECK:       return
// CHECK:     add_products(%s, {{.*}} {reverse = true} : f32[70, 61]
// CHECK:     add_products(%u, {{.*}} {reverse = true} : f32[61, 70]
