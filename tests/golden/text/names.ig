// Names are kept where they are unique; values without one are numbered in order. Names may hold dots, $ and digits behind a letter.
// RUN: %intaglio show %s | FileCheck --match-full-lines %s
// RUN: %intaglio show %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --binary %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[2], %0: f32[2], %7: f32[2]) {
  %a.weight = add(%x, %0) : f32[2]
  %a$1 = add(%a.weight, %7) : f32[2]
  %12 = negate(%a$1) : f32[2]
  %_b = abs(%12) : f32[2]
  return %_b
}

// CHECK:      graph @main(%x: f32[2], %0: f32[2], %1: f32[2]) {
// CHECK-NEXT:   %a.weight = add(%x, %0) : f32[2]
// CHECK-NEXT:   %a$1 = add(%a.weight, %1) : f32[2]
// CHECK-NEXT:   %2 = negate(%a$1) : f32[2]
// CHECK-NEXT:   %_b = abs(%2) : f32[2]
// CHECK-NEXT:   return %_b
// CHECK-NEXT: }
