// A select whose arms are one value is that value.
// RUN: %intaglio opt --passes=canonicalize --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=canonicalize %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%p: bool[8], %x: f32[8]) {
  %y = select(%p, %x, %x) : f32[8]
  return %y
}

// CHECK:      graph @main(%p: bool[8], %x: f32[8]) {
// CHECK-NEXT:   return %x
// CHECK-NEXT: }
