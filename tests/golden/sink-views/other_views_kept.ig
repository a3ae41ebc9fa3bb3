// Two different views stay above: neither can be moved.
// RUN: %intaglio opt --passes=sink-views --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=sink-views --print-changes -o /dev/null %s 2>&1 | FileCheck --check-prefix=SAME %s
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[8, 8], %y: f32[8, 8]) {
  %a = transpose(%x) {permutation = [1, 0]} : f32[8, 8]
  %b = reverse(%y) {dimensions = [0]} : f32[8, 8]
  %z = add(%a, %b) : f32[8, 8]
  return %z
}

// CHECK:      graph @main(%x: f32[8, 8], %y: f32[8, 8]) {
// CHECK-NEXT:   %a = transpose(%x) {permutation = [1, 0]} : f32[8, 8]
// CHECK-NEXT:   %b = reverse(%y) {dimensions = [0]} : f32[8, 8]
// CHECK-NEXT:   %z = add(%a, %b) : f32[8, 8]
// CHECK-NEXT:   return %z
// CHECK-NEXT: }
// SAME: sink-views: unchanged
