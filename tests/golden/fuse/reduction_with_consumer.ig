// What reads a sum is computed in its kernel, over trailing axes and over leading ones.
// RUN: %intaglio opt --disable join-kernels %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --disable-passes join-kernels --quiet --report --inputs random:1 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[16, 40], %y: f32[16], %w: f32[40]) {
  %s = reduce_sum(%x) {axes = [1]} : f32[16]
  %e = tanh(%s) : f32[16]
  %a = add(%e, %y) : f32[16]
  %c = reduce_sum(%x) {axes = [0]} : f32[40]
  %f = tanh(%c) : f32[40]
  %b = add(%f, %w) : f32[40]
  return %a, %b
}

// GRAPH:     %a = fusion({{.*}} {kind = "row"}
// GRAPH:     %b = fusion({{.*}} {kind = "column"}
// GRAPH-NOT: fusion(
// REPORT: kernels 2: {{.*}}; 0 fallback
