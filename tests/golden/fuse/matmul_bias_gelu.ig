// A matrix product takes its bias and gelu along: one kernel.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --quiet --report --inputs random:1 --size b=9 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1 --size b=9
// RUN: %intaglio run %s --compare --inputs random:1 --size b=9

graph @main(%x: f32[b, 32], %w: f32[32, 48], %bias: f32[48]) where b {
  %m = matmul(%x, %w) : f32[b, 48]
  %bs = broadcast_in_dim(%bias) {shape = <b, 48>, broadcast_dimensions = [1]} : f32[b, 48]
  %a = add(%m, %bs) : f32[b, 48]
  %y = gelu(%a) {approximate = "none"} : f32[b, 48]
  return %y
}

// GRAPH:     fusion{{.*}} {kind = "contraction"}
// GRAPH-NOT: fusion(
// REPORT: kernels 1: {{.*}}; 0 fallback
