// One mask for all heads, added to the scores of two layers, and a row's sum that another kernel spreads
// over the array: each kernel reads the few numbers, and none writes them spread out. What the graph gives
// is written all the same.
// RUN: %intaglio opt %s | FileCheck %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%q: f32[2, 8, 16], %k: f32[2, 16, 8], %w: f32[2, 8, 8], %m: f32[2, 8]) {
  %mask = broadcast_in_dim(%m) {shape = <2, 8, 8>, broadcast_dimensions = [0, 2]} : f32[2, 8, 8]
  %scores = matmul(%q, %k) : f32[2, 8, 8]
  %first = add(%scores, %mask) : f32[2, 8, 8]
  %again = matmul(%first, %w) : f32[2, 8, 8]
  %second = add(%again, %mask) : f32[2, 8, 8]
  %sum = reduce_sum(%second) {axes = [2]} : f32[2, 8]
  %wide = broadcast_in_dim(%sum) {shape = <2, 8, 8>, broadcast_dimensions = [0, 1]} : f32[2, 8, 8]
  %share = divide(%second, %wide) : f32[2, 8, 8]
  %third = matmul(%share, %w) : f32[2, 8, 8]
  %end = multiply(%third, %wide) : f32[2, 8, 8]
  return %end, %mask
}

// CHECK: fusion(%m$1) {kind = "loop"}
// CHECK: %first = fusion(%q$1, %k$1, %m$1) {kind = "contraction"}
// CHECK: fusion(%first, %w$1, %m$1) {kind = "contraction"}
// CHECK: %sum, %share = fusion(%second) {kind = "row"} : f32[2, 8], f32[2, 8, 8]
// CHECK: fusion(%share, %w$1, %sum) {kind = "contraction"}
