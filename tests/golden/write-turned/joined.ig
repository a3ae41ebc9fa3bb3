// What is put together (%c), or has borders (%p), and is turned over behind that, is put together first: then tiles turn it
// over. Not where a few rows of it are taken (%f), nor what is small (%q).
// RUN: %intaglio opt --passes=fuse,raise-views,write-turned --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=fuse,raise-views,write-turned %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio opt --passes=fuse,raise-views,write-turned --fusion %s | FileCheck %s --check-prefix=TOLD
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: u8[300, 200], %y: u8[100, 200], %z: f32[198, 300], %a: f32[5, 6], %zero: f32[]) {
  %c = concatenate(%x, %y) {axis = 0} : u8[400, 200]
  %t = transpose(%c) {permutation = [1, 0]} : u8[200, 400]
  %p = pad(%z, %zero) {low = <1, 0>, high = <1, 0>, interior = [0, 0]} : f32[200, 300]
  %u = transpose(%p) {permutation = [1, 0]} : f32[300, 200]
  %v = negate(%u) : f32[300, 200]
  %f = pad(%z, %zero) {low = <2, 0>, high = <2, 0>, interior = [0, 0]} : f32[202, 300]
  %g = transpose(%f) {permutation = [1, 0]} : f32[300, 202]
  %h = slice(%g) {start = <7, 0>, limit = <12, 202>, strides = [1, 1]} : f32[5, 202]
  %q = pad(%a, %zero) {low = <1, 0>, high = <1, 0>, interior = [0, 0]} : f32[7, 6]
  %r = transpose(%q) {permutation = [1, 0]} : f32[6, 7]
  return %t, %v, %h, %r
}

// CHECK:      %c = fusion(%x, %y) {kind = "loop"} : u8[400, 200]
// CHECK:      %t = fusion(%c) {kind = "loop"}
// CHECK:      %p = fusion(%z, %zero) {kind = "loop"} : f32[200, 300]
// CHECK:      %v = fusion(%p) {kind = "loop"}
// CHECK:      %h = fusion(%z, %zero) {kind = "loop"}
// CHECK:      %r = fusion(%a, %zero) {kind = "loop"}
// CHECK-NOT:  fusion

// TOLD: concatenate %c does not join the loop kernel of transpose %t: it is turned over, which is done by tiles where it lies in one array
// TOLD: pad %p does not join the loop kernel of negate %v: it is turned over, which is done by tiles where it lies in one array
