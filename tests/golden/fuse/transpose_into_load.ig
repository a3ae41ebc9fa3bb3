// A transpose is no kernel of its own: the loop that reads it reads its operand turned over, and so does a fold.
// RUN: %intaglio opt --disable join-kernels %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --disable-passes join-kernels --quiet --report --inputs random:1 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[48, 32], %y: f32[32, 48], %u: f32[4, 5, 6]) {
  %t = transpose(%x) {permutation = [1, 0]} : f32[32, 48]
  %s = add(%t, %y) : f32[32, 48]
  %z = tanh(%s) : f32[32, 48]
  %v = transpose(%u) {permutation = [0, 2, 1]} : f32[4, 6, 5]
  %r = reduce_sum(%v) {axes = [2]} : f32[4, 6]
  return %z, %r
}

// GRAPH:     %z = fusion(%x, %y) {kind = "loop"}
// GRAPH:       transpose
// GRAPH:     %r = fusion(%u) {kind = "row"}
// GRAPH:       transpose
// GRAPH-NOT: fusion(
// REPORT: kernels 2: {{.*}}; 0 fallback
