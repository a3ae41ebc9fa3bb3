// The second of two equal nodes gives way, and what was built on both is merged as well.
// RUN: %intaglio opt --passes=cse --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=cse %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[8], %y: f32[8]) {
  %a = add(%x, %y) : f32[8]
  %b = add(%x, %y) : f32[8]
  %c = exponential(%a) : f32[8]
  %d = exponential(%b) : f32[8]
  %e = multiply(%c, %d) : f32[8]
  return %e
}

// CHECK:      graph @main(%x: f32[8], %y: f32[8]) {
// CHECK-NEXT:   %a = add(%x, %y) : f32[8]
// CHECK-NEXT:   %c = exponential(%a) : f32[8]
// CHECK-NEXT:   %e = multiply(%c, %c) : f32[8]
// CHECK-NEXT:   return %e
// CHECK-NEXT: }
