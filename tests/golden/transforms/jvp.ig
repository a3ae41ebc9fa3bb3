// Tangents stand behind what they belong to; none passes stop_gradient, and integers have none.
// RUN: %intaglio opt --pipeline none --transform jvp %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --transform jvp %s | %intaglio run - --compare --inputs random:1

graph @main(%x: f32[3], %i: i64[2]) {
  %y = exponential(%x) : f32[3]
  %m = multiply(%y, %x) : f32[3]
  %z = stop_gradient(%m) : f32[3]
  %o = multiply(%m, %z) : f32[3]
  return %o, %i
}

// CHECK:      graph @main(%x: f32[3], %i: i64[2], %t_x: f32[3]) {
// CHECK-NEXT:   %y = exponential(%x) : f32[3]
// CHECK-NEXT:   %0 = multiply(%t_x, %y) : f32[3]
// CHECK-NEXT:   %m = multiply(%y, %x) : f32[3]
// CHECK-NEXT:   %1 = multiply(%0, %x) : f32[3]
// CHECK-NEXT:   %2 = multiply(%y, %t_x) : f32[3]
// CHECK-NEXT:   %3 = add(%1, %2) : f32[3]
// CHECK-NEXT:   %z = stop_gradient(%m) : f32[3]
// CHECK-NEXT:   %o = multiply(%m, %z) : f32[3]
// CHECK-NEXT:   %4 = multiply(%3, %z) : f32[3]
// CHECK-NEXT:   return %o, %i, %4
// CHECK-NEXT: }
