// A loop over many small problems: its carry and what it reads are turned over once, outside; inside, slices,
// products of small matrices, folds and element-wise work have the batch last. Every bit stays.
// RUN: %intaglio opt --passes=batch-last,dce --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=batch-last,dce --verify %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%m: f32[64, 4, 3], %x: f32[64, 3], %w: f32[3, 3]) {
  %0, %1 = scan(%m, %w | %x | ) {length = <5>, reverse = false} : f32[64, 3], f32[5, 64] {
    ^(%m$1: f32[64, 4, 3], %w$1: f32[3, 3], %x$1: f32[64, 3]) {
      %t = transpose(%m$1) {permutation = [0, 2, 1]} : f32[64, 3, 4]
      %a = dot_general(%t, %m$1) {lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], accumulate = f32} : f32[64, 3, 3]
      %c = slice(%a) {start = <0, 0, 1>, limit = <64, 3, 2>, strides = [1, 1, 1]} : f32[64, 3, 1]
      %r = reshape(%c) {shape = <64, 3>} : f32[64, 3]
      %s = reduce_sum(%r) {axes = [1]} : f32[64]
      %b = broadcast_in_dim(%s) {shape = <64, 3>, broadcast_dimensions = [0]} : f32[64, 3]
      %y = dot_general(%x$1, %w$1) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[64, 3]
      %z = add(%b, %y) : f32[64, 3]
      %u = slice(%z) {start = <0, 2>, limit = <64, 3>, strides = [1, 1]} : f32[64, 1]
      %v = slice(%z) {start = <0, 0>, limit = <64, 2>, strides = [1, 1]} : f32[64, 2]
      %n = concatenate(%u, %v) {axis = 1} : f32[64, 3]
      %k = tanh(%n) : f32[64, 3]
      return %k, %s
    }
  }
  return %0, %1
}

// CHECK:      graph @main(%m: f32[64, 4, 3], %x: f32[64, 3], %w: f32[3, 3]) {
// CHECK-NEXT:   [[M:%[0-9a-z]+]] = transpose(%m) {permutation = [1, 2, 0]} : f32[4, 3, 64]
// CHECK-NEXT:   [[X:%[0-9a-z]+]] = transpose(%x) {permutation = [1, 0]} : f32[3, 64]
// CHECK-NEXT:   scan([[M]], %w | [[X]] | ) {length = <5>, reverse = false} : f32[3, 64], f32[5, 64] {
// CHECK-NEXT:     ^({{.*}}: f32[4, 3, 64], {{.*}}: f32[3, 3], {{.*}}: f32[3, 64]) {
// CHECK:          dot_general
// CHECK-SAME:     {lhs_batching_dimensions = [2], rhs_batching_dimensions = [2], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[64, 3, 3]
// CHECK-NEXT:     transpose
// CHECK-SAME:     {permutation = [1, 2, 0]} : f32[3, 3, 64]
// CHECK-NEXT:     slice
// CHECK-SAME:     : f32[3, 1, 64]
// CHECK:          reduce_sum
// CHECK-SAME:     {axes = [1]} : f32[64]
// CHECK:          dot_general(%w
// CHECK-SAME:     : f32[3, 64]
// CHECK:          concatenate
// CHECK-SAME:     {axis = 0} : f32[3, 64]
