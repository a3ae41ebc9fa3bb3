// Two matrix products in a row are two kernels; the element-wise work goes with the first.
// RUN: %intaglio opt --disable join-kernels %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --disable-passes join-kernels --quiet --report --inputs random:1 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[8, 16], %w: f32[16, 16], %v: f32[16, 4]) {
  %a = matmul(%x, %w) : f32[8, 16]
  %b = relu(%a) : f32[8, 16]
  %c = matmul(%b, %v) : f32[8, 4]
  return %c
}

// GRAPH:     fusion{{.*}} {kind = "contraction"}
// GRAPH:     fusion{{.*}} {kind = "contraction"}
// GRAPH-NOT: fusion(
// REPORT: kernels 2: {{.*}}; 0 fallback
