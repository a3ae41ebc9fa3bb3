// A symbol whose range is one size becomes that size, in types, in shapes and where it is used as a number.
// RUN: %intaglio opt --passes=refine-shapes --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=refine-shapes %s | %intaglio run - --compare --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1,b=8

graph @main(%x: f32[b, 4]) where b in [8, 8] {
  %n = dimension_size() {size = <b>} : i64[]
  %m = convert(%n) {dtype = f32} : f32[]
  %s = broadcast_in_dim(%m) {shape = <b, 4>, broadcast_dimensions = []} : f32[b, 4]
  %y = divide(%x, %s) : f32[b, 4]
  %z = reshape(%y) {shape = <4*b>} : f32[4*b]
  return %z
}
