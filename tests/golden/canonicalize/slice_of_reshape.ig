// Parts of an axis that a reshape told apart are slices of the axis itself.
// RUN: %intaglio opt --passes=canonicalize,dce --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=canonicalize %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1 --size b=3
// RUN: %intaglio run %s --compare --inputs random:1 --size b=2

graph @main(%x: f32[b, 24, 5], %y: f32[4, 6]) where b {
  %r = reshape(%x) {shape = <b, 4, 3, 2, 5>} : f32[b, 4, 3, 2, 5]
  %part = slice(%r) {start = <0, 1, 0, 0, 0>, limit = <b, 3, 3, 2, 5>, strides = [1, 1, 1, 1, 1]} : f32[b, 2, 3, 2, 5]
  %rows = slice(%r) {start = <0, 1, 0, 0, 2>, limit = <b, 2, 3, 2, 4>, strides = [1, 1, 1, 1, 1]} : f32[b, 1, 3, 2, 2]
  %inner = slice(%r) {start = <0, 0, 1, 0, 0>, limit = <b, 4, 2, 2, 5>, strides = [1, 1, 1, 1, 1]} : f32[b, 4, 1, 2, 5]
  %merged = reshape(%y) {shape = <2, 12>} : f32[2, 12]
  %row = slice(%merged) {start = <1, 0>, limit = <2, 12>, strides = [1, 1]} : f32[1, 12]
  return %part, %rows, %inner, %row
}

// CHECK: slice(%x) {start = <0, 6, 0>, limit = <b, 18, 5>, strides = [1, 1, 1]} : f32[b, 12, 5]
// CHECK: slice(%x) {start = <0, 6, 2>, limit = <b, 12, 4>, strides = [1, 1, 1]} : f32[b, 6, 2]
// CHECK: %inner = slice(%r)
// CHECK: %row = slice(%merged)
