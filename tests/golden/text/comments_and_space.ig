// Comments run to the end of a line; space is free.
// RUN: %intaglio show %s | FileCheck --match-full-lines %s
// RUN: %intaglio show %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --binary %s | %intaglio show - | FileCheck --match-full-lines %s

graph@main(%x:f32[2]){// a comment
%y=negate(%x):f32[2]   // another
  // and one alone

return   %y}

// CHECK:      graph @main(%x: f32[2]) {
// CHECK-NEXT:   %y = negate(%x) : f32[2]
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
