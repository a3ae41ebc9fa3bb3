// What a result or another node reads stays, once or twice.
// RUN: %intaglio opt --passes=dce --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=dce --print-changes -o /dev/null %s 2>&1 | FileCheck --check-prefix=SAME %s
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[8]) {
  %a = abs(%x) : f32[8]
  %b = add(%a, %a) : f32[8]
  return %b, %a
}

// CHECK:      graph @main(%x: f32[8]) {
// CHECK-NEXT:   %a = abs(%x) : f32[8]
// CHECK-NEXT:   %b = add(%a, %a) : f32[8]
// CHECK-NEXT:   return %b, %a
// CHECK-NEXT: }
// SAME: dce: unchanged
