// Folds over other axes do not share a kernel: a row is not a column.
// RUN: %intaglio opt --disable join-kernels %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --disable-passes join-kernels --quiet --report --inputs random:1 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[12, 20]) {
  %r = reduce_sum(%x) {axes = [1]} : f32[12]
  %c = reduce_sum(%x) {axes = [0]} : f32[20]
  return %r, %c
}

// GRAPH:     fusion{{.*}} {kind = "row"}
// GRAPH:     fusion{{.*}} {kind = "column"}
// GRAPH-NOT: fusion(
// REPORT: kernels 2: {{.*}}; 0 fallback
