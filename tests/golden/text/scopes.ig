// The module path of a node.
// RUN: %intaglio show %s | FileCheck --match-full-lines %s
// RUN: %intaglio show %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --binary %s | %intaglio show - | FileCheck --match-full-lines %s

graph @main(%x: f32[2]) {
  %a = negate(%x) : f32[2] scope("encoder.layer.0.attention")
  %b = abs(%a) : f32[2] scope("a \"quoted\" path\n\\ and \x01")
  return %b
}

// CHECK:      graph @main(%x: f32[2]) {
// CHECK-NEXT:   %a = negate(%x) : f32[2] scope("encoder.layer.0.attention")
// CHECK-NEXT:   %b = abs(%a) : f32[2] scope("a \"quoted\" path\n\\ and \x01")
// CHECK-NEXT:   return %b
// CHECK-NEXT: }
