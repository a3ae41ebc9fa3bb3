// A loop whose condition and body are small is one kernel, and gives what the executor's loop gives.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --quiet --report --inputs random:1 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[8], %limit: i32[]) {
  %zero = constant() {value = i32[] {0}} : i32[]
  %n, %y = while(%limit | %zero, %x) : i32[], f32[8] {
    ^(%limit: i32[], %n: i32[], %y: f32[8]) {
      %five = constant() {value = i32[] {5}} : i32[]
      %more = less(%n, %five) : bool[]
      return %more
    }
    ^(%limit: i32[], %n: i32[], %y: f32[8]) {
      %one = constant() {value = i32[] {1}} : i32[]
      %next = add(%n, %one) : i32[]
      %z = add(%y, %y) : f32[8]
      return %next, %z
    }
  }
  return %n, %y
}

// GRAPH:     fusion{{.*}} {kind = "program"}
// GRAPH:       while
// GRAPH:         fusion{{.*}} {kind = "loop"}
// REPORT: kernels 1: {{.*}}; 0 fallback
