// A view that somebody else reads is kept: moving it would gain nothing.
// RUN: %intaglio opt --passes=sink-views --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=sink-views --print-changes -o /dev/null %s 2>&1 | FileCheck --check-prefix=SAME %s
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[4, 8]) {
  %a = transpose(%x) {permutation = [1, 0]} : f32[8, 4]
  %y = negate(%a) : f32[8, 4]
  return %y, %a
}

// CHECK:      graph @main(%x: f32[4, 8]) {
// CHECK-NEXT:   %a = transpose(%x) {permutation = [1, 0]} : f32[8, 4]
// CHECK-NEXT:   %y = negate(%a) : f32[8, 4]
// CHECK-NEXT:   return %y, %a
// CHECK-NEXT: }
// SAME: sink-views: unchanged
