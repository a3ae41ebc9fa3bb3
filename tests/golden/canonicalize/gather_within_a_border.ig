// Gradients of what is added at known places take from a padded array: where no place is on the border, from the array
// within, at the places as they were (%1, %2 along two axes) or others (%3). Not where one is (%4), nor with borders along
// other axes (%5) or between the elements (%6).
// RUN: %intaglio opt --passes=canonicalize,dce --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=canonicalize %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[8, 2], %y: f32[6, 7]) {
  %zero = constant() {value = f32[] {0x0p+0}} : f32[]
  %i = constant() {value = i64[10, 1] {7, 0, 3, 3, 5, 1, 6, 2, 4, 0}} : i64[10, 1]
  %one = constant() {value = i64[1] {1}} : i64[1]
  %ones = broadcast_in_dim(%one) {shape = <10, 1>, broadcast_dimensions = [1]} : i64[10, 1]
  %i1 = add(%i, %ones) : i64[10, 1]
  %p = pad(%x, %zero) {low = <1, 0>, high = <1, 0>, interior = [0, 0]} : f32[10, 2]
  %1 = gather(%p, %i1) {offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1, 2>} : f32[10, 2]
  %j = constant() {value = i64[2, 3] {0, 4, 2, 5, 0, 3}} : i64[2, 3]
  %both = constant() {value = i64[2] {1, 2}} : i64[2]
  %shift = broadcast_in_dim(%both) {shape = <2, 3>, broadcast_dimensions = [0]} : i64[2, 3]
  %j1 = add(%j, %shift) : i64[2, 3]
  %q = pad(%y, %zero) {low = <1, 2>, high = <0, 1>, interior = [0, 0]} : f32[7, 10]
  %2 = gather(%q, %j1) {offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0, 1], index_vector_dim = 0, slice_sizes = <1, 2>} : f32[3, 2]
  %k = constant() {value = i32[10] {1, 8, 4, 7, 2, 6, 3, 5, 1, 8}} : i32[10]
  %3 = gather(%p, %k) {offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1, 2>} : f32[10, 2]
  %l = constant() {value = i64[10] {1, 8, 0, 7, 3, 5, 2, 3, 6, 3}} : i64[10]
  %4 = gather(%p, %l) {offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1, 2>} : f32[10, 2]
  %r = pad(%x, %zero) {low = <1, 1>, high = <1, 0>, interior = [0, 0]} : f32[10, 3]
  %5 = gather(%r, %k) {offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1, 3>} : f32[10, 3]
  %s = pad(%x, %zero) {low = <1, 0>, high = <1, 0>, interior = [1, 0]} : f32[17, 2]
  %6 = gather(%s, %k) {offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1, 2>} : f32[10, 2]
  return %1, %2, %3, %4, %5, %6
}

// CHECK: gather(%x, %i)
// CHECK: gather(%y, %j)
// CHECK: [[K:%[0-9a-z]+]] = constant() {value = i64[10] {0, 7, 3, 6, 1, 5, 2, 4, 0, 7}}
// CHECK: gather(%x, [[K]])
// CHECK: gather(%p, %l)
// CHECK: pad(%x, %zero) {low = <1, 1>
// CHECK: pad(%x, %zero) {low = <1, 0>, high = <1, 0>, interior = [1, 0]}
