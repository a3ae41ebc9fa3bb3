// A batch of seven, more than the caches that are near hold: two products, what follows them, and a fold run for one
// example after the other. A slice of what comes by examples and all of what is the same for them go in; what nobody
// else reads has one example's size. Every bit stays.
// RUN: %intaglio opt --passes=fuse,depth-first --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=fuse,depth-first --print-changes -o /dev/null %s 2>&1 | FileCheck --check-prefix=SAID %s
// RUN: %intaglio opt --passes=fuse,depth-first --verify %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1
// SAID: 3 kernels run for 1 of 7 examples at a time

graph @main(%x: f32[7, 4096, 16], %z: f32[7, 4096, 16], %w1: f32[16, 32], %w2: f32[32, 16], %w3: f32[16, 4], %b: f32[32]) {
  %zero = constant() {value = f32[] {0x0p+0}} : f32[]
  %zeros = broadcast_in_dim(%zero) {shape = <7, 4096, 32>, broadcast_dimensions = []} : f32[7, 4096, 32]
  %bias = broadcast_in_dim(%b) {shape = <7, 4096, 32>, broadcast_dimensions = [2]} : f32[7, 4096, 32]
  %a = dot_general(%x, %w1) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0], accumulate = f32} : f32[7, 4096, 32]
  %s = add(%a, %bias) : f32[7, 4096, 32]
  %r = maximum(%s, %zeros) : f32[7, 4096, 32]
  %c = dot_general(%r, %w2) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0], accumulate = f32} : f32[7, 4096, 16]
  %d = add(%c, %z) : f32[7, 4096, 16]
  %m = reduce_max(%d) {axes = [1]} : f32[7, 16]
  %y = dot_general(%m, %w3) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[7, 4]
  return %y, %d
}

// CHECK:      graph @main(%x: f32[7, 4096, 16], %z: f32[7, 4096, 16], %w1: f32[16, 32], %w2: f32[32, 16], %w3: f32[16, 4], %b: f32[32]) {
// CHECK-NEXT:   %0 = fusion(%x) {kind = "relabel"} : f32[7, 1, 4096, 16] {
// CHECK-NEXT:     ^(%x$1: f32[7, 4096, 16]) {
// CHECK-NEXT:       %1 = reshape(%x$1) {shape = <7, 1, 4096, 16>} : f32[7, 1, 4096, 16]
// CHECK-NEXT:       return %1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %2 = fusion(%z) {kind = "relabel"} : f32[7, 1, 4096, 16] {
// CHECK-NEXT:     ^(%z$1: f32[7, 4096, 16]) {
// CHECK-NEXT:       %3 = reshape(%z$1) {shape = <7, 1, 4096, 16>} : f32[7, 1, 4096, 16]
// CHECK-NEXT:       return %3
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %4, %5 = scan(%b, %w1, %w2 |  | %0, %2) {length = <>, reverse = false} : f32[7, 1, 4096, 16], f32[7, 1, 16] {
// CHECK-NEXT:     ^(%b$1: f32[32], %w1$1: f32[16, 32], %w2$1: f32[32, 16], %x$2: f32[1, 4096, 16], %z$2: f32[1, 4096, 16]) {
// CHECK-NEXT:       %6 = fusion(%b$1, %x$2, %w1$1) {kind = "contraction"} : f32[1, 4096, 32] {
// CHECK-NEXT:         ^(%b$2: f32[32], %x$3: f32[1, 4096, 16], %w1$2: f32[16, 32]) {
// CHECK-NEXT:           %bias = broadcast_in_dim(%b$2) {shape = <1, 4096, 32>, broadcast_dimensions = [2]} : f32[1, 4096, 32]
// CHECK-NEXT:           %a = dot_general(%x$3, %w1$2) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0], accumulate = f32} : f32[1, 4096, 32]
// CHECK-NEXT:           %s = add(%a, %bias) : f32[1, 4096, 32]
// CHECK-NEXT:           %zero = constant() {value = f32[] {0x0p+0}} : f32[]
// CHECK-NEXT:           %zeros = broadcast_in_dim(%zero) {shape = <1, 4096, 32>, broadcast_dimensions = []} : f32[1, 4096, 32]
// CHECK-NEXT:           %r = maximum(%s, %zeros) : f32[1, 4096, 32]
// CHECK-NEXT:           return %r
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:       %7 = fusion(%6, %w2$1, %z$2) {kind = "contraction"} : f32[1, 4096, 16] {
// CHECK-NEXT:         ^(%r$1: f32[1, 4096, 32], %w2$2: f32[32, 16], %z$3: f32[1, 4096, 16]) {
// CHECK-NEXT:           %c = dot_general(%r$1, %w2$2) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0], accumulate = f32} : f32[1, 4096, 16]
// CHECK-NEXT:           %d = add(%c, %z$3) : f32[1, 4096, 16]
// CHECK-NEXT:           return %d
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:       %8 = fusion(%7) {kind = "column"} : f32[1, 16] {
// CHECK-NEXT:         ^(%d$1: f32[1, 4096, 16]) {
// CHECK-NEXT:           %m = reduce_max(%d$1) {axes = [1]} : f32[1, 16]
// CHECK-NEXT:           return %m
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:       return %7, %8
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %d$2 = fusion(%4) {kind = "relabel"} : f32[7, 4096, 16] {
// CHECK-NEXT:     ^(%9: f32[7, 1, 4096, 16]) {
// CHECK-NEXT:       %10 = reshape(%9) {shape = <7, 4096, 16>} : f32[7, 4096, 16]
// CHECK-NEXT:       return %10
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %m$1 = fusion(%5) {kind = "relabel"} : f32[7, 16] {
// CHECK-NEXT:     ^(%11: f32[7, 1, 16]) {
// CHECK-NEXT:       %12 = reshape(%11) {shape = <7, 16>} : f32[7, 16]
// CHECK-NEXT:       return %12
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %y = fusion(%m$1, %w3) {kind = "contraction"} : f32[7, 4] {
// CHECK-NEXT:     ^(%m$2: f32[7, 16], %w3$1: f32[16, 4]) {
// CHECK-NEXT:       %y$1 = dot_general(%m$2, %w3$1) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[7, 4]
// CHECK-NEXT:       return %y$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %y, %d$2
// CHECK-NEXT: }
