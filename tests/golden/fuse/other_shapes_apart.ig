// Element-wise work over other shapes does not share a loop.
// RUN: %intaglio opt --disable join-kernels %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --disable-passes join-kernels --quiet --report --inputs random:1 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[10], %y: f32[12]) {
  %a = negate(%x) : f32[10]
  %b = negate(%y) : f32[12]
  return %a, %b
}

// GRAPH:     fusion{{.*}} {kind = "loop"}
// GRAPH:     fusion{{.*}} {kind = "loop"}
// GRAPH-NOT: fusion(
// REPORT: kernels 2: {{.*}}; 0 fallback
