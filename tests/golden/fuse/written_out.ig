// What each kernel makes for itself is written out by one loop where something else reads it: a result, a loop.
// RUN: %intaglio opt --disable join-kernels %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --disable-passes join-kernels --quiet --report --inputs random:1 --size n=9 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1 --size n=9 --tolerance exact
// RUN: %intaglio run %s --compare --inputs random:1 --size n=9 --tolerance exact

graph @main(%x: f32[n]) where n {
  %zero = constant() {value = f32[] {0x1.8p+1}} : f32[]
  %a = broadcast_in_dim(%zero) {shape = <n>, broadcast_dimensions = []} : f32[n]
  %i = iota() {shape = <n, 2>, axis = 0, dtype = i64} : i64[n, 2]
  %y = add(%x, %a) : f32[n]
  return %y, %a, %i
}

// GRAPH:     fusion{{.*}} {kind = "loop"}
// GRAPH:     fusion{{.*}} {kind = "loop"}
// GRAPH:     fusion{{.*}} {kind = "loop"}
// GRAPH-NOT: fusion(
// REPORT: kernels 3: {{.*}}; 0 fallback
