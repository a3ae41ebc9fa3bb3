// Of a transposed array a few rows are taken: to turn over all of it would cost more.
// RUN: %intaglio opt --passes=fuse,raise-views,write-turned --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fuse,raise-views,write-turned %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[300, 200], %i: i64[2, 1]) {
  %t = transpose(%x) {permutation = [1, 0]} : f32[200, 300]
  %y = gather(%t, %i) {offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1, 300>} : f32[2, 300]
  return %y
}

// CHECK:      graph @main(%x: f32[300, 200], %i: i64[2, 1]) {
// CHECK-NEXT:   %y = fusion(%x, %i) {kind = "loop"} : f32[2, 300] {
// CHECK-NEXT:     ^(%x$1: f32[300, 200], %i$1: i64[2, 1]) {
// CHECK-NEXT:       %t = transpose(%x$1) {permutation = [1, 0]} : f32[200, 300]
// CHECK-NEXT:       %y$1 = gather(%t, %i$1) {offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1, 300>} : f32[2, 300]
// CHECK-NEXT:       return %y$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
