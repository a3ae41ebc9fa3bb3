// Of attention only the queries that are read are computed: of one padded (%p) the last row, of a causal one
// (%c) the last row, behind which there is no key, and rows in front of it (%d), which a mask tells what they
// see; with a mask of its own, that one beside it (%e). Examples of a causal one (%b) stay causal. What adds to
// the scores cannot say it (%k).
// RUN: %intaglio opt --passes=raise-slices --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=raise-slices %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1 --atol 1e-5

graph @main(%q: f32[2, 6, 8], %k0: f32[2, 6, 8], %v: f32[2, 6, 4], %m: f32[2, 1, 6], %t: bool[6, 6]) {
  %p0 = scaled_dot_product_attention(%q, %k0, %v, %m) {causal = false, scale = 0x0p+0} : f32[2, 6, 4]
  %p = slice(%p0) {start = <0, 5, 0>, limit = <2, 6, 4>, strides = [1, 1, 1]} : f32[2, 1, 4]
  %c0 = scaled_dot_product_attention(%q, %k0, %v) {causal = true, scale = 0x0p+0} : f32[2, 6, 4]
  %c = slice(%c0) {start = <0, 5, 0>, limit = <2, 6, 4>, strides = [1, 1, 1]} : f32[2, 1, 4]
  %d0 = scaled_dot_product_attention(%q, %k0, %v) {causal = true, scale = 0x0p+0} : f32[2, 6, 4]
  %d = slice(%d0) {start = <0, 1, 0>, limit = <2, 5, 4>, strides = [1, 2, 1]} : f32[2, 2, 4]
  %e0 = scaled_dot_product_attention(%q, %k0, %v, %t) {causal = true, scale = 0x0p+0} : f32[2, 6, 4]
  %e = slice(%e0) {start = <0, 3, 0>, limit = <2, 4, 4>, strides = [1, 1, 1]} : f32[2, 1, 4]
  %b0 = scaled_dot_product_attention(%q, %k0, %v, %m) {causal = true, scale = 0x0p+0} : f32[2, 6, 4]
  %b = slice(%b0) {start = <1, 0, 0>, limit = <2, 6, 2>, strides = [1, 1, 1]} : f32[1, 6, 2]
  %k1 = scaled_dot_product_attention(%q, %k0, %v, %m) {causal = true, scale = 0x0p+0} : f32[2, 6, 4]
  %k = slice(%k1) {start = <0, 5, 0>, limit = <2, 6, 4>, strides = [1, 1, 1]} : f32[2, 1, 4]
  return %p, %c, %d, %e, %b, %k
}

// CHECK:      [[Q:%[0-9]+]] = slice(%q) {start = <0, 5, 0>, limit = <2, 6, 8>, strides = [1, 1, 1]}
// CHECK-NEXT: %p0 = scaled_dot_product_attention([[Q]], %k0, %v, %m) {causal = false, {{.*}} : f32[2, 1, 4]
// CHECK-NEXT: %c0 = scaled_dot_product_attention([[Q]], %k0, %v) {causal = false, {{.*}} : f32[2, 1, 4]
// CHECK-NEXT: [[D:%[0-9]+]] = slice(%q) {start = <0, 1, 0>, limit = <2, 5, 8>, strides = [1, 2, 1]}
// CHECK:      [[LOWER:%[0-9]+]] = less_equal({{.*}}) : bool[6, 6]
// CHECK-NEXT: [[MASK:%[0-9]+]] = slice([[LOWER]]) {start = <1, 0>, limit = <5, 6>, strides = [2, 1]}
// CHECK-NEXT: %d0 = scaled_dot_product_attention([[D]], %k0, %v, [[MASK]]) {causal = false, {{.*}} : f32[2, 2, 4]
// CHECK:      [[BOTH:%[0-9]+]] = and(%t, {{.*}}) : bool[6, 6]
// CHECK-NEXT: [[ROW:%[0-9]+]] = slice([[BOTH]]) {start = <3, 0>, limit = <4, 6>, strides = [1, 1]}
// CHECK-NEXT: %e0 = scaled_dot_product_attention({{.*}}, %k0, %v, [[ROW]]) {causal = false, {{.*}} : f32[2, 1, 4]
// CHECK:      %b0 = scaled_dot_product_attention({{.*}}) {causal = true, {{.*}} : f32[1, 6, 2]
// CHECK-NEXT: %k1 = scaled_dot_product_attention(%q, %k0, %v, %m) {causal = true, {{.*}} : f32[2, 6, 4]
