// Loops over the same array, whose results are the graph's own, are one loop that reads it once; so are loops that
// share an array with one of them only.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --quiet --report --inputs random:1 --size n=100 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1 --size n=100
// RUN: %intaglio run %s --compare --inputs random:1 --size n=100

graph @main(%x: f32[n], %y: f32[n]) where n {
  %a = tanh(%x) : f32[n]
  %b = add(%x, %y) : f32[n]
  %c = abs(%y) : f32[n]
  return %a, %b, %c
}

// GRAPH:     %a, %b, %c = fusion(%x, %y) {kind = "loop"}
// GRAPH-NOT: fusion(
// REPORT: kernels 1: {{.*}}; 0 fallback
