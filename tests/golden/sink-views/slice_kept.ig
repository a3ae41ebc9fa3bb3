// A function of a part is not computed of the whole: sines of three columns, not of eight.
// RUN: %intaglio opt --passes=sink-views --verify %s | FileCheck %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[4, 8]) {
  %part = slice(%x) {start = <0, 2>, limit = <4, 5>, strides = [1, 1]} : f32[4, 3]
  %sine = sine(%part) : f32[4, 3]
  return %sine
}

// CHECK:      slice(%x)
// CHECK-NEXT: sine({{.*}} : f32[4, 3]
