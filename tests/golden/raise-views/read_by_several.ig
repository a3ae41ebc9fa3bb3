// What several nodes read rises with them, by one view.
// RUN: %intaglio opt --passes=fuse,raise-views --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fuse,raise-views %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[64, 48]) {
  %a = abs(%x) : f32[64, 48]
  %b = multiply(%a, %a) : f32[64, 48]
  %c = add(%b, %a) : f32[64, 48]
  %y = transpose(%c) {permutation = [1, 0]} : f32[48, 64]
  return %y
}

// CHECK:      graph @main(%x: f32[64, 48]) {
// CHECK-NEXT:   %y = fusion(%x) {kind = "loop"} : f32[48, 64] {
// CHECK-NEXT:     ^(%x$1: f32[64, 48]) {
// CHECK-NEXT:       %0 = transpose(%x$1) {permutation = [1, 0]} : f32[48, 64]
// CHECK-NEXT:       %1 = abs(%0) : f32[48, 64]
// CHECK-NEXT:       %2 = multiply(%1, %1) : f32[48, 64]
// CHECK-NEXT:       %y$1 = add(%2, %1) : f32[48, 64]
// CHECK-NEXT:       return %y$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
