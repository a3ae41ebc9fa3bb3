// What waits for the carry stays, and so does what is cheap to make in each step.
// RUN: %intaglio opt --passes=hoist-scan --verify %s | FileCheck %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%w: f32[4], %h: f32[2, 4], %x: f32[5, 2, 4]) {
  %last = scan(%w | %h | %x) {length = <>, reverse = false} : f32[2, 4] {
    ^(%w: f32[4], %h: f32[2, 4], %item: f32[2, 4]) {
      %u = add(%w, %w) : f32[4]
      %v = broadcast_in_dim(%u) {shape = <2, 4>, broadcast_dimensions = [1]} : f32[2, 4]
      %a = multiply(%item, %v) : f32[2, 4]
      %next = add(%a, %h) : f32[2, 4]
      return %next
    }
  }
  return %last
}

// CHECK:      scan(%w | %h | %x)
// CHECK-NEXT:   ^
// CHECK-NEXT:     %u = add
