// A graph of primitives is left as it is.
// RUN: %intaglio opt --passes=expand-composites --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=expand-composites --print-changes -o /dev/null %s 2>&1 | FileCheck --check-prefix=SAME %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[8]) {
  %y = tanh(%x) : f32[8]
  %z = reduce_sum(%y) {axes = [0]} : f32[]
  return %z
}

// CHECK:      graph @main(%x: f32[8]) {
// CHECK-NEXT:   %y = tanh(%x) : f32[8]
// CHECK-NEXT:   %z = reduce_sum(%y) {axes = [0]} : f32[]
// CHECK-NEXT:   return %z
// CHECK-NEXT: }
// SAME: expand-composites: unchanged
