// A gather of whole slices at known places along one axis is made of slices: of runs of neighbours, upwards or
// downwards, or of every so many. Places beyond the ends are held within them, as by the gather.
// RUN: %intaglio opt --passes=canonicalize,dce --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=canonicalize %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1 --size b=3
// RUN: %intaglio run %s --compare --inputs random:1 --size b=2

graph @main(%x: f32[b, 3], %y: f32[9, 2, b]) where b {
  %turned = constant() {value = i64[3, 1] {2, 1, 0}} : i64[3, 1]
  %bgr = gather(%x, %turned) {offset_dims = [0], collapsed_slice_dims = [1], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [1], index_vector_dim = 1, slice_sizes = <b, 1>} : f32[b, 3]
  %moved = constant() {value = i32[4] {2, 0, 1, 7}} : i32[4]
  %brg = gather(%x, %moved) {offset_dims = [0], collapsed_slice_dims = [1], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [1], index_vector_dim = 1, slice_sizes = <b, 1>} : f32[b, 4]
  %steps = constant() {value = i64[4] {1, 3, 5, 7}} : i64[4]
  %every = gather(%y, %steps) {offset_dims = [0, 2], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1, 2, b>} : f32[2, 4, b]
  %same = constant() {value = i64[2] {4, 4}} : i64[2]
  %twice = gather(%y, %same) {offset_dims = [1, 2], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1, 2, b>} : f32[2, 2, b]
  %many = constant() {value = i64[10] {0, 2, 4, 6, 8, 7, 5, 3, 1, 1}} : i64[10]
  %kept = gather(%y, %many) {offset_dims = [1, 2], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1, 2, b>} : f32[10, 2, b]
  %own = constant() {value = i64[9, 1] {0, 1, 1, 0, 1, 0, 0, 0, 1}} : i64[9, 1]
  %paired = gather(%y, %own) {offset_dims = [1], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1, slice_sizes = <1, 1, b>} : f32[9, b]
  return %bgr, %brg, %every, %twice, %kept, %paired
}

// CHECK: %bgr = reverse(%x) {dimensions = [1]}
// CHECK: [[LAST:%[0-9]+]] = slice(%x) {start = <0, 2>, limit = <b, 3>, strides = [1, 1]}
// CHECK: %brg = concatenate([[LAST]], %x) {axis = 1}
// CHECK: [[ODD:%[0-9]+]] = slice(%y) {start = <1, 0, 0>, limit = <8, 2, b>, strides = [2, 1, 1]}
// CHECK: %every = transpose([[ODD]]) {permutation = [1, 0, 2]}
// CHECK: %twice = concatenate({{.*}}) {axis = 0}
// CHECK: %kept = gather(
// CHECK: %paired = gather(
