// A weight that most calls leave as it is: turning it over is left to the products of each step, which read it in a form
// of their own; both where the program turned it outside of the loop (%r) and inside (%u). One that is not steady (%v) is
// turned once a call.
// RUN: %intaglio opt --passes=hoist-scan,dce --steady=0,1 --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=hoist-scan --steady=0,1 %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio opt --passes=hoist-scan,dce %s | FileCheck --check-prefix=EVERY %s

graph @main(%r: f32[5, 6], %u: f32[6, 6], %v: f32[6, 6], %h: f32[2, 6], %g: f32[2, 5], %x: f32[4, 2, 5]) {
  %turned = transpose(%r) {permutation = [1, 0]} : f32[6, 5]
  %last, %y = scan(%turned, %u, %v | %h, %g | %x) {length = <>, reverse = false} : f32[2, 6], f32[2, 5] {
    ^(%rt: f32[6, 5], %u: f32[6, 6], %v: f32[6, 6], %h: f32[2, 6], %g: f32[2, 5], %item: f32[2, 5]) {
      %ut = transpose(%u) {permutation = [1, 0]} : f32[6, 6]
      %vt = transpose(%v) {permutation = [1, 0]} : f32[6, 6]
      %a = dot_general(%h, %ut) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[2, 6]
      %b = dot_general(%a, %vt) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[2, 6]
      %next = tanh(%b) : f32[2, 6]
      %c = dot_general(%next, %rt) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[2, 5]
      %d = add(%c, %item) : f32[2, 5]
      return %next, %d
    }
  }
  return %last, %y
}

// CHECK-NOT: transpose(%r)
// CHECK-NOT: transpose(%u)
// CHECK:     transpose(%v)
// CHECK:     scan(%r, %u,
// CHECK:       transpose(%r$1)
// CHECK:       transpose(%u$1)
// CHECK-NOT:   transpose
// CHECK:       return

// EVERY:     transpose(%r)
// EVERY:     transpose(%u)
// EVERY:     transpose(%v)
// EVERY:     scan(
// EVERY-NOT: transpose
