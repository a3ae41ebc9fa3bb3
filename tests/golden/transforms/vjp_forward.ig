// What the backward pass needs is given beside the results: here it computes all again from the argument.
// RUN: %intaglio opt --pipeline none --transform vjp-forward %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --transform vjp-forward %s | %intaglio run - --compare --inputs random:1

graph @main(%x: f32[3], %i: i64[2]) {
  %y = exponential(%x) : f32[3]
  %m = multiply(%y, %x) : f32[3]
  %z = stop_gradient(%m) : f32[3]
  %o = multiply(%m, %z) : f32[3]
  return %o, %i
}

// CHECK:      graph @main(%x: f32[3], %i: i64[2]) {
// CHECK-NEXT:   %y = exponential(%x) : f32[3]
// CHECK-NEXT:   %m = multiply(%y, %x) : f32[3]
// CHECK-NEXT:   %z = stop_gradient(%m) : f32[3]
// CHECK-NEXT:   %o = multiply(%m, %z) : f32[3]
// CHECK-NEXT:   return %o, %i
// CHECK-NEXT: }
