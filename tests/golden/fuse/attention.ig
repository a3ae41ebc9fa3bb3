// Scaled dot-product attention is one kernel, with the work behind it.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --quiet --report --inputs random:1 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%q: f32[2, 4, 16, 8], %k: f32[2, 4, 16, 8], %v: f32[2, 4, 16, 8]) {
  %y = scaled_dot_product_attention(%q, %k, %v) {causal = false, scale = 0x0p+0} : f32[2, 4, 16, 8]
  %z = negate(%y) : f32[2, 4, 16, 8]
  return %z
}

// GRAPH:     fusion{{.*}} {kind = "contraction"}
// GRAPH-NEXT: ^
// GRAPH:       scaled_dot_product_attention
// GRAPH-NOT: fusion(
// REPORT: kernels 1: {{.*}}; 0 fallback
