// Division by zero gives all ones, the remainder by zero the dividend; the least number / -1 is itself.
// RUN: %intaglio opt --passes=fold --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fold %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main() {
  %a = constant() {value = i32[3] {7, -2147483648, -5}} : i32[3]
  %b = constant() {value = i32[3] {0, -1, 3}} : i32[3]
  %q = divide(%a, %b) : i32[3]
  %r = remainder(%a, %b) : i32[3]
  return %q, %r
}

// CHECK:      graph @main() {
// CHECK-NEXT:   %a = constant() {value = i32[3] {7, -2147483648, -5}} : i32[3]
// CHECK-NEXT:   %b = constant() {value = i32[3] {0, -1, 3}} : i32[3]
// CHECK-NEXT:   %q = constant() {value = i32[3] {-1, -2147483648, -1}} : i32[3]
// CHECK-NEXT:   %r = constant() {value = i32[3] {7, 0, -2}} : i32[3]
// CHECK-NEXT:   return %q, %r
// CHECK-NEXT: }
