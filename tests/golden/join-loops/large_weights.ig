// What is the same in every step may be of any size; 128 KiB here.
// RUN: %intaglio opt --passes=fuse,join-loops --verify %s | FileCheck %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%w: f32[128, 256], %x: f32[6, 256]) {
  %sums = scan(%w | | %x) {length = <>, reverse = false} : f32[6, 128] {
    ^(%w: f32[128, 256], %item: f32[256]) {
      %v = dot_general(%w, %item) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f32} : f32[128]
      return %v
    }
  }
  return %sums
}

// CHECK: kind = "program"
// CHECK: scan(
