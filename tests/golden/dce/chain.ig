// A chain that nobody reads goes whole.
// RUN: %intaglio opt --passes=dce --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=dce %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[8]) {
  %a = exponential(%x) : f32[8]
  %b = negate(%a) : f32[8]
  %c = add(%a, %b) : f32[8]
  %y = abs(%x) : f32[8]
  return %y
}

// CHECK:      graph @main(%x: f32[8]) {
// CHECK-NEXT:   %y = abs(%x) : f32[8]
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
