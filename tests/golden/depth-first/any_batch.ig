// A batch whose size is a symbol goes one example at a time; towers that stand side by side go together.
// RUN: %intaglio opt --passes=fuse,depth-first --print-changes -o /dev/null %s 2>&1 | FileCheck %s
// RUN: %intaglio opt --passes=fuse,depth-first --verify %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio opt --passes=fuse,depth-first --verify %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1 --size n=3
// RUN: %intaglio run %s --compare --inputs random:1 --size n=3
// RUN: %intaglio run %s --compare --inputs random:1 --size n=0
// CHECK: 4 kernels run for 1 of n examples at a time
// GRAPH: scan({{.*}}) {length = <>, reverse = false} : f32[n, 1, 4096, 16], f32[n, 1, 4096, 16] {

graph @main(%x: f32[n, 4096, 16], %y: f32[n, 4096, 16], %w1: f32[16, 32], %w2: f32[32, 16]) where n in [0, 64] {
  %a = dot_general(%x, %w1) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0], accumulate = f32} : f32[n, 4096, 32]
  %b = dot_general(%a, %w2) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0], accumulate = f32} : f32[n, 4096, 16]
  %c = dot_general(%y, %w1) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0], accumulate = f32} : f32[n, 4096, 32]
  %d = dot_general(%c, %w2) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0], accumulate = f32} : f32[n, 4096, 16]
  return %b, %d
}
