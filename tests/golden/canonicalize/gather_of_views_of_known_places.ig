// Places that are a view of known ones are not those in their order: reversed (%r), a part (%s), repeated (%b), turned over
// (%t). Only another shape (%n) changes nothing.
// RUN: %intaglio opt --passes=canonicalize,dce --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=canonicalize %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[10, 2], %y: f32[10, 6]) {
  %i = constant() {value = i64[5, 1] {1, 2, 3, 4, 5}} : i64[5, 1]
  %r = reverse(%i) {dimensions = [0]} : i64[5, 1]
  %1 = gather(%x, %r) {offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1, 2>} : f32[5, 2]
  %s = slice(%i) {start = <2, 0>, limit = <4, 1>, strides = [1, 1]} : i64[2, 1]
  %2 = gather(%x, %s) {offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1, 2>} : f32[2, 2]
  %o = constant() {value = i64[1] {7}} : i64[1]
  %b = broadcast_in_dim(%o) {shape = <3, 1>, broadcast_dimensions = [1]} : i64[3, 1]
  %3 = gather(%x, %b) {offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1, 2>} : f32[3, 2]
  %m = constant() {value = i64[2, 3] {0, 1, 2, 3, 4, 5}} : i64[2, 3]
  %t0 = transpose(%m) {permutation = [1, 0]} : i64[3, 2]
  %t = reshape(%t0) {shape = <6>} : i64[6]
  %4 = gather(%x, %t) {offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1, 2>} : f32[6, 2]
  %n = reshape(%m) {shape = <6>} : i64[6]
  %5 = gather(%x, %n) {offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1, 2>} : f32[6, 2]
  %z = constant() {value = i64[3] {4, 5, 6}} : i64[3]
  %zr = reverse(%z) {dimensions = [0]} : i64[3]
  %z0 = slice(%zr) {start = <0>, limit = <1>, strides = [1]} : i64[1]
  %z1 = reshape(%z0) {shape = <>} : i64[]
  %u = slice(%y) {start = <0, 0>, limit = <1, 6>, strides = [1, 1]} : f32[1, 6]
  %c = constant() {value = i64[] {0}} : i64[]
  %6 = dynamic_update_slice(%y, %u, %z1, %c) : f32[10, 6]
  return %1, %2, %3, %4, %5, %6
}

// CHECK: gather(%x, %r)
// CHECK: gather(%x, %s)
// CHECK: gather(%x, %b)
// CHECK: gather(%x, %t)
// CHECK: slice(%x) {start = <0, 0>, limit = <6, 2>, strides = [1, 1]}
