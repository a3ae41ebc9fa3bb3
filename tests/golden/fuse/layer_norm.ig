// Layer norm with weight and bias is one kernel.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --quiet --report --inputs random:1 --size b=3 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1 --size b=3
// RUN: %intaglio run %s --compare --inputs random:1 --size b=3

graph @main(%x: f32[b, 96], %w: f32[96], %bias: f32[96]) where b {
  %y = layer_norm(%x, %w, %bias) {normalized_rank = 1, eps = 0x1.4f8b588e368f1p-17} : f32[b, 96]
  return %y
}

// GRAPH:     fusion{{.*}} {kind = "row"}
// GRAPH-NOT: fusion(
// REPORT: kernels 1: {{.*}}; 0 fallback
