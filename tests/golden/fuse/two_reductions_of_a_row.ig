// Folds of the same rows are one kernel, which reads each row once, though neither needs what the other gives.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --quiet --report --inputs random:1 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[32, 100]) {
  %s = reduce_sum(%x) {axes = [1]} : f32[32]
  %q = square(%x) : f32[32, 100]
  %t = reduce_sum(%q) {axes = [1]} : f32[32]
  %m = reduce_max(%x) {axes = [1]} : f32[32]
  return %s, %t, %m
}

// GRAPH:     %s, %t, %m = fusion(%x) {kind = "row"}
// GRAPH-NOT: fusion(
// REPORT: kernels 1: {{.*}}; 0 fallback
