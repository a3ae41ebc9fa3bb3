// What is computed once for all rows of a batch is computed where each row is: a row's own mean, spread over it again,
// is no second place at which that would be.
// RUN: %intaglio opt --passes=fuse --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio run %s --compare --inputs random:1 --size n=3

graph @main(%x: f32[n, 8, 64], %p: f32[8, 64], %q: f32[64]) where n {
  %a = broadcast_in_dim(%q) {shape = <8, 64>, broadcast_dimensions = [1]} : f32[8, 64]
  %b = add(%p, %a) : f32[8, 64]
  %c = broadcast_in_dim(%b) {shape = <n, 8, 64>, broadcast_dimensions = [1, 2]} : f32[n, 8, 64]
  %d = add(%x, %c) : f32[n, 8, 64]
  %e = reduce_max(%d) {axes = [2]} : f32[n, 8]
  %f = broadcast_in_dim(%e) {shape = <n, 8, 64>, broadcast_dimensions = [0, 1]} : f32[n, 8, 64]
  %g = subtract(%d, %f) : f32[n, 8, 64]
  return %g
}

// CHECK:      graph @main(%x: f32[n, 8, 64], %p: f32[8, 64], %q: f32[64]) where n {
// CHECK-NEXT:   %g = fusion(%q, %p, %x) {kind = "row"} : f32[n, 8, 64] {
// CHECK-NEXT:     ^(%q$1: f32[64], %p$1: f32[8, 64], %x$1: f32[n, 8, 64]) {
// CHECK-NEXT:       %a = broadcast_in_dim(%q$1) {shape = <8, 64>, broadcast_dimensions = [1]} : f32[8, 64]
// CHECK-NEXT:       %b = add(%p$1, %a) : f32[8, 64]
// CHECK-NEXT:       %c = broadcast_in_dim(%b) {shape = <n, 8, 64>, broadcast_dimensions = [1, 2]} : f32[n, 8, 64]
// CHECK-NEXT:       %d = add(%x$1, %c) : f32[n, 8, 64]
// CHECK-NEXT:       %e = reduce_max(%d) {axes = [2]} : f32[n, 8]
// CHECK-NEXT:       %f = broadcast_in_dim(%e) {shape = <n, 8, 64>, broadcast_dimensions = [0, 1]} : f32[n, 8, 64]
// CHECK-NEXT:       %g$1 = subtract(%d, %f) : f32[n, 8, 64]
// CHECK-NEXT:       return %g$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %g
// CHECK-NEXT: }
