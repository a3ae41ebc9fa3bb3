// A slice drops elements, and is not crossed by a number that was spread over its result.
// RUN: %intaglio opt --passes=sink-views --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=sink-views --print-changes -o /dev/null %s 2>&1 | FileCheck --check-prefix=SAME %s
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[16]) {
  %a = slice(%x) {start = <0>, limit = <8>, strides = [1]} : f32[8]
  %two = constant() {value = f32[] {0x1p+1}} : f32[]
  %twos = broadcast_in_dim(%two) {shape = <8>, broadcast_dimensions = []} : f32[8]
  %y = divide(%a, %twos) : f32[8]
  return %y
}

// CHECK:      graph @main(%x: f32[16]) {
// CHECK-NEXT:   %a = slice(%x) {start = <0>, limit = <8>, strides = [1]} : f32[8]
// CHECK-NEXT:   %two = constant() {value = f32[] {0x1p+1}} : f32[]
// CHECK-NEXT:   %twos = broadcast_in_dim(%two) {shape = <8>, broadcast_dimensions = []} : f32[8]
// CHECK-NEXT:   %y = divide(%a, %twos) : f32[8]
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
// SAME: sink-views: unchanged
