// What every kernel makes for itself, broadcasts of numbers, is in no memory between two of them: nothing is gained by
// computing the scale again behind the first product, which would keep the second from scaling its own result.
// RUN: %intaglio opt --passes=rematerialize --verify %s | FileCheck %s
// RUN: %intaglio opt --fusion %s | FileCheck --check-prefix=FUSED %s
// RUN: %intaglio run %s --compare --atol 1e-3 --inputs random:1

graph @main(%x: f32[2048, 64], %w: f32[64, 128], %v: f32[128, 128], %s: f32[128]) {
  %zero = constant() {value = f32[] {0x0p+0}} : f32[]
  %six = constant() {value = f32[] {0x1.8p+2}} : f32[]
  %zeros = broadcast_in_dim(%zero) {shape = <2048, 128>, broadcast_dimensions = []} : f32[2048, 128]
  %sixes = broadcast_in_dim(%six) {shape = <2048, 128>, broadcast_dimensions = []} : f32[2048, 128]
  %scale = exponential(%s) : f32[128]
  %a = dot_general(%x, %w) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[2048, 128]
  %b = maximum(%a, %zeros) : f32[2048, 128]
  %c = minimum(%b, %sixes) : f32[2048, 128]
  %d = dot_general(%c, %v) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[2048, 128]
  %scales = broadcast_in_dim(%scale) {shape = <2048, 128>, broadcast_dimensions = [1]} : f32[2048, 128]
  %e = multiply(%d, %scales) : f32[2048, 128]
  %f = maximum(%e, %zeros) : f32[2048, 128]
  %g = minimum(%f, %sixes) : f32[2048, 128]
  %h = dot_general(%g, %v) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[2048, 128]
  return %h
}

// CHECK-LABEL: graph @main
// CHECK-NOT: after

// FUSED: contraction: dot_general %d, broadcast_in_dim %scales, multiply %e, maximum %f, minimum %g
