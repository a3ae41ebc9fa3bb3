// What the first cache holds is read across: that costs less than another kernel.
// RUN: %intaglio opt --passes=fuse,raise-views,write-turned --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fuse,raise-views,write-turned %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[4, 8]) {
  %t = transpose(%x) {permutation = [1, 0]} : f32[8, 4]
  %m = reduce_max(%t) {axes = [1]} : f32[8]
  %spread = broadcast_in_dim(%m) {shape = <8, 4>, broadcast_dimensions = [0]} : f32[8, 4]
  %y = subtract(%t, %spread) : f32[8, 4]
  return %y
}

// CHECK:      graph @main(%x: f32[4, 8]) {
// CHECK-NEXT:   %y = fusion(%x) {kind = "row"} : f32[8, 4] {
// CHECK-NEXT:     ^(%x$1: f32[4, 8]) {
// CHECK-NEXT:       %t = transpose(%x$1) {permutation = [1, 0]} : f32[8, 4]
// CHECK-NEXT:       %m = reduce_max(%t) {axes = [1]} : f32[8]
// CHECK-NEXT:       %spread = broadcast_in_dim(%m) {shape = <8, 4>, broadcast_dimensions = [0]} : f32[8, 4]
// CHECK-NEXT:       %y$1 = subtract(%t, %spread) : f32[8, 4]
// CHECK-NEXT:       return %y$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
