// A slice rises as well, and with it the transposition behind: of what is cut off nothing is computed.
// RUN: %intaglio opt --passes=fuse,raise-views --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fuse,raise-views %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[64, 48]) {
  %a = abs(%x) : f32[64, 48]
  %s = slice(%a) {start = <1, 0>, limit = <64, 48>, strides = [1, 1]} : f32[63, 48]
  %y = transpose(%s) {permutation = [1, 0]} : f32[48, 63]
  return %y
}

// CHECK:      graph @main(%x: f32[64, 48]) {
// CHECK-NEXT:   %y = fusion(%x) {kind = "loop"} : f32[48, 63] {
// CHECK-NEXT:     ^(%x$1: f32[64, 48]) {
// CHECK-NEXT:       %0 = slice(%x$1) {start = <1, 0>, limit = <64, 48>, strides = [1, 1]} : f32[63, 48]
// CHECK-NEXT:       %1 = transpose(%0) {permutation = [1, 0]} : f32[48, 63]
// CHECK-NEXT:       %y$1 = abs(%1) : f32[48, 63]
// CHECK-NEXT:       return %y$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
