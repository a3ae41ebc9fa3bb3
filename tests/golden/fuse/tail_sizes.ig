// Sizes that no vector divides: 1, 7, 33 columns.
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1 --size n=33
// RUN: %intaglio run %s --compare --inputs random:1 --size n=33

graph @main(%x: f32[3, n]) where n {
  %y = softmax(%x) {axis = 1} : f32[3, n]
  %s = reduce_sum(%x) {axes = [0]} : f32[n]
  return %y, %s
}
