// NaN, infinities, -0 and denormals pass a kernel as they pass single ops.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --quiet --report --inputs special:5 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs special:5 --tolerance exact
// RUN: %intaglio run %s --compare --inputs special:5 --tolerance exact

graph @main(%x: f32[128], %y: f32[128]) {
  %a = maximum(%x, %y) : f32[128]
  %b = multiply(%a, %x) : f32[128]
  %c = subtract(%b, %y) : f32[128]
  %d = sqrt(%c) : f32[128]
  %e = minimum(%d, %y) : f32[128]
  return %e, %c
}

// GRAPH:     fusion{{.*}} {kind = "loop"}
// GRAPH-NOT: fusion(
// REPORT: kernels 1: {{.*}}; 0 fallback
