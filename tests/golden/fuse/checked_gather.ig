// Places that count from the end are made positive where single elements are taken, in place of being written for
// it; and whether they are all within the array is found out in the same kernel.
// RUN: %intaglio opt --passes=fuse --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fuse %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[100], %i: i64[5000]) {
  %zero = constant() {value = i64[] {0}} : i64[]
  %none = broadcast_in_dim(%zero) {shape = <5000>, broadcast_dimensions = []} : i64[5000]
  %size = constant() {value = i64[] {100}} : i64[]
  %all = broadcast_in_dim(%size) {shape = <5000>, broadcast_dimensions = []} : i64[5000]
  %negative = less(%i, %none) : bool[5000]
  %moved = add(%i, %all) : i64[5000]
  %place = select(%negative, %moved, %i) : i64[5000]
  %within = less(%place, %all) : bool[5000]
  %vectors = reshape(%place) {shape = <5000, 1>} : i64[5000, 1]
  %y = gather(%x, %vectors) {offset_dims = [], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1>} : f32[5000]
  return %within, %y
}

// CHECK:      graph @main(%x: f32[100], %i: i64[5000]) {
// CHECK-NEXT:   %within, %y = fusion(%i, %x) {kind = "loop"} : bool[5000], f32[5000] {
// CHECK-NEXT:     ^(%i$1: i64[5000], %x$1: f32[100]) {
// CHECK-NEXT:       %zero = constant() {value = i64[] {0}} : i64[]
// CHECK-NEXT:       %none = broadcast_in_dim(%zero) {shape = <5000>, broadcast_dimensions = []} : i64[5000]
// CHECK-NEXT:       %negative = less(%i$1, %none) : bool[5000]
// CHECK-NEXT:       %size = constant() {value = i64[] {100}} : i64[]
// CHECK-NEXT:       %all = broadcast_in_dim(%size) {shape = <5000>, broadcast_dimensions = []} : i64[5000]
// CHECK-NEXT:       %moved = add(%i$1, %all) : i64[5000]
// CHECK-NEXT:       %place = select(%negative, %moved, %i$1) : i64[5000]
// CHECK-NEXT:       %within$1 = less(%place, %all) : bool[5000]
// CHECK-NEXT:       %moved$1 = add(%i$1, %all) : i64[5000]
// CHECK-NEXT:       %negative$1 = less(%i$1, %none) : bool[5000]
// CHECK-NEXT:       %place$1 = select(%negative$1, %moved$1, %i$1) : i64[5000]
// CHECK-NEXT:       %vectors = reshape(%place$1) {shape = <5000, 1>} : i64[5000, 1]
// CHECK-NEXT:       %y$1 = gather(%x$1, %vectors) {offset_dims = [], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1, slice_sizes = <1>} : f32[5000]
// CHECK-NEXT:       return %within$1, %y$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %within, %y
// CHECK-NEXT: }
