// Where a step is long the executor runs it: its kernels have all threads.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[8192]) {
  %y = scan( | %x | ) {length = <3>, reverse = false} : f32[8192] {
    ^(%y: f32[8192]) {
      %z = sine(%y) : f32[8192]
      return %z
    }
  }
  return %y
}

// GRAPH-NOT: "program"
// GRAPH:     scan
// GRAPH-NOT: "program"
