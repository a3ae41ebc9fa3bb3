// What stands several times in the graph is compiled once, and stays a kernel of its own; the rest joins.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio opt --fusion %s | FileCheck --check-prefix=WHY %s
// RUN: %intaglio run %s --quiet --report --inputs random:1 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[4, 8], %w: f32[8, 8]) {
  %a = matmul(%x, %w) : f32[4, 8]
  %b = reduce_sum(%a) {axes = [0]} : f32[8]
  %c = broadcast_in_dim(%b) {shape = <4, 8>, broadcast_dimensions = [1]} : f32[4, 8]
  %d = subtract(%a, %c) : f32[4, 8]
  %e = matmul(%d, %w) : f32[4, 8]
  return %e
}

// GRAPH:     fusion(%x, %w) {kind = "contraction"}
// GRAPH:     {kind = "program"}
// GRAPH:       fusion{{.*}} {kind = "column"}
// GRAPH:       fusion{{.*}} {kind = "loop"}
// GRAPH:     {kind = "contraction"}
// WHY:      dot_general %a does not join the program kernel of reduce_sum %b: it stands 2 times in the graph, and is compiled once
// WHY:      dot_general %e does not join the program kernel of subtract %d: it stands 2 times in the graph, and is compiled once
// REPORT: kernels 3: {{.*}}; 0 fallback
