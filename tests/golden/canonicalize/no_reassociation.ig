// (x + 1) + 2 keeps both roundings; nothing is reassociated.
// RUN: %intaglio opt --passes=canonicalize --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=canonicalize --print-changes -o /dev/null %s 2>&1 | FileCheck --check-prefix=SAME %s
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[64]) {
  %a = constant() {value = f32[] {0x1p+0}} : f32[]
  %as = broadcast_in_dim(%a) {shape = <64>, broadcast_dimensions = []} : f32[64]
  %b = constant() {value = f32[] {0x1p+1}} : f32[]
  %bs = broadcast_in_dim(%b) {shape = <64>, broadcast_dimensions = []} : f32[64]
  %y = add(%x, %as) : f32[64]
  %z = add(%y, %bs) : f32[64]
  return %z
}

// CHECK:      graph @main(%x: f32[64]) {
// CHECK-NEXT:   %a = constant() {value = f32[] {0x1p+0}} : f32[]
// CHECK-NEXT:   %as = broadcast_in_dim(%a) {shape = <64>, broadcast_dimensions = []} : f32[64]
// CHECK-NEXT:   %b = constant() {value = f32[] {0x1p+1}} : f32[]
// CHECK-NEXT:   %bs = broadcast_in_dim(%b) {shape = <64>, broadcast_dimensions = []} : f32[64]
// CHECK-NEXT:   %y = add(%x, %as) : f32[64]
// CHECK-NEXT:   %z = add(%y, %bs) : f32[64]
// CHECK-NEXT:   return %z
// CHECK-NEXT: }
// SAME: canonicalize: unchanged
