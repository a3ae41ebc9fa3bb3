// What is read at its own place and at others is computed at all of these in one kernel. What is dear is not: it would
// be computed once more for each view of a chain, as often as there are ways through it.
// RUN: %intaglio opt --passes=fuse --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=fuse --fusion %s | FileCheck %s --check-prefix=TOLD
// RUN: %intaglio opt --passes=fuse %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[64, 64], %z: f32[64, 64]) {
  %cheap = multiply(%z, %z) : f32[64, 64]
  %back = reverse(%cheap) {dimensions = [1]} : f32[64, 64]
  %both = add(%back, %cheap) : f32[64, 64]
  %e = exponential(%x) : f32[64, 64]
  %0 = reverse(%e) {dimensions = [0]} : f32[64, 64]
  %a = add(%0, %e) : f32[64, 64]
  %f = exponential(%a) : f32[64, 64]
  %1 = reverse(%f) {dimensions = [0]} : f32[64, 64]
  %y = add(%1, %f) : f32[64, 64]
  return %both, %y
}

// CHECK:      %both = fusion(%z) {kind = "loop"}
// CHECK:        multiply(
// CHECK:        reverse(
// CHECK:      %e = fusion(%x) {kind = "loop"}
// CHECK-NEXT:   ^
// CHECK-NEXT:   {{.*}} = exponential(
// CHECK-NEXT:   return
// CHECK:      %f = fusion(%e) {kind = "loop"}
// CHECK:      %y = fusion(%f) {kind = "loop"}
// TOLD: 4 kernels
// TOLD: exponential %e does not join the loop kernel of exponential %f: 4096 values would be computed 8192 times, which costs more than to write and read 32768 bytes
