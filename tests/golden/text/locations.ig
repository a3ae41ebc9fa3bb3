// Where in the user's program a node came from: a stack of frames, the innermost first.
// RUN: %intaglio show --locations %s | FileCheck --match-full-lines %s
// RUN: %intaglio show --locations %s | %intaglio show --locations - | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --binary %s | %intaglio show --locations - | FileCheck --match-full-lines %s

graph @main(%x: f32[2]) {
  %a = negate(%x) : f32[2] loc("model.py":12 in "forward", "train.py":40 in "<module>")
  %b = abs(%a) : f32[2] scope("act") loc("a \"b\".py":1 in "f")
  return %b
}

// CHECK:      graph @main(%x: f32[2]) {
// CHECK-NEXT:   %a = negate(%x) : f32[2] loc("model.py":12 in "forward", "train.py":40 in "<module>")
// CHECK-NEXT:   %b = abs(%a) : f32[2] scope("act") loc("a \"b\".py":1 in "f")
// CHECK-NEXT:   return %b
// CHECK-NEXT: }
