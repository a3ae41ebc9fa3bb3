// Loops that keep their order: rows long enough for vectors, few examples, and element-wise work alone.
// RUN: %intaglio opt --passes=batch-last --print-changes -o /dev/null %s 2>&1 | FileCheck %s
// CHECK: batch-last: unchanged

graph @main(%x: f32[64, 512], %y: f32[8, 3], %z: f32[64, 3]) {
  %0 = scan( | %x | ) {length = <5>, reverse = false} : f32[64, 512] {
    ^(%x$1: f32[64, 512]) {
      %u = slice(%x$1) {start = <0, 1>, limit = <64, 512>, strides = [1, 1]} : f32[64, 511]
      %v = slice(%x$1) {start = <0, 0>, limit = <64, 1>, strides = [1, 1]} : f32[64, 1]
      %n = concatenate(%u, %v) {axis = 1} : f32[64, 512]
      return %n
    }
  }
  %1 = scan( | %y | ) {length = <5>, reverse = false} : f32[8, 3] {
    ^(%y$1: f32[8, 3]) {
      %u = slice(%y$1) {start = <0, 2>, limit = <8, 3>, strides = [1, 1]} : f32[8, 1]
      %v = slice(%y$1) {start = <0, 0>, limit = <8, 2>, strides = [1, 1]} : f32[8, 2]
      %n = concatenate(%u, %v) {axis = 1} : f32[8, 3]
      return %n
    }
  }
  %2 = scan( | %z | ) {length = <5>, reverse = false} : f32[64, 3] {
    ^(%z$1: f32[64, 3]) {
      %n = tanh(%z$1) : f32[64, 3]
      return %n
    }
  }
  return %0, %1, %2
}
