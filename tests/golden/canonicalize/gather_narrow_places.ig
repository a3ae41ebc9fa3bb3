// Known places are numbers of 32 bits, with those outside moved to the ends as a gather has them (%a; pairs of places,
// %b). Few places stay as they are (%c).
// RUN: %intaglio opt --passes=canonicalize,dce --verify %s | FileCheck %s
// RUN: %intaglio run %s --compare --inputs random:1 --tolerance exact
// RUN: %intaglio opt --passes=canonicalize,dce %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1

graph @main(%x: f32[80, 3], %y: f32[11, 8]) {
  %i = constant() {value = i64[64] {2, 39, 76, 23, 60, 7, 44, -9223372036854775808, 28, 1099511627776, 12, 49, 86, 33, 70, 17, 54, 1, 38, 75, 22, 59, 6, 43, 80, 27, 64, 11, 48, 85, 32, 69, 16, 53, 0, 37, 74, 21, 58, 5, 42, 79, 26, 63, 10, 47, 84, 31, 68, 15, 52, -1, 36, 73, 20, 57, 4, 41, 78, 25, 62, 9, 46, 83}} : i64[64]
  %a = gather(%x, %i) {offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1, 3>} : f32[64, 3]
  %j = constant() {value = i64[40, 2] {0, -1, 7, 4, 3, 0, 10, 5, 6, 1, 2, 6, 9, 2, 5, 7, 1, 3, 8, -1, 4, 4, 0, 0, 7, 5, 3, 1, 10, 6, 6, 2, 2, 7, 9, 3, 5, -1, 1, 4, 8, 0, 4, 5, 0, 1, 7, 6, 3, 2, 10, 7, 6, 3, 2, -1, 9, 4, 5, 0, 1, 5, 8, 1, 4, 6, 0, 2, 7, 7, 3, 3, 10, -1, 6, 4, 2, 0, 9, 5}} : i64[40, 2]
  %b = gather(%y, %j) {offset_dims = [], collapsed_slice_dims = [0, 1], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0, 1], index_vector_dim = 1, slice_sizes = <1, 1>} : f32[40]
  %k = constant() {value = i64[10] {3, 9, 1, 7, 0, 10, 4, 4, 8, 2}} : i64[10]
  %c = gather(%y, %k) {offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1, 8>} : f32[10, 8]
  return %a, %b, %c
}

// CHECK-DAG: [[A:%[0-9]+]] = constant() {{.*}} : i32[64]
// CHECK-DAG: %a = gather(%x, [[A]]) {{.*}} : f32[64, 3]
// CHECK-DAG: [[B:%[0-9]+]] = constant() {{.*}} : i32[40, 2]
// CHECK-DAG: %b = gather(%y, [[B]]) {{.*}} : f32[40]
// CHECK-DAG: [[C:%[a-z0-9]+]] = constant() {{.*}} : i64[10]
// CHECK-DAG: %c = gather(%y, [[C]]) {{.*}} : f32[10, 8]
