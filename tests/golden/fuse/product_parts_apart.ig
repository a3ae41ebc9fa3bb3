// Parts that are moved about, or are not all of one width, are read from the product as it is written.
// RUN: %intaglio opt --disable join-kernels %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[6, 32], %v: f32[32, 12], %w: f32[32, 10]) {
  %m = matmul(%x, %v) : f32[6, 12]
  %left = slice(%m) {start = <0, 0>, limit = <6, 6>, strides = [1, 1]} : f32[6, 6]
  %right = slice(%m) {start = <0, 6>, limit = <6, 12>, strides = [1, 1]} : f32[6, 6]
  %turned = transpose(%right) {permutation = [1, 0]} : f32[6, 6]
  %y = multiply(%left, %turned) : f32[6, 6]
  %n = matmul(%x, %w) : f32[6, 10]
  %four = slice(%n) {start = <0, 0>, limit = <6, 4>, strides = [1, 1]} : f32[6, 4]
  %six = slice(%n) {start = <0, 4>, limit = <6, 10>, strides = [1, 1]} : f32[6, 6]
  %u = exponential(%four) : f32[6, 4]
  %z = sine(%six) : f32[6, 6]
  return %y, %u, %z
}

// GRAPH-DAG: fusion(%x, %v) {kind = "contraction"}
// GRAPH-DAG: fusion(%x, %w) {kind = "contraction"}

// GRAPH-DAG: fusion(%m) {kind = "loop"}
// GRAPH-DAG: %u = fusion(%n) {kind = "loop"}
// GRAPH-DAG: %z = fusion(%n) {kind = "loop"}
