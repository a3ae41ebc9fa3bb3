// What depends on constants and steady inputs (%w, %v) alone is computed once: a table of angles, two functions of which
// share it (%c, %s, of which a view stays with its reader), normed weights that a product reads (%n), functions of places.
// What is cheap (%d), small (%e) or a pattern of places (%m) stays, and so does what another input has a part in.
// RUN: %intaglio opt --passes=compute-once --steady=1,2 --verify %s | FileCheck %s
// RUN: %intaglio opt --steady=1,2 --verify %s | FileCheck %s --check-prefix=ALL
// RUN: %intaglio opt --passes=compute-once --verify %s | FileCheck %s --check-prefix=NONE
// RUN: %intaglio run %s --compare --inputs random:1 --atol 1e-4

graph @main(%x: f32[4, 64, 128], %w: f32[64, 128], %v: f32[128, 32], %y: f32[16, 128]) {
  %a = multiply(%w, %w) : f32[64, 128]
  %c = cosine(%a) : f32[64, 128]
  %s = sine(%a) : f32[64, 128]
  %cb = broadcast_in_dim(%c) {shape = <4, 64, 128>, broadcast_dimensions = [1, 2]} : f32[4, 64, 128]
  %sb = broadcast_in_dim(%s) {shape = <4, 64, 128>, broadcast_dimensions = [1, 2]} : f32[4, 64, 128]
  %xc = multiply(%x, %cb) : f32[4, 64, 128]
  %r = add(%xc, %sb) : f32[4, 64, 128]
  %q = multiply(%v, %v) : f32[128, 32]
  %sum = sum(%q) {axes = [0], keepdims = false} : f32[32]
  %root = rsqrt(%sum) : f32[32]
  %rb = broadcast_in_dim(%root) {shape = <128, 32>, broadcast_dimensions = [1]} : f32[128, 32]
  %n = multiply(%v, %rb) : f32[128, 32]
  %p = dot_general(%y, %n) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[16, 32]
  %i = iota() {shape = <64, 128>, axis = 0, dtype = f32} : f32[64, 128]
  %f = sine(%i) : f32[64, 128]
  %d = negate(%w) : f32[64, 128]
  %e0 = slice(%v) {start = <0, 0>, limit = <1, 32>, strides = [1, 1]} : f32[1, 32]
  %e = exponential(%e0) : f32[1, 32]
  %i0 = iota() {shape = <64, 128>, axis = 0, dtype = i32} : i32[64, 128]
  %i1 = iota() {shape = <64, 128>, axis = 1, dtype = i32} : i32[64, 128]
  %m = greater_equal(%i0, %i1) : bool[64, 128]
  %fd = add(%f, %d) : f32[64, 128]
  %x0 = sum(%x) {axes = [0], keepdims = false} : f32[64, 128]
  %g = multiply(%fd, %x0) : f32[64, 128]
  %h = select(%m, %g, %d) : f32[64, 128]
  %eb = broadcast_in_dim(%e) {shape = <16, 32>, broadcast_dimensions = [0, 1]} : f32[16, 32]
  %pe = add(%p, %eb) : f32[16, 32]
  return %r, %pe, %h
}

// CHECK:      %c, %s = once(%w) : f32[64, 128], f32[64, 128] {
// CHECK-NEXT:   ^(%w$1: f32[64, 128]) {
// CHECK-NEXT:     %a = multiply(%w$1, %w$1) : f32[64, 128]
// CHECK-NEXT:     %c$1 = cosine(%a) : f32[64, 128]
// CHECK-NEXT:     %s$1 = sine(%a) : f32[64, 128]
// CHECK-NEXT:     return %c$1, %s$1
// CHECK:      %n = once(%v) : f32[128, 32] {
// CHECK:          return %n$1
// CHECK:      %fd = once(%w) : f32[64, 128] {
// CHECK:      %cb = broadcast_in_dim(%c)
// CHECK-NOT:  once
// CHECK:      dot_general(%y, %n)
// CHECK-NOT:  once
// CHECK:      %d$1 = negate(%w)
// CHECK-NEXT: %e0 = slice(%v)
// CHECK-NEXT: %e = exponential(%e0)
// CHECK-NOT:  once
// CHECK:      %m = greater_equal(%i0, %i1)

// What is computed once is fused by itself, when its program is made.
// ALL:     %n = once(%v) : f32[128, 32] {
// ALL-NOT:   fusion
// ALL:       return %n$1
// ALL:     fusion(%c, %s, %x) {kind = "loop"}
// ALL:     fusion(%y, %n, %e) {kind = "contraction"}

// NONE:     %f = once() : f32[64, 128] {
// NONE-NOT: once
