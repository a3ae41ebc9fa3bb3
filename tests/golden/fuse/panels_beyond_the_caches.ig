// What a column's fold is used for in an array that no cache holds with its result goes as a kernel of its own, where
// nothing dear would be computed twice; a softmax stays one kernel.
// RUN: %intaglio opt --passes=fuse --verify %s | FileCheck %s
// RUN: %intaglio run %s --compare --atol 1e-4 --inputs random:1

graph @main(%x: f32[64, 65536], %y: f32[64, 65536]) {
  %s = reduce_sum(%x) {axes = [0]} : f32[65536]
  %all = broadcast_in_dim(%s) {shape = <64, 65536>, broadcast_dimensions = [1]} : f32[64, 65536]
  %less = subtract(%x, %all) : f32[64, 65536]
  %e = exponential(%y) : f32[64, 65536]
  %t = reduce_sum(%e) {axes = [0]} : f32[65536]
  %total = broadcast_in_dim(%t) {shape = <64, 65536>, broadcast_dimensions = [1]} : f32[64, 65536]
  %share = divide(%e, %total) : f32[64, 65536]
  return %less, %share
}

// CHECK-DAG: fusion(%x) {kind = "column"}
// CHECK-DAG: fusion(%s, %x) {kind = "loop"}
// CHECK-DAG: fusion(%y) {kind = "panel"}
