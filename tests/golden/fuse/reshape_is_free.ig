// A reshape between two kernels moves no byte: the reader takes it in.
// RUN: %intaglio opt --disable join-kernels %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --disable-passes join-kernels --quiet --report --inputs random:1 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[6, 8]) {
  %a = reduce_sum(%x) {axes = [1]} : f32[6]
  %b = reshape(%a) {shape = <2, 3>} : f32[2, 3]
  %c = reduce_max(%b) {axes = [1]} : f32[2]
  return %c
}

// GRAPH:     fusion{{.*}} {kind = "row"}
// GRAPH:     fusion{{.*}} {kind = "row"}
// GRAPH-NOT: fusion(
// REPORT: kernels 2: {{.*}}; 0 fallback
