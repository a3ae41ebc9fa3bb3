// Arrays without elements run through all kinds of kernels.
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1 --size n=0 --size m=3 --tolerance exact
// RUN: %intaglio run %s --compare --inputs random:1 --size n=0 --size m=3 --tolerance exact

graph @main(%x: f32[n, 8], %w: f32[8, m]) where m, n {
  %a = tanh(%x) : f32[n, 8]
  %y = softmax(%a) {axis = 1} : f32[n, 8]
  %z = matmul(%y, %w) : f32[n, m]
  %s = reduce_sum(%z) {axes = [0]} : f32[m]
  return %z, %s
}
