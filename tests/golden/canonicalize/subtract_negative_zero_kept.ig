// x - -0 is no x: -0 - -0 is 0.
// RUN: %intaglio opt --passes=canonicalize --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=canonicalize --print-changes -o /dev/null %s 2>&1 | FileCheck --check-prefix=SAME %s
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[64]) {
  %zero = constant() {value = f32[] {-0x0p+0}} : f32[]
  %zeros = broadcast_in_dim(%zero) {shape = <64>, broadcast_dimensions = []} : f32[64]
  %y = subtract(%x, %zeros) : f32[64]
  return %y
}

// CHECK:      graph @main(%x: f32[64]) {
// CHECK-NEXT:   %zero = constant() {value = f32[] {-0x0p+0}} : f32[]
// CHECK-NEXT:   %zeros = broadcast_in_dim(%zero) {shape = <64>, broadcast_dimensions = []} : f32[64]
// CHECK-NEXT:   %y = subtract(%x, %zeros) : f32[64]
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
// SAME: canonicalize: unchanged
