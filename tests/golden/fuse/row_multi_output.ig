// A row kernel writes its folds and its elements.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --quiet --report --inputs random:1 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[5, 40]) {
  %m = reduce_max(%x) {axes = [1]} : f32[5]
  %ms = broadcast_in_dim(%m) {shape = <5, 40>, broadcast_dimensions = [0]} : f32[5, 40]
  %d = subtract(%x, %ms) : f32[5, 40]
  %e = exponential(%d) : f32[5, 40]
  %s = reduce_sum(%e) {axes = [1]} : f32[5]
  return %m, %e, %s
}

// GRAPH:     fusion{{.*}} {kind = "row"}
// GRAPH-NOT: fusion(
// REPORT: kernels 1: {{.*}}; 0 fallback
