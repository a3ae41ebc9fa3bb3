// Calls of the host print and parse; equal pure ones are one, one that nobody uses goes, and effects stay in order.
// RUN: %intaglio show %s | FileCheck --check-prefix=TEXT --match-full-lines %s
// RUN: %intaglio show %s | %intaglio show - | FileCheck --check-prefix=TEXT --match-full-lines %s
// RUN: %intaglio opt --pipeline none --binary %s | %intaglio show - | FileCheck --check-prefix=TEXT --match-full-lines %s
// RUN: %intaglio opt --verify %s | FileCheck %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[2]) {
  %a = pure_callback(%x) {function = "intaglio.identity", dtypes = "f32", ranks = [1], sizes = <2>, structure = "", vmap_method = "none", kept = u8[0] {}} : f32[2]
  %b = pure_callback(%x) {function = "intaglio.identity", dtypes = "f32", ranks = [1], sizes = <2>, structure = "", vmap_method = "none", kept = u8[0] {}} : f32[2]
  %c, %d = pure_callback(%a, %x) {function = "intaglio.identity", dtypes = "f32 f32", ranks = [1, 1], sizes = <2, 2>, structure = "", vmap_method = "none", kept = u8[0] {}} : f32[2], f32[2]
  %t = create_token() : token
  %u, %v = io_callback(%t, %x) {function = "intaglio.identity", dtypes = "f32", ranks = [1], sizes = <2>, structure = "", kept = u8[0] {}} : token, f32[2]
  %w = io_callback(%u) {function = "intaglio.identity", dtypes = "", ranks = [], sizes = <>, structure = "", kept = u8[0] {}} : token
  %y = add(%a, %b) : f32[2]
  return %y
}

// TEXT:   %c, %d = pure_callback(%a, %x) {function = "intaglio.identity", dtypes = "f32 f32", ranks = [1, 1], sizes = <2, 2>, structure = "", vmap_method = "none", kept = u8[0] {}} : f32[2], f32[2]
// TEXT:   %u, %v = io_callback(%t, %x) {function = "intaglio.identity", dtypes = "f32", ranks = [1], sizes = <2>, structure = "", kept = u8[0] {}} : token, f32[2]

// CHECK: pure_callback
// CHECK-NOT: pure_callback
// CHECK: io_callback
// CHECK: io_callback
