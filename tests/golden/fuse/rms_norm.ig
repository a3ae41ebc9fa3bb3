// So is RMS norm, written by hand from primitives.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --quiet --report --inputs random:1 --size b=4 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1 --size b=4
// RUN: %intaglio run %s --compare --inputs random:1 --size b=4

graph @main(%x: f32[b, 96], %w: f32[96]) where b {
  %sq = square(%x) : f32[b, 96]
  %sum = reduce_sum(%sq) {axes = [1]} : f32[b]
  %n = constant() {value = f32[] {0x1.8p+6}} : f32[]
  %ns = broadcast_in_dim(%n) {shape = <b>, broadcast_dimensions = []} : f32[b]
  %mean = divide(%sum, %ns) : f32[b]
  %r = rsqrt(%mean) : f32[b]
  %rs = broadcast_in_dim(%r) {shape = <b, 96>, broadcast_dimensions = [0]} : f32[b, 96]
  %ws = broadcast_in_dim(%w) {shape = <b, 96>, broadcast_dimensions = [1]} : f32[b, 96]
  %a = multiply(%x, %rs) : f32[b, 96]
  %y = multiply(%a, %ws) : f32[b, 96]
  return %y
}

// GRAPH:     fusion{{.*}} {kind = "row"}
// GRAPH-NOT: fusion(
// REPORT: kernels 1: {{.*}}; 0 fallback
