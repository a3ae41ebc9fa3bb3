// The kernels of a stage of a network: one for each convolution with all that follows it, one for the window, and
// none that only turns over: the last convolution stores its finished values in the order that is asked for.
// RUN: %intaglio opt --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[1, 3, 32, 32], %w1: f32[8, 3, 7, 7], %w2: f32[8, 8, 3, 3], %w3: f32[8, 8, 3, 3], %b: f32[8]) {
  %zero = constant() {value = f32[] {0x0p+0}} : f32[]
  %zeros = broadcast_in_dim(%zero) {shape = <1, 8, 16, 16>, broadcast_dimensions = []} : f32[1, 8, 16, 16]
  %few = broadcast_in_dim(%zero) {shape = <1, 8, 8, 8>, broadcast_dimensions = []} : f32[1, 8, 8, 8]
  %bias = broadcast_in_dim(%b) {shape = <1, 8, 8, 8>, broadcast_dimensions = [1]} : f32[1, 8, 8, 8]
  %stem = convolution(%x, %w1) {layout = "bf01_oi01->bf01", strides = [2, 2], padding = [3, 3, 3, 3], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[1, 8, 16, 16]
  %r0 = maximum(%stem, %zeros) : f32[1, 8, 16, 16]
  %p = reduce_window_max(%r0) {window_dimensions = [1, 1, 3, 3], window_strides = [1, 1, 2, 2], window_dilations = [], padding = [0, 0, 0, 0, 1, 1, 1, 1]} : f32[1, 8, 8, 8]
  %c1 = convolution(%p, %w2) {layout = "bf01_oi01->bf01", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[1, 8, 8, 8]
  %s1 = add(%c1, %bias) : f32[1, 8, 8, 8]
  %r1 = maximum(%s1, %few) : f32[1, 8, 8, 8]
  %c2 = convolution(%r1, %w3) {layout = "bf01_oi01->bf01", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[1, 8, 8, 8]
  %s2 = add(%c2, %p) : f32[1, 8, 8, 8]
  %r2 = maximum(%s2, %few) : f32[1, 8, 8, 8]
  return %r2
}

// CHECK:      graph @main(%x: f32[1, 3, 32, 32], %w1: f32[8, 3, 7, 7], %w2: f32[8, 8, 3, 3], %w3: f32[8, 8, 3, 3], %b: f32[8]) {
// CHECK-NEXT:   %r0 = fusion(%x, %w1) {kind = "contraction"} : f32[1, 16, 16, 8] {
// CHECK-NEXT:     ^(%x$1: f32[1, 3, 32, 32], %w1$1: f32[8, 3, 7, 7]) {
// CHECK-NEXT:       %stem = convolution(%x$1, %w1$1) {layout = "bf01_oi01->b01f", strides = [2, 2], padding = [3, 3, 3, 3], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[1, 16, 16, 8]
// CHECK-NEXT:       %zero = constant() {value = f32[] {0x0p+0}} : f32[]
// CHECK-NEXT:       %0 = broadcast_in_dim(%zero) {shape = <1, 16, 16, 8>, broadcast_dimensions = []} : f32[1, 16, 16, 8]
// CHECK-NEXT:       %r0$1 = maximum(%stem, %0) : f32[1, 16, 16, 8]
// CHECK-NEXT:       return %r0$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %p = fusion(%r0) {kind = "heavy"} : f32[1, 8, 8, 8] {
// CHECK-NEXT:     ^(%r0$2: f32[1, 16, 16, 8]) {
// CHECK-NEXT:       %p$1 = reduce_window_max(%r0$2) {window_dimensions = [1, 3, 3, 1], window_strides = [1, 2, 2, 1], window_dilations = [], padding = [0, 0, 1, 1, 1, 1, 0, 0]} : f32[1, 8, 8, 8]
// CHECK-NEXT:       return %p$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %r1 = fusion(%p, %w2, %b) {kind = "contraction"} : f32[1, 8, 8, 8] {
// CHECK-NEXT:     ^(%p$2: f32[1, 8, 8, 8], %w2$1: f32[8, 8, 3, 3], %b$1: f32[8]) {
// CHECK-NEXT:       %c1 = convolution(%p$2, %w2$1) {layout = "b01f_oi01->b01f", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[1, 8, 8, 8]
// CHECK-NEXT:       %1 = broadcast_in_dim(%b$1) {shape = <1, 8, 8, 8>, broadcast_dimensions = [3]} : f32[1, 8, 8, 8]
// CHECK-NEXT:       %s1 = add(%c1, %1) : f32[1, 8, 8, 8]
// CHECK-NEXT:       %zero$1 = constant() {value = f32[] {0x0p+0}} : f32[]
// CHECK-NEXT:       %few = broadcast_in_dim(%zero$1) {shape = <1, 8, 8, 8>, broadcast_dimensions = []} : f32[1, 8, 8, 8]
// CHECK-NEXT:       %r1$1 = maximum(%s1, %few) : f32[1, 8, 8, 8]
// CHECK-NEXT:       return %r1$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %r2 = fusion(%r1, %w3, %p) {kind = "contraction"} : f32[1, 8, 8, 8] {
// CHECK-NEXT:     ^(%r1$2: f32[1, 8, 8, 8], %w3$1: f32[8, 8, 3, 3], %p$3: f32[1, 8, 8, 8]) {
// CHECK-NEXT:       %c2 = convolution(%r1$2, %w3$1) {layout = "b01f_oi01->b01f", strides = [], padding = [1, 1, 1, 1], lhs_dilation = [], rhs_dilation = [], feature_group_count = 1, batch_group_count = 1, accumulate = f32} : f32[1, 8, 8, 8]
// CHECK-NEXT:       %s2 = add(%c2, %p$3) : f32[1, 8, 8, 8]
// CHECK-NEXT:       %zero$2 = constant() {value = f32[] {0x0p+0}} : f32[]
// CHECK-NEXT:       %few$1 = broadcast_in_dim(%zero$2) {shape = <1, 8, 8, 8>, broadcast_dimensions = []} : f32[1, 8, 8, 8]
// CHECK-NEXT:       %r2$1 = maximum(%s2, %few$1) : f32[1, 8, 8, 8]
// CHECK-NEXT:       %r2$2 = transpose(%r2$1) {permutation = [0, 3, 1, 2]} : f32[1, 8, 8, 8]
// CHECK-NEXT:       return %r2$2
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %r2
// CHECK-NEXT: }
