// A product that is read in parts takes along what brings the parts together: one kernel, the product is not
// written. The weights' parts may be turned over, and work on the whole product goes along too.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --quiet --report --inputs random:1 --size b=9 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1 --size b=9
// RUN: %intaglio run %s --compare --inputs random:1 --size b=9
// RUN: %intaglio run %s --compare --inputs random:2 --size b=1
// RUN: %intaglio run %s --compare --inputs random:3 --size b=0

graph @main(%x: f32[b, 32], %w: f32[66, 32], %bias: f32[66]) where b {
  %t = transpose(%w) {permutation = [1, 0]} : f32[32, 66]
  %m = matmul(%x, %t) : f32[b, 66]
  %bs = broadcast_in_dim(%bias) {shape = <b, 66>, broadcast_dimensions = [1]} : f32[b, 66]
  %a = add(%m, %bs) : f32[b, 66]
  %left = slice(%a) {start = <0, 0>, limit = <b, 33>, strides = [1, 1]} : f32[b, 33]
  %right = slice(%a) {start = <0, 33>, limit = <b, 66>, strides = [1, 1]} : f32[b, 33]
  %gate = logistic(%right) : f32[b, 33]
  %y = multiply(%left, %gate) : f32[b, 33]
  return %y
}

// GRAPH:     fusion{{.*}} {kind = "contraction"}
// GRAPH-NOT: fusion(
// REPORT: kernels 1: {{.*}}; 0 fallback
