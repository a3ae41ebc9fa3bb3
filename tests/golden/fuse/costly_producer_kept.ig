// exp is not computed again for each place that its broadcast is read from a product: it has its own kernel.
// RUN: %intaglio opt --disable join-kernels %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --disable-passes join-kernels --quiet --report --inputs random:1 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[8, 16], %w: f32[16, 16]) {
  %e = exponential(%x) : f32[8, 16]
  %y = matmul(%e, %w) : f32[8, 16]
  return %y
}

// GRAPH:     fusion{{.*}} {kind = "loop"}
// GRAPH:     fusion{{.*}} {kind = "contraction"}
// GRAPH-NOT: fusion(
// REPORT: kernels 2: {{.*}}; 0 fallback
