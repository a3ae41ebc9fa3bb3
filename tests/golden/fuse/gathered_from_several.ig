// What is gathered in any order is written first where it is made of several large arrays (%y), each of which would be
// read here and there, with a border round it (%q) or without; not of one (%z), of small ones (%v), nor where few elements are taken (%w).
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
  %o = subtract(%a, %b) : f32[150000]
  %zero = constant() {value = f32[] {0x0p+0}} : f32[]
  %p = pad(%o, %zero) {low = <1>, high = <1>, interior = [0]} : f32[150002]
  %q = gather(%p, %i) {offset_dims = [], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1>} : f32[150000]
  %m = multiply(%b, %c) : f32[150000]
  %w = gather(%m, %j) {offset_dims = [], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1>} : f32[500]
  return %y, %z, %v, %w, %q
}

// CHECK-NOT:  fusion
// CHECK:      %x = fusion(%a, %b) {kind = "loop"}
// CHECK:      %y = fusion(%x, %i) {kind = "loop"}
// CHECK:      %z, %v = fusion(%a, %i, %s, %t) {kind = "loop"}
// CHECK:      %o = fusion(%a, %b) {kind = "loop"}
// CHECK:      %q = fusion(%o, %i) {kind = "loop"}
// CHECK:      %w = fusion(%b, %c, %j) {kind = "loop"}
// CHECK-NOT:  fusion

// TOLD: add %x does not join the loop kernel of gather %y: gathered from several arrays, its values cost more than to write and read them
