// Equal ops with other attributes are not equal: -0 and 0 are two constants.
// RUN: %intaglio opt --passes=cse --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=cse --print-changes -o /dev/null %s 2>&1 | FileCheck --check-prefix=SAME %s
// RUN: %intaglio run %s --compare --inputs special:1

graph @main() {
  %a = constant() {value = f32[] {0x0p+0}} : f32[]
  %b = constant() {value = f32[] {-0x0p+0}} : f32[]
  %c = constant() {value = i32[] {0}} : i32[]
  return %a, %b, %c
}

// CHECK:      graph @main() {
// CHECK-NEXT:   %a = constant() {value = f32[] {0x0p+0}} : f32[]
// CHECK-NEXT:   %b = constant() {value = f32[] {-0x0p+0}} : f32[]
// CHECK-NEXT:   %c = constant() {value = i32[] {0}} : i32[]
// CHECK-NEXT:   return %a, %b, %c
// CHECK-NEXT: }
// SAME: cse: unchanged
