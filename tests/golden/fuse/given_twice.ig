// What a block gives twice (a state that is carried and stacked) is written to both places by its kernel.
// RUN: %intaglio opt --disable join-loops %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1
// RUN: %intaglio run %s --disable-passes join-loops --compare --inputs random:1

graph @main(%x: f32[5, 7], %s: f32[7]) {
  %last, %all = scan( | %s | %x) {length = <>, reverse = false} : f32[7], f32[5, 7] {
    ^(%state: f32[7], %v: f32[7]) {
      %sum = add(%state, %v) : f32[7]
      %next = tanh(%sum) : f32[7]
      return %next, %next
    }
  }
  return %last, %all
}

// GRAPH:      %[[A:[a-z0-9]+]], %[[B:[a-z0-9]+]] = fusion
// GRAPH:      return %[[A]], %[[B]]
