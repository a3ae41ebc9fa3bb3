// softmax is one kernel: both folds and what stands around them, a row at a time.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --quiet --report --inputs random:1 --size b=5 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1 --size b=5
// RUN: %intaglio run %s --compare --inputs random:1 --size b=5

graph @main(%x: f32[b, 64]) where b {
  %y = softmax(%x) {axis = 1} : f32[b, 64]
  return %y
}

// GRAPH:     fusion{{.*}} {kind = "row"}
// GRAPH-NOT: fusion(
// REPORT: kernels 1: {{.*}}; 0 fallback
