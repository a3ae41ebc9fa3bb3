// exp is folded by nobody: its compiled bits may differ from the reference by its stated bound.
// RUN: %intaglio opt --passes=fold --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fold --print-changes -o /dev/null %s 2>&1 | FileCheck --check-prefix=SAME %s
// RUN: %intaglio run %s --compare --inputs special:1

graph @main() {
  %a = constant() {value = f32[] {0x1p+0}} : f32[]
  %y = exponential(%a) : f32[]
  return %y
}

// CHECK:      graph @main() {
// CHECK-NEXT:   %a = constant() {value = f32[] {0x1p+0}} : f32[]
// CHECK-NEXT:   %y = exponential(%a) : f32[]
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
// SAME: fold: unchanged
