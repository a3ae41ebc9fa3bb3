// Other shapes of a value that is computed inside go along; those that are read outside stand behind the kernel.
// RUN: %intaglio opt --verify %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[4, 6]) {
  %a = reduce_sum(%x) {axes = [0]} : f32[6]
  %b = reshape(%a) {shape = <2, 3>} : f32[2, 3]
  %c = reduce_max(%b) {axes = [0]} : f32[3]
  %d = transpose(%b) {permutation = [1, 0]} : f32[3, 2]
  %e = sort(%d) {axis = 0, descending = false, is_stable = true} : f32[3, 2]
  return %b, %c, %e
}

// GRAPH:     fusion(%x) {kind = "program"}
// GRAPH:       {kind = "relabel"}
// GRAPH:       {kind = "nest"}
// GRAPH:       {kind = "relabel"}
// GRAPH:     return
