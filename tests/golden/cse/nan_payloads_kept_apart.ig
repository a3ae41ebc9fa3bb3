// NaNs of other bits are other constants; of the same bits, one.
// RUN: %intaglio opt --passes=cse --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=cse %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main() {
  %a = constant() {value = f32[] {nan}} : f32[]
  %b = constant() {value = f32[] {nan(0x7fc00001)}} : f32[]
  %c = constant() {value = f32[] {nan}} : f32[]
  return %a, %b, %c
}

// CHECK:      graph @main() {
// CHECK-NEXT:   %a = constant() {value = f32[] {nan}} : f32[]
// CHECK-NEXT:   %b = constant() {value = f32[] {nan(0x7fc00001)}} : f32[]
// CHECK-NEXT:   return %a, %b, %a
// CHECK-NEXT: }
