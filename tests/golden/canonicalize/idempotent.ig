// abs, sign, floor and ceil of themselves are done once; maximum(x, x) is x.
// RUN: %intaglio opt --passes=canonicalize --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=canonicalize %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[64]) {
  %a = abs(%x) : f32[64]
  %b = abs(%a) : f32[64]
  %c = floor(%b) : f32[64]
  %d = floor(%c) : f32[64]
  %e = maximum(%d, %d) : f32[64]
  return %e
}

// CHECK:      graph @main(%x: f32[64]) {
// CHECK-NEXT:   %a = abs(%x) : f32[64]
// CHECK-NEXT:   %c = floor(%a) : f32[64]
// CHECK-NEXT:   return %c
// CHECK-NEXT: }
