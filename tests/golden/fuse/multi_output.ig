// One loop writes several results; what both need is computed once.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --quiet --report --inputs random:1 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[64], %y: f32[64]) {
  %s = add(%x, %y) : f32[64]
  %a = tanh(%s) : f32[64]
  %b = square(%s) : f32[64]
  return %a, %b, %s
}

// GRAPH:     fusion{{.*}} {kind = "loop"}
// GRAPH-NOT: fusion(
// REPORT: kernels 1: {{.*}}; 0 fallback
