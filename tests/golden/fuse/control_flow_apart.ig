// Regions are fused for themselves; nothing crosses a loop's edge.
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[4, 8]) {
  %zero = constant() {value = f32[] {0x0p+0}} : f32[]
  %start = broadcast_in_dim(%zero) {shape = <8>, broadcast_dimensions = []} : f32[8]
  %sum, %all = scan( | %start | %x) {length = <>, reverse = false} : f32[8], f32[4, 8] {
    ^(%carry: f32[8], %item: f32[8]) {
      %t = tanh(%item) : f32[8]
      %next = add(%carry, %t) : f32[8]
      %out = square(%next) : f32[8]
      return %next, %out
    }
  }
  %y = abs(%all) : f32[4, 8]
  return %sum, %y
}
