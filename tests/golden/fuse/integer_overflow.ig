// Whole numbers wrap inside a kernel at every step, of 8 and of 64 bits.
// RUN: %intaglio opt --disable join-kernels %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --disable-passes join-kernels --quiet --report --inputs special:3 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs special:3 --tolerance exact
// RUN: %intaglio run %s --compare --inputs special:3 --tolerance exact

graph @main(%x: i8[64], %y: i8[64], %u: u64[64]) {
  %a = multiply(%x, %y) : i8[64]
  %b = add(%a, %x) : i8[64]
  %c = multiply(%u, %u) : u64[64]
  %d = subtract(%c, %u) : u64[64]
  return %b, %d
}

// GRAPH:     fusion{{.*}} {kind = "loop"}
// GRAPH:     fusion{{.*}} {kind = "loop"}
// GRAPH-NOT: fusion(
// REPORT: kernels 2: {{.*}}; 0 fallback
