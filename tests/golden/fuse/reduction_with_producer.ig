// What a sum reads is computed inside its loop, over trailing axes and over leading ones.
// RUN: %intaglio opt --disable join-kernels %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --disable-passes join-kernels --quiet --report --inputs random:1 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[17, 33]) {
  %a = tanh(%x) : f32[17, 33]
  %b = abs(%a) : f32[17, 33]
  %row = reduce_sum(%b) {axes = [1]} : f32[17]
  %c = square(%x) : f32[17, 33]
  %column = reduce_sum(%c) {axes = [0]} : f32[33]
  return %row, %column
}

// GRAPH:     fusion{{.*}} {kind = "row"}
// GRAPH:     fusion{{.*}} {kind = "column"}
// GRAPH-NOT: fusion(
// REPORT: kernels 2: {{.*}}; 0 fallback
