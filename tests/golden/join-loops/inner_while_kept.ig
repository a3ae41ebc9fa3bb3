// Of nested loops that end by their data only the inner one is one kernel: the outer one looks at interrupts.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[]) {
  %zero = constant() {value = i32[] {0}} : i32[]
  %n, %y = while( | %zero, %x) : i32[], f32[] {
    ^(%n: i32[], %y: f32[]) {
      %three = constant() {value = i32[] {3}} : i32[]
      %more = less(%n, %three) : bool[]
      return %more
    }
    ^(%n: i32[], %y: f32[]) {
      %zero = constant() {value = i32[] {0}} : i32[]
      %k, %z = while(%n | %zero, %y) : i32[], f32[] {
        ^(%n: i32[], %k: i32[], %z: f32[]) {
          %more = less_equal(%k, %n) : bool[]
          return %more
        }
        ^(%n: i32[], %k: i32[], %z: f32[]) {
          %one = constant() {value = i32[] {1}} : i32[]
          %next = add(%k, %one) : i32[]
          %w = sine(%z) : f32[]
          return %next, %w
        }
      }
      %one = constant() {value = i32[] {1}} : i32[]
      %next = add(%n, %one) : i32[]
      return %next, %z
    }
  }
  return %n, %y
}

// GRAPH:     while
// GRAPH-NOT: while
// GRAPH:     {kind = "program"}
// GRAPH:     while
