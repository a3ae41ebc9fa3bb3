// What is spread, relabelled and spread again is spread once (%a: every element of a tiled row twice; %b with an axis
// put in and one of size 1 at the end; %c in another order). Not where the axes that the relabelling makes one are cut
// elsewhere (%d).
// RUN: %intaglio opt --passes=canonicalize,dce --verify %s | FileCheck %s
// RUN: %intaglio run %s --compare --inputs random:1 --tolerance exact
// RUN: %intaglio opt --passes=canonicalize,dce %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1

graph @main(%x: f32[4, 5], %y: f32[3]) {
  %a0 = broadcast_in_dim(%x) {shape = <4, 2, 5>, broadcast_dimensions = [0, 2]} : f32[4, 2, 5]
  %a1 = reshape(%a0) {shape = <4, 10, 1>} : f32[4, 10, 1]
  %a2 = broadcast_in_dim(%a1) {shape = <4, 10, 2>, broadcast_dimensions = [0, 1, 2]} : f32[4, 10, 2]
  %a = reshape(%a2) {shape = <4, 20>} : f32[4, 20]
  %b0 = broadcast_in_dim(%y) {shape = <2, 3, 1>, broadcast_dimensions = [1]} : f32[2, 3, 1]
  %b1 = reshape(%b0) {shape = <1, 6>} : f32[1, 6]
  %b = broadcast_in_dim(%b1) {shape = <4, 6, 5>, broadcast_dimensions = [0, 1]} : f32[4, 6, 5]
  %c0 = broadcast_in_dim(%x) {shape = <4, 5, 2>, broadcast_dimensions = [0, 1]} : f32[4, 5, 2]
  %c1 = reshape(%c0) {shape = <4, 10>} : f32[4, 10]
  %c = broadcast_in_dim(%c1) {shape = <10, 3, 4>, broadcast_dimensions = [2, 0]} : f32[10, 3, 4]
  %d0 = broadcast_in_dim(%x) {shape = <6, 4, 5>, broadcast_dimensions = [1, 2]} : f32[6, 4, 5]
  %d1 = reshape(%d0) {shape = <8, 15>} : f32[8, 15]
  %d = broadcast_in_dim(%d1) {shape = <8, 2, 15>, broadcast_dimensions = [0, 2]} : f32[8, 2, 15]
  return %a, %b, %c, %d
}

// CHECK:      [[A:%[0-9]+]] = broadcast_in_dim(%x) {shape = <4, 2, 5, 2>, broadcast_dimensions = [0, 2]}
// CHECK-NEXT: %a = reshape([[A]]) {shape = <4, 20>}
// CHECK-NEXT: [[B:%[0-9]+]] = broadcast_in_dim(%y) {shape = <4, 2, 3, 1, 5>, broadcast_dimensions = [2]}
// CHECK-NEXT: %b = reshape([[B]]) {shape = <4, 6, 5>}
// CHECK-NEXT: [[C:%[0-9]+]] = broadcast_in_dim(%x) {shape = <5, 2, 3, 4>, broadcast_dimensions = [3, 0]}
// CHECK-NEXT: %c = reshape([[C]]) {shape = <10, 3, 4>}
// CHECK-NEXT: %d0 = broadcast_in_dim(%x) {shape = <6, 4, 5>, broadcast_dimensions = [1, 2]}
// CHECK-NEXT: %d1 = reshape(%d0) {shape = <8, 15>}
// CHECK-NEXT: %d = broadcast_in_dim(%d1) {shape = <8, 2, 15>, broadcast_dimensions = [0, 2]}
