// Small kernels that follow each other are one kernel; a number that passes between them is no array.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --quiet --report --inputs random:1 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[8, 8], %w: f32[8, 4]) {
  %y = dot_general(%x, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[8, 4]
  %all = reduce_sum(%y) {axes = [0, 1]} : f32[]
  %spread = broadcast_in_dim(%all) {shape = <8, 4>, broadcast_dimensions = []} : f32[8, 4]
  %z = subtract(%y, %spread) : f32[8, 4]
  %columns = reduce_max(%z) {axes = [0]} : f32[4]
  return %z, %columns
}

// GRAPH:     fusion(%x, %w) {kind = "program"}
// GRAPH:       fusion{{.*}} {kind = "contraction"}
// GRAPH:       fusion{{.*}} {kind = "row"}
// GRAPH:       fusion{{.*}} {kind = "column"}
// GRAPH-NOT: fusion
// GRAPH: return
// REPORT: kernels 1: {{.*}}; 0 fallback
