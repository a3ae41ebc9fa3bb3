// Slices of joined arrays are slices of these, and of what is padded, where they lie between the padding.
// RUN: %intaglio opt --passes=canonicalize,dce --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=canonicalize %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1 --size b=3 --size m=2
// RUN: %intaglio run %s --compare --inputs random:1 --size b=2 --size m=5

graph @main(%x: f32[b, 4], %y: f32[b, 6], %z: f32[b, 3], %w: f32[m, 4], %zero: f32[]) where b, m {
  %all = concatenate(%x, %y, %z) {axis = 1} : f32[b, 13]
  %whole = slice(%all) {start = <0, 4>, limit = <b, 10>, strides = [1, 1]} : f32[b, 6]
  %inside = slice(%all) {start = <0, 5>, limit = <b, 10>, strides = [1, 2]} : f32[b, 3]
  %more = slice(%all) {start = <0, 3>, limit = <b, 11>, strides = [1, 1]} : f32[b, 8]
  %pair = concatenate(%x, %y, %z) {axis = 1} : f32[b, 13]
  %two = slice(%pair) {start = <0, 6>, limit = <b, 12>, strides = [1, 1]} : f32[b, 6]
  %stepped = concatenate(%x, %y) {axis = 1} : f32[b, 10]
  %every = slice(%stepped) {start = <0, 1>, limit = <b, 9>, strides = [1, 3]} : f32[b, 3]
  %long = concatenate(%x, %x) {axis = 0} : f32[2*b, 4]
  %second = slice(%long) {start = <b, 1>, limit = <2*b, 3>, strides = [1, 1]} : f32[b, 2]
  %mixed = concatenate(%x, %w) {axis = 0} : f32[b + m, 4]
  %unknown = slice(%mixed) {start = <0, 0>, limit = <m, 4>, strides = [1, 1]} : f32[m, 4]
  %padded = pad(%x, %zero) {low = <0, 2>, high = <1, 3>, interior = [0, 0]} : f32[b + 1, 9]
  %back = slice(%padded) {start = <0, 2>, limit = <b, 6>, strides = [1, 1]} : f32[b, 4]
  %some = slice(%padded) {start = <0, 3>, limit = <b, 6>, strides = [1, 2]} : f32[b, 2]
  %edge = slice(%padded) {start = <0, 1>, limit = <b, 4>, strides = [1, 1]} : f32[b, 3]
  return %whole, %inside, %more, %two, %every, %second, %unknown, %back, %some, %edge
}

// CHECK: %inside = slice(%y) {start = <0, 1>, limit = <b, 6>, strides = [1, 2]}
// CHECK: %more = slice(%all)
// CHECK: [[Y:%[0-9]+]] = slice(%y) {start = <0, 2>, limit = <b, 6>, strides = [1, 1]}
// CHECK: [[Z:%[0-9]+]] = slice(%z) {start = <0, 0>, limit = <b, 2>, strides = [1, 1]}
// CHECK: %two = concatenate([[Y]], [[Z]]) {axis = 1}
// CHECK: %every = slice(%stepped)
// CHECK: %second = slice(%x) {start = <0, 1>, limit = <b, 3>, strides = [1, 1]}
// CHECK: %unknown = slice(%mixed)
// CHECK: %some = slice(%x) {start = <0, 1>, limit = <b, 4>, strides = [1, 2]}
// CHECK: %edge = slice(%padded)
// CHECK: return %y, %inside, %more, %two, %every, %second, %unknown, %x, %some, %edge
