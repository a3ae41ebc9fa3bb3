// Of stencils of a few numbers all could be computed again for less than another kernel takes, but not for less code.
// RUN: %intaglio opt --passes=fuse --fusion %s 2>&1 | FileCheck %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[4]) {
  %a0 = slice(%x) {start = <2>, limit = <4>, strides = [1]} : f32[2]
  %b0 = slice(%x) {start = <0>, limit = <2>, strides = [1]} : f32[2]
  %c0 = concatenate(%a0, %b0) {axis = 0} : f32[4]
  %s0 = subtract(%c0, %x) : f32[4]
  %a1 = slice(%s0) {start = <2>, limit = <4>, strides = [1]} : f32[2]
  %b1 = slice(%s0) {start = <0>, limit = <2>, strides = [1]} : f32[2]
  %c1 = concatenate(%a1, %b1) {axis = 0} : f32[4]
  %s1 = subtract(%c1, %s0) : f32[4]
  %a2 = slice(%s1) {start = <2>, limit = <4>, strides = [1]} : f32[2]
  %b2 = slice(%s1) {start = <0>, limit = <2>, strides = [1]} : f32[2]
  %c2 = concatenate(%a2, %b2) {axis = 0} : f32[4]
  %s2 = subtract(%c2, %s1) : f32[4]
  %a3 = slice(%s2) {start = <2>, limit = <4>, strides = [1]} : f32[2]
  %b3 = slice(%s2) {start = <0>, limit = <2>, strides = [1]} : f32[2]
  %c3 = concatenate(%a3, %b3) {axis = 0} : f32[4]
  %s3 = subtract(%c3, %s2) : f32[4]
  %a4 = slice(%s3) {start = <2>, limit = <4>, strides = [1]} : f32[2]
  %b4 = slice(%s3) {start = <0>, limit = <2>, strides = [1]} : f32[2]
  %c4 = concatenate(%a4, %b4) {axis = 0} : f32[4]
  %s4 = subtract(%c4, %s3) : f32[4]
  return %s4
}

// CHECK: 2 kernels
// CHECK: subtract %s0 does not join the loop kernel of subtract %s4: all would be computed at more than 256 places, which is too much code
