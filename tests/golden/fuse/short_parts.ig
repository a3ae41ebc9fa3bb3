// A row of 40 that two arrays make up is folded by groups of 32 lanes, each of which would ask of each element where it
// comes from: it is written first. Long rows are cut where they pass from part to part, and so are rows that pass from
// group to group there; rows of up to 16 are folded side by side, one element of all at a time.
// RUN: %intaglio opt --passes=fuse --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=fuse --fusion %s | FileCheck %s --check-prefix=TOLD
// RUN: %intaglio opt --passes=fuse %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1 --atol 1e-4

graph @main(%a: f32[64, 10], %b: f32[64, 30], %c: f32[64, 300], %d: f32[64, 64], %e: f32[64, 6], %p: f32[64, 9, 3], %q: f32[3]) {
  %ab = concatenate(%a, %b) {axis = 1} : f32[64, 40]
  %short = reduce_sum(%ab) {axes = [1]} : f32[64]
  %bc = concatenate(%b, %c) {axis = 1} : f32[64, 330]
  %long = reduce_sum(%bc) {axes = [1]} : f32[64]
  %dd = concatenate(%d, %d) {axis = 1} : f32[64, 128]
  %even = reduce_sum(%dd) {axes = [1]} : f32[64]
  %ae = concatenate(%a, %e) {axis = 1} : f32[64, 16]
  %beside = reduce_sum(%ae) {axes = [1]} : f32[64]
  %spread = broadcast_in_dim(%q) {shape = <64, 9, 3>, broadcast_dimensions = [2]} : f32[64, 9, 3]
  %moved = add(%p, %spread) : f32[64, 9, 3]
  %all = reduce_sum(%moved) {axes = [0, 1, 2]} : f32[]
  return %short, %long, %even, %beside, %all
}

// CHECK:      %ab = fusion(%a, %b) {kind = "loop"}
// CHECK:      %short = fusion(%ab) {kind = "row"}
// CHECK:      %long = fusion(%b, %c) {kind = "row"}
// CHECK:      %even = fusion(%d) {kind = "row"}
// CHECK:      %beside = fusion(%a, %e) {kind = "row"}
// CHECK:      %moved = fusion({{.*}}) {kind = "loop"}
// CHECK:      %all = fusion(%moved)
// TOLD: reduce_sum %short does not join the loop kernel of concatenate %ab: rows are too short to be read in whole groups of lanes
// TOLD: reduce_sum %all does not join the loop kernel of add %moved: rows are too short
