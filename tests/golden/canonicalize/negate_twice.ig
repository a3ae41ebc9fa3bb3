// Two negations, and two nots, cancel: both flip bits alone.
// RUN: %intaglio opt --passes=canonicalize --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=canonicalize %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[64], %i: i32[64]) {
  %a = negate(%x) : f32[64]
  %b = negate(%a) : f32[64]
  %c = not(%i) : i32[64]
  %d = not(%c) : i32[64]
  return %b, %d
}

// CHECK:      graph @main(%x: f32[64], %i: i32[64]) {
// CHECK-NEXT:   return %x, %i
// CHECK-NEXT: }
