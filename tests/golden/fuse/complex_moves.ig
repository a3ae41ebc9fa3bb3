// Kernels move complex numbers as pairs; nothing runs by its definition.
// RUN: %intaglio opt --disable join-kernels %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --disable-passes join-kernels --quiet --report --inputs random:1 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: c64[6], %y: c64[6]) {
  %t = reshape(%x) {shape = <2, 3>} : c64[2, 3]
  %u = transpose(%t) {permutation = [1, 0]} : c64[3, 2]
  %z = concatenate(%x, %y) {axis = 0} : c64[12]
  return %u, %z
}

// GRAPH: %u = fusion(%x) {kind = "loop"} : c64[3, 2]
// GRAPH: %z = fusion(%x, %y) {kind = "loop"} : c64[12]
// REPORT: kernels {{ *}}2: {{.*}}; 0 fallback
