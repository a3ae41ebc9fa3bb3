// What depends on an input is not folded, however constant the rest.
// RUN: %intaglio opt --passes=fold --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fold %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[2]) {
  %a = constant() {value = f32[2] {0x1p+0, 0x1p+1}} : f32[2]
  %b = add(%a, %a) : f32[2]
  %y = multiply(%b, %x) : f32[2]
  return %y
}

// CHECK:      graph @main(%x: f32[2]) {
// CHECK-NEXT:   %a = constant() {value = f32[2] {0x1p+0, 0x1p+1}} : f32[2]
// CHECK-NEXT:   %b = constant() {value = f32[2] {0x1p+1, 0x1p+2}} : f32[2]
// CHECK-NEXT:   %y = multiply(%b, %x) : f32[2]
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
