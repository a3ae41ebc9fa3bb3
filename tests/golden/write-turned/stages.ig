// A kernel that walks its rows several times reads a transposed operand written out: what is computed of it alone is
// computed by the kernel that writes it.
// RUN: %intaglio opt --passes=fuse,raise-views,write-turned --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fuse,raise-views,write-turned %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[300, 200]) {
  %a = abs(%x) : f32[300, 200]
  %t = transpose(%a) {permutation = [1, 0]} : f32[200, 300]
  %m = reduce_max(%t) {axes = [1]} : f32[200]
  %spread = broadcast_in_dim(%m) {shape = <200, 300>, broadcast_dimensions = [0]} : f32[200, 300]
  %y = subtract(%t, %spread) : f32[200, 300]
  return %y
}

// CHECK:      graph @main(%x: f32[300, 200]) {
// CHECK-NEXT:   %t = fusion(%x) {kind = "loop"} : f32[200, 300] {
// CHECK-NEXT:     ^(%x$1: f32[300, 200]) {
// CHECK-NEXT:       %0 = transpose(%x$1) {permutation = [1, 0]} : f32[200, 300]
// CHECK-NEXT:       %t$1 = abs(%0) : f32[200, 300]
// CHECK-NEXT:       return %t$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %y = fusion(%t) {kind = "row"} : f32[200, 300] {
// CHECK-NEXT:     ^(%t$2: f32[200, 300]) {
// CHECK-NEXT:       %m = reduce_max(%t$2) {axes = [1]} : f32[200]
// CHECK-NEXT:       %spread = broadcast_in_dim(%m) {shape = <200, 300>, broadcast_dimensions = [0]} : f32[200, 300]
// CHECK-NEXT:       %y$1 = subtract(%t$2, %spread) : f32[200, 300]
// CHECK-NEXT:       return %y$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
