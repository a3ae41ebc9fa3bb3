// Attributes of every kind, in declared order.
// RUN: %intaglio show %s | FileCheck --match-full-lines %s
// RUN: %intaglio show %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --binary %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[4, 6]) {
  %a = transpose(%x) {permutation = [1, 0]} : f32[6, 4]
  %b = iota() {shape = <2, 3>, axis = 1, dtype = f32} : f32[2, 3]
  %c = gelu(%a) {approximate = "tanh"} : f32[6, 4]
  %d = layer_norm(%x) {normalized_rank = 1, eps = 0x1p-20} : f32[4, 6]
  %e = sort(%x) {axis = 1, descending = true, is_stable = true} : f32[4, 6]
  return %b, %c, %d, %e
}

// CHECK:      graph @main(%x: f32[4, 6]) {
// CHECK-NEXT:   %a = transpose(%x) {permutation = [1, 0]} : f32[6, 4]
// CHECK-NEXT:   %b = iota() {shape = <2, 3>, axis = 1, dtype = f32} : f32[2, 3]
// CHECK-NEXT:   %c = gelu(%a) {approximate = "tanh"} : f32[6, 4]
// CHECK-NEXT:   %d = layer_norm(%x) {normalized_rank = 1, eps = 0x1p-20} : f32[4, 6]
// CHECK-NEXT:   %e = sort(%x) {axis = 1, descending = true, is_stable = true} : f32[4, 6]
// CHECK-NEXT:   return %b, %c, %d, %e
// CHECK-NEXT: }
