// Arrays joined within their last axis are folded along a middle one, and read again, in one kernel: its columns are
// those of the last axis alone, which are cut where the array passes from part to part.
// RUN: %intaglio opt --passes=fuse --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[4, 8, 5, 56]) {
  %a = slice(%x) {start = <0, 0, 0, 3>, limit = <4, 8, 5, 56>, strides = [1, 1, 1, 1]} : f32[4, 8, 5, 53]
  %b = slice(%x) {start = <0, 0, 0, 0>, limit = <4, 8, 5, 3>, strides = [1, 1, 1, 1]} : f32[4, 8, 5, 3]
  %c = concatenate(%a, %b) {axis = 3} : f32[4, 8, 5, 56]
  %m = reduce_min(%c) {axes = [1]} : f32[4, 5, 56]
  %s = broadcast_in_dim(%m) {shape = <4, 8, 5, 56>, broadcast_dimensions = [0, 2, 3]} : f32[4, 8, 5, 56]
  %y = subtract(%c, %s) : f32[4, 8, 5, 56]
  return %y, %m
}

// CHECK:      graph @main(%x: f32[4, 8, 5, 56]) {
// CHECK-NEXT:   %m, %y = fusion(%x) {kind = "panel"} : f32[4, 5, 56], f32[4, 8, 5, 56] {
// CHECK-NEXT:     ^(%x$1: f32[4, 8, 5, 56]) {
// CHECK-NEXT:       %a = slice(%x$1) {start = <0, 0, 0, 3>, limit = <4, 8, 5, 56>, strides = [1, 1, 1, 1]} : f32[4, 8, 5, 53]
// CHECK-NEXT:       %b = slice(%x$1) {start = <0, 0, 0, 0>, limit = <4, 8, 5, 3>, strides = [1, 1, 1, 1]} : f32[4, 8, 5, 3]
// CHECK-NEXT:       %c = concatenate(%a, %b) {axis = 3} : f32[4, 8, 5, 56]
// CHECK-NEXT:       %m$1 = reduce_min(%c) {axes = [1]} : f32[4, 5, 56]
// CHECK-NEXT:       %s = broadcast_in_dim(%m$1) {shape = <4, 8, 5, 56>, broadcast_dimensions = [0, 2, 3]} : f32[4, 8, 5, 56]
// CHECK-NEXT:       %y$1 = subtract(%c, %s) : f32[4, 8, 5, 56]
// CHECK-NEXT:       return %m$1, %y$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %y, %m
// CHECK-NEXT: }
