// What lies between two axes that stay, a weight of each colour, and what is folded itself keep axes apart.
// RUN: %intaglio opt --passes=fuse,raise-views,merge-axes --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fuse,raise-views,merge-axes %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[20, 30, 3], %row: f32[3]) {
  %m = reduce_max(%x) {axes = [1]} : f32[20, 3]
  %r = broadcast_in_dim(%row) {shape = <20, 30, 3>, broadcast_dimensions = [2]} : f32[20, 30, 3]
  %w = multiply(%x, %r) : f32[20, 30, 3]
  %n = reduce_max(%w) {axes = [0]} : f32[30, 3]
  %o = reduce_max(%w) {axes = [0, 1]} : f32[3]
  return %m, %n, %o
}

// CHECK:      graph @main(%x: f32[20, 30, 3], %row: f32[3]) {
// CHECK-NEXT:   %m = fusion(%x) {kind = "column"} : f32[20, 3] {
// CHECK-NEXT:     ^(%x$1: f32[20, 30, 3]) {
// CHECK-NEXT:       %m$1 = reduce_max(%x$1) {axes = [1]} : f32[20, 3]
// CHECK-NEXT:       return %m$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %n = fusion(%row, %x) {kind = "column"} : f32[30, 3] {
// CHECK-NEXT:     ^(%row$1: f32[3], %x$2: f32[20, 30, 3]) {
// CHECK-NEXT:       %r = broadcast_in_dim(%row$1) {shape = <20, 30, 3>, broadcast_dimensions = [2]} : f32[20, 30, 3]
// CHECK-NEXT:       %w = multiply(%x$2, %r) : f32[20, 30, 3]
// CHECK-NEXT:       %n$1 = reduce_max(%w) {axes = [0]} : f32[30, 3]
// CHECK-NEXT:       return %n$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %o = fusion(%row, %x) {kind = "column"} : f32[3] {
// CHECK-NEXT:     ^(%row$2: f32[3], %x$3: f32[20, 30, 3]) {
// CHECK-NEXT:       %r$1 = broadcast_in_dim(%row$2) {shape = <20, 30, 3>, broadcast_dimensions = [2]} : f32[20, 30, 3]
// CHECK-NEXT:       %w$1 = multiply(%x$3, %r$1) : f32[20, 30, 3]
// CHECK-NEXT:       %o$1 = reduce_max(%w$1) {axes = [0, 1]} : f32[3]
// CHECK-NEXT:       return %o$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %m, %n, %o
// CHECK-NEXT: }

