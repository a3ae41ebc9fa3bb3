// Loops over the same array stay apart where one result would wait in memory for its reader (%b for the product), and
// where what stands between them needs the first and is needed by the second.
// RUN: %intaglio opt --disable join-kernels %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --disable-passes join-kernels --quiet --report --inputs random:1 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[16, 16], %w: f32[16, 16]) {
  %a = tanh(%x) : f32[16, 16]
  %b = abs(%x) : f32[16, 16]
  %p = matmul(%b, %w) : f32[16, 16]
  %s = sort(%a) {axis = 1, descending = false, is_stable = true} : f32[16, 16]
  %c = add(%s, %x) : f32[16, 16]
  return %a, %p, %c
}

// GRAPH:     %a = fusion(%x) {kind = "loop"}
// GRAPH:     %b = fusion(%x) {kind = "loop"}
// GRAPH:     fusion({{.*}} {kind = "contraction"}
// GRAPH:     fusion({{.*}} {kind = "nest"}
// GRAPH:     %c = fusion({{.*}} {kind = "loop"}
// GRAPH-NOT: fusion(
// REPORT: kernels 5: {{.*}}; 0 fallback
