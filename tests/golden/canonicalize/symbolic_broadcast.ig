// Two broadcasts in a row are one, with sizes that are symbols too.
// RUN: %intaglio opt --passes=canonicalize --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=canonicalize %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1 --size n=5
// RUN: %intaglio run %s --compare --inputs special:1 --size n=5

graph @main(%x: f32[n]) where n in [1, 4096] {
  %a = broadcast_in_dim(%x) {shape = <n, 3>, broadcast_dimensions = [0]} : f32[n, 3]
  %b = broadcast_in_dim(%a) {shape = <2, n, 3>, broadcast_dimensions = [1, 2]} : f32[2, n, 3]
  return %b
}

// CHECK:      graph @main(%x: f32[n]) where n in [1, 4096] {
// CHECK-NEXT:   %b = broadcast_in_dim(%x) {shape = <2, n, 3>, broadcast_dimensions = [1]} : f32[2, n, 3]
// CHECK-NEXT:   return %b
// CHECK-NEXT: }
