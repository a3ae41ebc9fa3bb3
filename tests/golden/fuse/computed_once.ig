// What costs more to compute again than to read is written once: a sum of four arrays that two kernels read, and a
// function that is no single instruction.
// RUN: %intaglio opt --verify %s | FileCheck %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%a: f32[64, 256], %b: f32[64, 256], %c: f32[64, 256], %e: f32[64, 256]) {
  %ab = add(%a, %b) : f32[64, 256]
  %ce = multiply(%c, %e) : f32[64, 256]
  %four = add(%ab, %ce) : f32[64, 256]
  %rows = reduce_sum(%four) {axes = [1]} : f32[64]
  %columns = reduce_sum(%four) {axes = [0]} : f32[256]
  %t = tanh(%a) : f32[64, 256]
  %trows = reduce_sum(%t) {axes = [1]} : f32[64]
  %tcolumns = reduce_sum(%t) {axes = [0]} : f32[256]
  return %rows, %columns, %trows, %tcolumns
}

// CHECK:     %four, %rows = fusion(%a, %b, %c, %e) {kind = "row"}
// CHECK:     %columns = fusion(%four) {kind = "column"}
// CHECK:     %t, %trows = fusion(%a) {kind = "row"}
// CHECK:     %tcolumns = fusion(%t) {kind = "column"}
// CHECK-NOT: fusion(
