// A small constant spread out is not folded: it is spread where it is used.
// RUN: %intaglio opt --passes=fold --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=fold --print-changes -o /dev/null %s 2>&1 | FileCheck --check-prefix=SAME %s
// RUN: %intaglio run %s --compare --inputs special:1

graph @main() {
  %a = constant() {value = f32[] {0x1.8p+1}} : f32[]
  %y = broadcast_in_dim(%a) {shape = <1024>, broadcast_dimensions = []} : f32[1024]
  return %y
}

// CHECK:      graph @main() {
// CHECK-NEXT:   %a = constant() {value = f32[] {0x1.8p+1}} : f32[]
// CHECK-NEXT:   %y = broadcast_in_dim(%a) {shape = <1024>, broadcast_dimensions = []} : f32[1024]
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
// SAME: fold: unchanged
