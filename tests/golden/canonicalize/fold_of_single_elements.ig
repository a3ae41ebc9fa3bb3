// A fold over axes of one element each is a relabelling, but the sum of -0 is 0; a search there finds place 0.
// RUN: %intaglio opt --passes=canonicalize,dce --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=canonicalize %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1 --size b=3
// RUN: %intaglio run %s --compare --inputs random:1 --size b=2

graph @main(%x: f32[b, 1, 1], %i: i32[b, 1]) where b {
  %max = reduce_max(%x) {axes = [1, 2]} : f32[b]
  %sum = reduce_sum(%x) {axes = [1]} : f32[b, 1]
  %count = reduce_sum(%i) {axes = [1]} : i32[b]
  %place = reduce_argmax(%x) {axes = [2]} : i64[b, 1]
  %kept = reduce_min(%x) {axes = [0, 1]} : f32[1]
  return %max, %sum, %count, %place, %kept
}

// CHECK: %max = reshape(%x) {shape = <b>}
// CHECK: [[X:%[0-9]+]] = reshape(%x) {shape = <b, 1>}
// CHECK: %sum = add([[X]],
// CHECK: %count = reshape(%i)
// CHECK: %kept = reduce_min(%x)
