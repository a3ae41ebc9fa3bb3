// x - y and y - x differ; so do x + y and y + x, whose NaN may differ.
// RUN: %intaglio opt --passes=cse --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=cse --print-changes -o /dev/null %s 2>&1 | FileCheck --check-prefix=SAME %s
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[8], %y: f32[8]) {
  %a = subtract(%x, %y) : f32[8]
  %b = subtract(%y, %x) : f32[8]
  %c = add(%x, %y) : f32[8]
  %d = add(%y, %x) : f32[8]
  return %a, %b, %c, %d
}

// CHECK:      graph @main(%x: f32[8], %y: f32[8]) {
// CHECK-NEXT:   %a = subtract(%x, %y) : f32[8]
// CHECK-NEXT:   %b = subtract(%y, %x) : f32[8]
// CHECK-NEXT:   %c = add(%x, %y) : f32[8]
// CHECK-NEXT:   %d = add(%y, %x) : f32[8]
// CHECK-NEXT:   return %a, %b, %c, %d
// CHECK-NEXT: }
// SAME: cse: unchanged
