// What names the places of an update, and what is put there, is computed by the kernel that changes the array: messages
// along edges, a number that is spread. A function that is dear is computed in lanes before; so is what is made of the
// array that is changed, which would be read there when it is changed in part.
// RUN: %intaglio opt --passes=fuse --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=fuse --fusion %s | FileCheck %s --check-prefix=TOLD
// RUN: %intaglio opt --passes=fuse %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[20, 8], %s: i64[300, 1], %t: i64[300], %w: f32[300], %z: f32[20]) {
  %taken = gather(%x, %s) {offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1, 8>} : f32[300, 8]
  %ws = broadcast_in_dim(%w) {shape = <300, 8>, broadcast_dimensions = [0]} : f32[300, 8]
  %messages = multiply(%taken, %ws) : f32[300, 8]
  %c0 = constant() {value = i64[] {0}} : i64[]
  %c20 = constant() {value = i64[] {20}} : i64[]
  %zeros = broadcast_in_dim(%c0) {shape = <300>, broadcast_dimensions = []} : i64[300]
  %sizes = broadcast_in_dim(%c20) {shape = <300>, broadcast_dimensions = []} : i64[300]
  %negative = less(%t, %zeros) : bool[300]
  %later = add(%t, %sizes) : i64[300]
  %wrapped = select(%negative, %later, %t) : i64[300]
  %good = less(%wrapped, %sizes) : bool[300]
  %places = reshape(%wrapped) {shape = <300, 1>} : i64[300, 1]
  %c1 = constant() {value = f32[] {1.0}} : f32[]
  %none = broadcast_in_dim(%c1) {shape = <20, 8>, broadcast_dimensions = []} : f32[20, 8]
  %sums = scatter(%none, %places, %messages) {update_window_dims = [1], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, update = "add"} : f32[20, 8]
  %ones = broadcast_in_dim(%c1) {shape = <300>, broadcast_dimensions = []} : f32[300]
  %counts = scatter(%z, %places, %ones) {update_window_dims = [], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, update = "add"} : f32[20]
  %dear = exponential(%w) : f32[300]
  %powers = scatter(%z, %places, %dear) {update_window_dims = [], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, update = "add"} : f32[20]
  %own = gather(%z, %places) {offset_dims = [], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1>} : f32[300]
  %moved = add(%own, %w) : f32[300]
  %itself = scatter(%z, %places, %moved) {update_window_dims = [], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, update = "add"} : f32[20]
  return %sums, %counts, %powers, %itself, %good
}

// CHECK:      %wrapped, %good = fusion(%t) {kind = "loop"}
// CHECK:      %places = fusion(%wrapped) {kind = "relabel"}
// CHECK:      %sums = fusion(%x, %s, %w, %none, %places) {kind = "nest"}
// CHECK:      %counts = fusion(%z, %places) {kind = "nest"}
// CHECK:      %dear = fusion(%w) {kind = "loop"}
// CHECK:      %powers = fusion(%z, %places, %dear) {kind = "nest"}
// CHECK:      %moved = fusion(%z, %places, %w) {kind = "loop"}
// CHECK:      %itself = fusion(%z, %places, %moved) {kind = "nest"}
// TOLD:       nest: gather %taken, broadcast_in_dim %ws, multiply %messages, scatter %sums
// TOLD:       exponential %dear does not join the nest kernel of scatter %powers: the nest takes single elements, and functions are computed in lanes
// TOLD:       add %moved does not join the nest kernel of scatter %itself: what it reads is changed by then
