// Carries that change places, one that is stacked as it came, from the last slice to the first.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%a: f32[3], %b: f32[3], %x: f32[5, 3]) {
  %c, %d, %all = scan( | %a, %b | %x) {length = <>, reverse = true} : f32[3], f32[3], f32[5, 3] {
    ^(%c: f32[3], %d: f32[3], %item: f32[3]) {
      %e = add(%c, %item) : f32[3]
      return %d, %e, %c
    }
  }
  return %c, %d, %all
}

// GRAPH: {kind = "program"}
