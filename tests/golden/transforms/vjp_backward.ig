// From residuals and the cotangent to the cotangent of the input.
// RUN: %intaglio opt --pipeline none --transform vjp-backward %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --transform vjp-backward %s | %intaglio run - --compare --inputs random:1

graph @main(%x: f32[3], %i: i64[2]) {
  %y = exponential(%x) : f32[3]
  %m = multiply(%y, %x) : f32[3]
  %z = stop_gradient(%m) : f32[3]
  %o = multiply(%m, %z) : f32[3]
  return %o, %i
}

// CHECK:      graph @main(%x: f32[3], %ct_o: f32[3]) {
// CHECK-NEXT:   %y = exponential(%x) : f32[3]
// CHECK-NEXT:   %m = multiply(%y, %x) : f32[3]
// CHECK-NEXT:   %z = stop_gradient(%m) : f32[3]
// CHECK-NEXT:   %0 = multiply(%ct_o, %z) : f32[3]
// CHECK-NEXT:   %1 = multiply(%y, %0) : f32[3]
// CHECK-NEXT:   %2 = multiply(%0, %x) : f32[3]
// CHECK-NEXT:   %3 = multiply(%2, %y) : f32[3]
// CHECK-NEXT:   %4 = add(%1, %3) : f32[3]
// CHECK-NEXT:   return %4
// CHECK-NEXT: }
