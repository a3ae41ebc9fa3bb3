// A batch norm: the differences from the means, their squares and the scaled ones are read by several kernels, each of
// which computes what it reads from the image itself; no array but the last is written. Of the sums of a gradient, which
// read one array, two are one kernel.
// RUN: %intaglio opt --verify %s | FileCheck %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[4, 8, 12, 12], %ct: f32[4, 8, 12, 12]) {
  %n = constant() {value = f32[8] {0x1.2p+9, 0x1.2p+9, 0x1.2p+9, 0x1.2p+9, 0x1.2p+9, 0x1.2p+9, 0x1.2p+9, 0x1.2p+9}} : f32[8]
  %sum = reduce_sum(%x) {axes = [0, 2, 3]} : f32[8]
  %mean = divide(%sum, %n) : f32[8]
  %wide = broadcast_in_dim(%mean) {shape = <4, 8, 12, 12>, broadcast_dimensions = [1]} : f32[4, 8, 12, 12]
  %d = subtract(%x, %wide) : f32[4, 8, 12, 12]
  %squares = multiply(%d, %d) : f32[4, 8, 12, 12]
  %spread = reduce_sum(%squares) {axes = [0, 2, 3]} : f32[8]
  %root = sqrt(%spread) : f32[8]
  %factor = broadcast_in_dim(%root) {shape = <4, 8, 12, 12>, broadcast_dimensions = [1]} : f32[4, 8, 12, 12]
  %y = multiply(%d, %factor) : f32[4, 8, 12, 12]
  %scaled = multiply(%ct, %factor) : f32[4, 8, 12, 12]
  %along = multiply(%d, %scaled) : f32[4, 8, 12, 12]
  %first = reduce_sum(%scaled) {axes = [0, 2, 3]} : f32[8]
  %second = reduce_sum(%along) {axes = [0, 2, 3]} : f32[8]
  %less = broadcast_in_dim(%second) {shape = <4, 8, 12, 12>, broadcast_dimensions = [1]} : f32[4, 8, 12, 12]
  %dx = subtract(%scaled, %less) : f32[4, 8, 12, 12]
  return %y, %first, %dx
}

// CHECK:     %mean = fusion(%x, %n) {kind = "column"} : f32[8]
// CHECK:     %root = fusion(%mean, %x) {kind = "column"} : f32[8]
// CHECK:     %y = fusion(%root, %mean, %x) {kind = "loop"} : f32[4, 8, 12, 12]
// CHECK:     %first, %second = fusion(%root, %ct, %mean, %x) {kind = "column"} : f32[8], f32[8]
// CHECK:     %dx = fusion(%second, %root, %ct) {kind = "loop"} : f32[4, 8, 12, 12]
// CHECK-NOT: fusion(
