// Reversals of sums of reversals: what rises meets what is there and becomes one view with it, or none, so that there
// are four ways to read %x however long the chain is, and each sum is there once for each of them.
// RUN: %intaglio opt --passes=raise-views --verify %s | FileCheck %s
// RUN: %intaglio opt --passes=raise-views %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[16, 64]) {
  %y = fusion(%x) {kind = "loop"} : f32[16, 64] {
    ^(%x$1: f32[16, 64]) {
      %0 = reverse(%x$1) {dimensions = [0]} : f32[16, 64]
      %a = add(%0, %x$1) : f32[16, 64]
      %1 = reverse(%a) {dimensions = [1]} : f32[16, 64]
      %b = multiply(%1, %a) : f32[16, 64]
      %2 = reverse(%b) {dimensions = [0]} : f32[16, 64]
      %c = subtract(%2, %b) : f32[16, 64]
      %3 = reverse(%c) {dimensions = [1]} : f32[16, 64]
      %d = add(%3, %c) : f32[16, 64]
      return %d
    }
  }
  return %y
}

// CHECK: ^([[X:%.*]]: f32[16, 64]) {
// CHECK-COUNT-3: = reverse([[X]])
// CHECK-NOT: reverse(
// CHECK-COUNT-4: = add(
// CHECK-COUNT-4: = multiply(
// CHECK-COUNT-2: = subtract(
// CHECK-NEXT: [[D:%.*]] = add(
// CHECK-NEXT: return [[D]]
