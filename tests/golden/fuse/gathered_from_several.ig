// What is gathered in any order is written first where it is made of several large arrays (%y), each of which would be
// read here and there; not of one (%z), of small ones (%v), nor where few elements are taken (%w).
// RUN: %intaglio opt --passes=fuse --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=fuse --fusion %s | FileCheck %s --check-prefix=TOLD
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%a: f32[150000], %b: f32[150000], %c: f32[150000], %s: f32[900], %t: f32[900], %i: i64[150000, 1], %j: i64[500, 1]) {
  %x = add(%a, %b) : f32[150000]
  %y = gather(%x, %i) {offset_dims = [], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1>} : f32[150000]
  %n = negate(%a) : f32[150000]
  %z = gather(%n, %i) {offset_dims = [], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1>} : f32[150000]
  %u = multiply(%s, %t) : f32[900]
  %v = gather(%u, %i) {offset_dims = [], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1>} : f32[150000]
  %m = multiply(%b, %c) : f32[150000]
  %w = gather(%m, %j) {offset_dims = [], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1>} : f32[500]
  return %y, %z, %v, %w
}

// CHECK-NOT:  fusion
// CHECK:      %x = fusion(%a, %b) {kind = "loop"}
// CHECK:      gather(
// CHECK-COUNT-3: gather(
// CHECK-NOT:  fusion

// TOLD: add %x does not join the loop kernel of gather %y: gathered from several arrays, its values cost more than to write and read them
