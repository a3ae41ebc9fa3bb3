// The transpose of a factor is read in place: no kernel of its own.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --quiet --report --inputs random:1 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[6, 32], %w: f32[48, 32]) {
  %t = transpose(%w) {permutation = [1, 0]} : f32[32, 48]
  %y = matmul(%x, %t) : f32[6, 48]
  return %y
}

// GRAPH:     fusion{{.*}} {kind = "contraction"}
// GRAPH-NOT: fusion(
// REPORT: kernels 1: {{.*}}; 0 fallback
