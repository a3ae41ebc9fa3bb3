// A symbol whose range is one size becomes that size, in types, in shapes and where it is used as a number.
// RUN: %intaglio opt --passes=refine-shapes --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=refine-shapes %s | %intaglio run - --compare --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1 --size b=8

graph @main(%x: f32[b, 4]) where b in [8, 8] {
  %n = dimension_size() {size = <b>} : i64[]
  %m = convert(%n) {dtype = f32} : f32[]
  %s = broadcast_in_dim(%m) {shape = <b, 4>, broadcast_dimensions = []} : f32[b, 4]
  %y = divide(%x, %s) : f32[b, 4]
  %z = reshape(%y) {shape = <4*b>} : f32[4*b]
  return %z
}

// CHECK:      graph @main(%x: f32[8, 4]) {
// CHECK-NEXT:   %n = dimension_size() {size = <8>} : i64[]
// CHECK-NEXT:   %m = convert(%n) {dtype = f32} : f32[]
// CHECK-NEXT:   %s = broadcast_in_dim(%m) {shape = <8, 4>, broadcast_dimensions = []} : f32[8, 4]
// CHECK-NEXT:   %y = divide(%x, %s) : f32[8, 4]
// CHECK-NEXT:   %z = reshape(%y) {shape = <32>} : f32[32]
// CHECK-NEXT:   return %z
// CHECK-NEXT: }
