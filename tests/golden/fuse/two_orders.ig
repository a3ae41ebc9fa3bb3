// A row's sum of 32-bit floats goes by 32 lanes, one of 64 bits by 16: in one walk one of them would add up in another
// order than by itself. What rounds nothing (a largest element, a sum of integers) goes along with either.
// RUN: %intaglio opt --passes=fuse --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=fuse --fusion %s | FileCheck %s --check-prefix=TOLD
// RUN: %intaglio opt --passes=fuse %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1 --atol 1e-3

graph @main(%x: f32[64, 1000], %i: i32[64, 1000]) {
  %exp = exponential(%x) : f32[64, 1000]
  %short = reduce_sum(%exp) {axes = [1]} : f32[64]
  %wide = convert(%exp) {dtype = f64} : f64[64, 1000]
  %long = reduce_sum(%wide) {axes = [1]} : f64[64]
  %largest = reduce_max(%wide) {axes = [1]} : f64[64]
  %n = convert(%i) {dtype = i64} : i64[64, 1000]
  %count = reduce_sum(%n) {axes = [1]} : i64[64]
  %y = convert(%i) {dtype = f32} : f32[64, 1000]
  %sum = reduce_sum(%y) {axes = [1]} : f32[64]
  return %short, %long, %largest, %count, %sum
}

// CHECK: %exp, %short, %largest = fusion(%x) {kind = "row"} : f32[64, 1000], f32[64], f64[64] {
// CHECK: %long = fusion(%exp) {kind = "row"} : f64[64] {
// CHECK: %count, %sum = fusion(%i) {kind = "row"} : i64[64], f32[64] {
// TOLD: reduce_sum %long does not join the row kernel of convert %wide: what it adds up has another width, and so another order of summation
