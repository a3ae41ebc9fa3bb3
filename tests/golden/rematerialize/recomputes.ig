// Of one product two values are read late: the product is kept, and they are computed again, behind what is
// computed late.
// RUN: %intaglio opt --passes=rematerialize --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=rematerialize --print-changes -o /dev/null %s 2>&1 | FileCheck --check-prefix=SAID %s
// RUN: %intaglio opt --passes=rematerialize %s | %intaglio run - --reference --compare-with %s --tolerance exact --inputs random:1

graph @main(%x: f32[4096, 64], %w: f32[64, 64]) {
  %a = dot_general(%x, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[4096, 64]
  %s = sine(%a) : f32[4096, 64]
  %c = cosine(%a) : f32[4096, 64]
  %e = tanh(%a) : f32[4096, 64]
  %b = dot_general(%e, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[4096, 64]
  %d = dot_general(%b, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[4096, 64]
  %f = multiply(%d, %s) : f32[4096, 64]
  %g = dot_general(%f, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[4096, 64]
  %h = multiply(%g, %c) : f32[4096, 64]
  return %h
}

// SAID:      rematerialize: 1 change, 9 to 11 nodes
// SAID-NEXT:   computes 2 nodes again: keeps 3145728 bytes to 2097152, peak 4194304 to 3145728
// CHECK:        %a = dot_general(%x, %w)
// CHECK-NEXT:   %e = tanh(%a) : f32[4096, 64]
// CHECK-NEXT:   %b = dot_general(%e, %w)
// CHECK-NEXT:   %d = dot_general(%b, %w)
// CHECK-NEXT:   %0 = after(%a, %d) : f32[4096, 64]
// CHECK-NEXT:   %s = sine(%0) : f32[4096, 64]
// CHECK-NEXT:   %f = multiply(%d, %s) : f32[4096, 64]
// CHECK-NEXT:   %g = dot_general(%f, %w)
// CHECK-NEXT:   %1 = after(%a, %g) : f32[4096, 64]
// CHECK-NEXT:   %c = cosine(%1) : f32[4096, 64]
// CHECK-NEXT:   %h = multiply(%g, %c) : f32[4096, 64]
// CHECK-NEXT:   return %h
