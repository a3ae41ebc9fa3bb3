// Nodes with several results, and a graph whose results repeat, or are inputs.
// RUN: %intaglio show %s | FileCheck --match-full-lines %s
// RUN: %intaglio show %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --binary %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[8]) {
  %v, %i = top_k(%x) {k = 3} : f32[3], i64[3]
  return %v, %i, %v, %x
}

// CHECK:      graph @main(%x: f32[8]) {
// CHECK-NEXT:   %v, %i = top_k(%x) {k = 3} : f32[3], i64[3]
// CHECK-NEXT:   return %v, %i, %v, %x
// CHECK-NEXT: }
