// Folded arithmetic on whole numbers wraps as it does at run time.
// RUN: %intaglio opt --passes=fold --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fold %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main() {
  %a = constant() {value = i8[3] {127, -128, 100}} : i8[3]
  %b = constant() {value = i8[3] {1, -1, 100}} : i8[3]
  %y = add(%a, %b) : i8[3]
  return %y
}

// CHECK:      graph @main() {
// CHECK-NEXT:   %a = constant() {value = i8[3] {127, -128, 100}} : i8[3]
// CHECK-NEXT:   %b = constant() {value = i8[3] {1, -1, 100}} : i8[3]
// CHECK-NEXT:   %y = constant() {value = i8[3] {-128, 127, -56}} : i8[3]
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
