// Operands in segments: what is constant, what is carried.
// RUN: %intaglio show %s | FileCheck --match-full-lines %s
// RUN: %intaglio show %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --binary %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio run %s --compare --input n=5 --input x=[1,2.5,-3]

graph @main(%n: i32[], %x: f32[3]) {
  %zero = constant() {value = i32[] {0}} : i32[]
  %i, %y = while(%n | %zero, %x) : i32[], f32[3] {
    ^(%m: i32[], %j: i32[], %v: f32[3]) {
      %go = less(%j, %m) : bool[]
      return %go
    }
    ^(%m: i32[], %j: i32[], %v: f32[3]) {
      %one = constant() {value = i32[] {1}} : i32[]
      %next = add(%j, %one) : i32[]
      %w = add(%v, %v) : f32[3]
      return %next, %w
    }
  }
  return %i, %y
}

// CHECK:      graph @main(%n: i32[], %x: f32[3]) {
// CHECK-NEXT:   %zero = constant() {value = i32[] {0}} : i32[]
// CHECK-NEXT:   %i, %y = while(%n | %zero, %x) : i32[], f32[3] {
// CHECK-NEXT:     ^(%m: i32[], %j: i32[], %v: f32[3]) {
// CHECK-NEXT:       %go = less(%j, %m) : bool[]
// CHECK-NEXT:       return %go
// CHECK-NEXT:     }
// CHECK-NEXT:     ^(%m$1: i32[], %j$1: i32[], %v$1: f32[3]) {
// CHECK-NEXT:       %one = constant() {value = i32[] {1}} : i32[]
// CHECK-NEXT:       %next = add(%j$1, %one) : i32[]
// CHECK-NEXT:       %w = add(%v$1, %v$1) : f32[3]
// CHECK-NEXT:       return %next, %w
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %i, %y
// CHECK-NEXT: }
