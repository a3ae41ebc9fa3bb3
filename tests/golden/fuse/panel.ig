// Folds over axes in the middle, and what is made of them there, are one kernel: softmax over channels, a norm over
// the first axis, with sizes that fill no vector and no turn, and results for columns beside.
// RUN: %intaglio opt --disable join-kernels %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --disable-passes join-kernels --quiet --report --inputs random:1 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[3, 7, 5, 9], %y: f64[13, 37], %z: f16[2, 6, 100]) {
  %s = softmax(%x) {axis = 1} : f32[3, 7, 5, 9]

  %sum = reduce_sum(%y) {axes = [0]} : f64[37]
  %n = constant() {value = f64[] {0x1.ap+3}} : f64[]
  %wide = broadcast_in_dim(%n) {shape = <37>, broadcast_dimensions = []} : f64[37]
  %mean = divide(%sum, %wide) : f64[37]
  %mean$1 = broadcast_in_dim(%mean) {shape = <13, 37>, broadcast_dimensions = [1]} : f64[13, 37]
  %off = subtract(%y, %mean$1) : f64[13, 37]
  %square = multiply(%off, %off) : f64[13, 37]
  %variance = reduce_sum(%square) {axes = [0]} : f64[37]

  %top = reduce_max(%z) {axes = [1]} : f16[2, 100]
  %top$1 = broadcast_in_dim(%top) {shape = <2, 6, 100>, broadcast_dimensions = [0, 2]} : f16[2, 6, 100]
  %below = subtract(%z, %top$1) : f16[2, 6, 100]
  return %s, %off, %variance, %below, %top
}

// GRAPH-COUNT-3: kind = "panel"
// GRAPH-NOT: fusion(
// REPORT: kernels 3: {{.*}}; 0 fallback
