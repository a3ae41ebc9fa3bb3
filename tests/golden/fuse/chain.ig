// A chain of forty element-wise nodes is one kernel, and reads and writes each element once.
// RUN: %intaglio opt %s | FileCheck --check-prefix=GRAPH %s
// RUN: %intaglio run %s --quiet --report --inputs random:1 --size n=1000 | FileCheck --check-prefix=REPORT %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1 --size n=1000
// RUN: %intaglio run %s --compare --inputs random:1 --size n=1000

graph @main(%x: f32[n]) where n {
  %a0 = tanh(%x) : f32[n]
  %a1 = negate(%a0) : f32[n]
  %a2 = abs(%a1) : f32[n]
  %a3 = sqrt(%a2) : f32[n]
  %a4 = square(%a3) : f32[n]
  %a5 = tanh(%a4) : f32[n]
  %a6 = negate(%a5) : f32[n]
  %a7 = abs(%a6) : f32[n]
  %a8 = sqrt(%a7) : f32[n]
  %a9 = square(%a8) : f32[n]
  %a10 = tanh(%a9) : f32[n]
  %a11 = negate(%a10) : f32[n]
  %a12 = abs(%a11) : f32[n]
  %a13 = sqrt(%a12) : f32[n]
  %a14 = square(%a13) : f32[n]
  %a15 = tanh(%a14) : f32[n]
  %a16 = negate(%a15) : f32[n]
  %a17 = abs(%a16) : f32[n]
  %a18 = sqrt(%a17) : f32[n]
  %a19 = square(%a18) : f32[n]
  %a20 = tanh(%a19) : f32[n]
  %a21 = negate(%a20) : f32[n]
  %a22 = abs(%a21) : f32[n]
  %a23 = sqrt(%a22) : f32[n]
  %a24 = square(%a23) : f32[n]
  %a25 = tanh(%a24) : f32[n]
  %a26 = negate(%a25) : f32[n]
  %a27 = abs(%a26) : f32[n]
  %a28 = sqrt(%a27) : f32[n]
  %a29 = square(%a28) : f32[n]
  %a30 = tanh(%a29) : f32[n]
  %a31 = negate(%a30) : f32[n]
  %a32 = abs(%a31) : f32[n]
  %a33 = sqrt(%a32) : f32[n]
  %a34 = square(%a33) : f32[n]
  %a35 = tanh(%a34) : f32[n]
  %a36 = negate(%a35) : f32[n]
  %a37 = abs(%a36) : f32[n]
  %a38 = sqrt(%a37) : f32[n]
  %a39 = square(%a38) : f32[n]
  return %a39
}

// GRAPH:     fusion{{.*}} {kind = "loop"}
// GRAPH-NOT: fusion(
// REPORT: kernels 1: {{.*}}; 0 fallback
