// Scaled dot-product attention: two products, and one kernel for scale, mask and softmax between them.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --quiet --report --inputs random:1 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%q: f32[2, 4, 16, 8], %k: f32[2, 4, 16, 8], %v: f32[2, 4, 16, 8]) {
  %y = scaled_dot_product_attention(%q, %k, %v) {causal = false, scale = 0x0p+0} : f32[2, 4, 16, 8]
  return %y
}

// GRAPH:     fusion{{.*}} {kind = "contraction"}
// GRAPH:     fusion{{.*}} {kind = "row"}
// GRAPH:     fusion{{.*}} {kind = "contraction"}
// GRAPH-NOT: fusion(
// REPORT: kernels 3: {{.*}}; 0 fallback
