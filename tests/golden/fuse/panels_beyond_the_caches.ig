// What a column's fold is used for in an array that no cache holds with its result goes as a kernel of its own, where
// nothing dear would be computed twice; a softmax stays one kernel.
// RUN: %intaglio opt --passes=fuse --verify %s | FileCheck %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[512, 8192], %y: f32[512, 8192]) {
  %s = reduce_sum(%x) {axes = [0]} : f32[8192]
  %all = broadcast_in_dim(%s) {shape = <512, 8192>, broadcast_dimensions = [1]} : f32[512, 8192]
  %less = subtract(%x, %all) : f32[512, 8192]
  %e = exponential(%y) : f32[512, 8192]
  %t = reduce_sum(%e) {axes = [0]} : f32[8192]
  %total = broadcast_in_dim(%t) {shape = <512, 8192>, broadcast_dimensions = [1]} : f32[512, 8192]
  %share = divide(%e, %total) : f32[512, 8192]
  return %less, %share
}

// CHECK-DAG: fusion(%x) {kind = "column"}
// CHECK-DAG: fusion(%s, %x) {kind = "loop"}
// CHECK-DAG: fusion(%y) {kind = "panel"}
