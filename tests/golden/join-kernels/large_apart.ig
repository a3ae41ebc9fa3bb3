// Beside a kernel that takes long the way to it is short: it keeps its threads, and ends the line.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[8], %y: f32[400, 300]) {
  %a = reduce_sum(%x) {axes = [0]} : f32[]
  %b = broadcast_in_dim(%a) {shape = <400, 300>, broadcast_dimensions = []} : f32[400, 300]
  %c = multiply(%y, %b) : f32[400, 300]
  %d = tanh(%c) : f32[400, 300]
  %e = reduce_max(%x) {axes = [0]} : f32[]
  return %d, %e
}

// GRAPH-NOT: "program"
// GRAPH: return
// GRAPH-NOT: "program"
