// Of a product nothing is computed that nobody reads: the last position's logits, with what is computed of them (%l), and
// of a second product behind a normed first one (%q). Not where all of it is read elsewhere (%r), where most of it is read
// (%m), where no product is spared (%e), nor where two take other parts of it (%g).
// RUN: %intaglio opt --passes=raise-slices --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=raise-slices %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1 --atol 1e-4

graph @main(%h: f32[2, 8, 16], %w: f32[16, 32], %b: f32[32], %v: f32[32, 4], %x: f32[8, 16]) {
  %p = dot_general(%h, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0], accumulate = f32} : f32[2, 8, 32]
  %bb = broadcast_in_dim(%b) {shape = <2, 8, 32>, broadcast_dimensions = [2]} : f32[2, 8, 32]
  %l0 = add(%p, %bb) : f32[2, 8, 32]
  %l = slice(%l0) {start = <0, 7, 0>, limit = <2, 8, 32>, strides = [1, 1, 1]} : f32[2, 1, 32]
  %a = dot_general(%x, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[8, 32]
  %s = reduce_sum(%a) {axes = [1]} : f32[8]
  %sb = broadcast_in_dim(%s) {shape = <8, 32>, broadcast_dimensions = [0]} : f32[8, 32]
  %n = divide(%a, %sb) : f32[8, 32]
  %q0 = dot_general(%n, %v) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[8, 4]
  %qt = transpose(%q0) {permutation = [1, 0]} : f32[4, 8]
  %q = slice(%qt) {start = <0, 1>, limit = <4, 8>, strides = [1, 3]} : f32[4, 3]
  %r0 = dot_general(%x, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[8, 32]
  %r1 = slice(%r0) {start = <0, 0>, limit = <1, 32>, strides = [1, 1]} : f32[1, 32]
  %r = negate(%r0) : f32[8, 32]
  %m0 = dot_general(%x, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[8, 32]
  %m = slice(%m0) {start = <0, 0>, limit = <7, 32>, strides = [1, 1]} : f32[7, 32]
  %e0 = exponential(%x) : f32[8, 16]
  %e = slice(%e0) {start = <7, 0>, limit = <8, 16>, strides = [1, 1]} : f32[1, 16]
  %g0 = dot_general(%x, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[8, 32]
  %g1 = slice(%g0) {start = <0, 0>, limit = <8, 8>, strides = [1, 1]} : f32[8, 8]
  %g2 = slice(%g0) {start = <0, 8>, limit = <8, 16>, strides = [1, 1]} : f32[8, 8]
  %g = multiply(%g1, %g2) : f32[8, 8]
  return %l, %q, %r, %r1, %m, %e, %g
}

// CHECK:      [[H:%[0-9]+]] = slice(%h) {start = <0, 7, 0>, limit = <2, 8, 16>, strides = [1, 1, 1]}
// CHECK-NEXT: %p = dot_general([[H]], %w) {{.*}} : f32[2, 1, 32]
// CHECK:      %l0 = add(%p, {{.*}}) : f32[2, 1, 32]
// CHECK:      [[X:%[0-9]+]] = slice(%x) {start = <1, 0>, limit = <8, 16>, strides = [3, 1]}
// CHECK-NEXT: %a = dot_general([[X]], %w) {{.*}} : f32[3, 32]
// CHECK-NEXT: %s = reduce_sum(%a) {axes = [1]} : f32[3]
// CHECK-NEXT: %sb = broadcast_in_dim(%s) {shape = <3, 32>, broadcast_dimensions = [0]}
// CHECK-NEXT: %n = divide(%a, %sb) : f32[3, 32]
// CHECK-NEXT: %q0 = dot_general(%n, %v) {{.*}} : f32[3, 4]
// CHECK-NEXT: %qt = transpose(%q0) {permutation = [1, 0]} : f32[4, 3]
// CHECK-NEXT: %r0 = dot_general(%x, %w) {{.*}} : f32[8, 32]
// CHECK:      %m0 = dot_general(%x, %w) {{.*}} : f32[8, 32]
// CHECK:      %e0 = exponential(%x) : f32[8, 16]
// CHECK:      %g0 = dot_general(%x, %w) {{.*}} : f32[8, 32]
// CHECK:      return %l0, %qt, %r, %r1, %m, %e, %g
