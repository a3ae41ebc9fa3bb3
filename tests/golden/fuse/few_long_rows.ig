// A few rows so long that no cache holds them are not walked again in one kernel: their folds go by pieces,
// which threads share, and so does what is done with the results. Rows of which each thread has some, and
// rows that a cache holds, stay one kernel.
// RUN: %intaglio opt %s | FileCheck %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[2, 262144], %y: f32[2, 1000]) {
  %s = reduce_sum(%x) {axes = [1]} : f32[2]
  %b = broadcast_in_dim(%s) {shape = <2, 262144>, broadcast_dimensions = [0]} : f32[2, 262144]
  %d = subtract(%x, %b) : f32[2, 262144]
  %t = reduce_sum(%y) {axes = [1]} : f32[2]
  %e = broadcast_in_dim(%t) {shape = <2, 1000>, broadcast_dimensions = [0]} : f32[2, 1000]
  %f = subtract(%y, %e) : f32[2, 1000]
  return %d, %f
}

// CHECK-DAG: fusion(%x) {kind = "column"}
// CHECK-DAG: fusion(%s, %x) {kind = "loop"}
// CHECK-DAG: fusion(%y) {kind = "row"}
