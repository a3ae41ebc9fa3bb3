// A bias and gelu are one loop, the bias spread on the way.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --quiet --report --inputs random:1 --size b=7 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1 --size b=7
// RUN: %intaglio run %s --compare --inputs random:1 --size b=7

graph @main(%x: f32[b, 48], %bias: f32[48]) where b {
  %bs = broadcast_in_dim(%bias) {shape = <b, 48>, broadcast_dimensions = [1]} : f32[b, 48]
  %a = add(%x, %bs) : f32[b, 48]
  %y = gelu(%a) {approximate = "none"} : f32[b, 48]
  return %y
}

// GRAPH:     fusion{{.*}} {kind = "loop"}
// GRAPH-NOT: fusion(
// REPORT: kernels 1: {{.*}}; 0 fallback
