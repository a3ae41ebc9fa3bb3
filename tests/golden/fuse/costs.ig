// Each kernel's traffic is told, and what a refused producer would have cost.
// RUN: %intaglio opt --passes=fuse --verify --print-changes %s 2>&1 | FileCheck --match-full-lines %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[64, 8], %w: f32[8]) {
  %a = exponential(%w) : f32[8]
  %c = broadcast_in_dim(%a) {shape = <64, 8>, broadcast_dimensions = [1]} : f32[64, 8]
  %s = add(%x, %c) : f32[64, 8]
  %y = multiply(%s, %x) : f32[64, 8]
  return %y
}

// CHECK:      fuse: 2 changes, 4 to 6 nodes
// CHECK-NEXT:   loop: exponential (reads 32 bytes, writes 32, keeps 0 out of memory)
// CHECK-NEXT:   loop: broadcast_in_dim add multiply (reads 2080 bytes, writes 2048, keeps 8192 out of memory)
// CHECK-NEXT:   exponential does not join the loop kernel of multiply: 8 values would be computed 512 times, which costs more than to write and read 64 bytes
