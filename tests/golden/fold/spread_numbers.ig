// What an element-wise op makes of spread numbers is a spread number: no array of it is made. A number that is
// not known, and an op whose compiled result may differ from its reference's, stay.
// RUN: %intaglio opt --passes=fold,dce --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fold,dce %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1 --size n=5
// RUN: %intaglio run %s --compare --inputs special:1 --size n=5

graph @main(%x: f32[], %y: f32[n, 3]) where n {
  %a = constant() {value = f32[] {0x1p+0}} : f32[]
  %a$wide = broadcast_in_dim(%a) {shape = <n, 3>, broadcast_dimensions = []} : f32[n, 3]
  %b = constant() {value = f32[] {-0x1.fffffep-1}} : f32[]
  %b$wide = broadcast_in_dim(%b) {shape = <n, 3>, broadcast_dimensions = []} : f32[n, 3]
  %0 = subtract(%a$wide, %b$wide) : f32[n, 3]
  %x$wide = broadcast_in_dim(%x) {shape = <n, 3>, broadcast_dimensions = []} : f32[n, 3]
  %1 = subtract(%a$wide, %x$wide) : f32[n, 3]
  %2 = exponential(%a$wide) : f32[n, 3]
  %3 = add(%0, %y) : f32[n, 3]
  return %1, %2, %3
}

// CHECK:      graph @main(%x: f32[], %y: f32[n, 3]) where n {{.*}}{
// CHECK-NEXT:   %a = constant() {value = f32[] {0x1p+0}} : f32[]
// CHECK-NEXT:   %a$wide = broadcast_in_dim(%a) {shape = <n, 3>, broadcast_dimensions = []} : f32[n, 3]
// CHECK-NEXT:   %0 = constant() {value = f32[] {0x1p+1}} : f32[]
// CHECK-NEXT:   %1 = broadcast_in_dim(%0) {shape = <n, 3>, broadcast_dimensions = []} : f32[n, 3]
// CHECK-NEXT:   %x$wide = broadcast_in_dim(%x) {shape = <n, 3>, broadcast_dimensions = []} : f32[n, 3]
// CHECK-NEXT:   %2 = subtract(%a$wide, %x$wide) : f32[n, 3]
// CHECK-NEXT:   %3 = exponential(%a$wide) : f32[n, 3]
// CHECK-NEXT:   %4 = add(%1, %y) : f32[n, 3]
// CHECK-NEXT:   return %2, %3, %4
// CHECK-NEXT: }
