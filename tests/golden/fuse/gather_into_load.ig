// Rows of a table are gathered where they are read: by a loop and by the fold of a row.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --quiet --report --inputs iota | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs iota
// RUN: %intaglio run %s --compare --inputs iota

graph @main(%t: f32[50, 8], %i: i64[3, 1], %y: f32[3, 8]) {
  %g = gather(%t, %i) {offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1, 8>} : f32[3, 8]
  %s = add(%g, %y) : f32[3, 8]
  %h = gather(%t, %i) {offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1, 8>} : f32[3, 8]
  %q = square(%h) : f32[3, 8]
  %r = reduce_sum(%q) {axes = [1]} : f32[3]
  return %s, %r
}

// GRAPH:     %s, %r = fusion(%t, %i, %y) {kind = "row"} : f32[3, 8], f32[3] {
// GRAPH:       gather
// GRAPH-NOT: gather
// GRAPH-NOT: fusion(
// REPORT: kernels 1: {{.*}}; 0 fallback
