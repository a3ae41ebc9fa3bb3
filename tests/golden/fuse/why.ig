// What was decided is told, with the costs: of a producer that costs more to compute again than to write (%a), of one
// whose reader needs but a part of it (%e, which joins), and of a loop that one kernel cannot hold with a product (%d).
// RUN: %intaglio opt --verify --fusion %s | FileCheck --match-full-lines --strict-whitespace --check-prefix=ALL %s
// RUN: %intaglio opt --why exponential %s | FileCheck --match-full-lines --check-prefix=WHY %s
// RUN: %intaglio opt --why tanh %s | FileCheck --match-full-lines --check-prefix=NAME %s
// RUN: not %intaglio opt --why relu %s 2>&1 | FileCheck --match-full-lines --check-prefix=NONE %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[64, 8], %w: f32[8], %u: f32[4, 1024], %v: f32[2, 1024], %m: f32[8, 8]) {
  %a = exponential(%w) : f32[8]
  %c = broadcast_in_dim(%a) {shape = <64, 8>, broadcast_dimensions = [1]} : f32[64, 8]
  %y = add(%x, %c) : f32[64, 8]
  %e = exponential(%u) : f32[4, 1024]
  %f = slice(%e) {start = <1, 0>, limit = <3, 1024>, strides = [1, 1]} : f32[2, 1024]
  %z = add(%v, %f) : f32[2, 1024]
  %d = tanh(%x) : f32[64, 8]
  %p = matmul(%d, %m) : f32[64, 8]
  return %y, %z, %p
}

// ALL:7 kernels
// ALL-NEXT:  loop: exponential %a
// ALL-NEXT:    alone: 64 bytes, 192 operations, some 26 ns
// ALL-NEXT:  loop: broadcast_in_dim %c, add %y
// ALL-NEXT:    together: 4128 bytes, 1024 operations, some 149 ns
// ALL-NEXT:    apart:    8224 bytes, 1024 operations, some 271 ns
// ALL-NEXT:  loop: exponential %e, slice %f, add %z
// ALL-NEXT:    together: 32768 bytes, 102400 operations, some 3.4 µs
// ALL-NEXT:    apart:    73728 bytes, 102400 operations, some 4.5 µs
// ALL-NEXT:  loop: tanh %d
// ALL-NEXT:    alone: 4096 bytes, 12288 operations, some 430 ns
// ALL-NEXT:  contraction: dot_general %p
// ALL-NEXT:    alone: 4352 bytes, 4096 operations, some 231 ns
// ALL-NEXT:  program: exponential %a, broadcast_in_dim %c, add %y
// ALL-NEXT:    together: 4192 bytes, 1216 operations, some 155 ns
// ALL-NEXT:    apart:    4192 bytes, 1216 operations, some 175 ns
// ALL-NEXT:  program: tanh %d, dot_general %p
// ALL-NEXT:    together: 8448 bytes, 16384 operations, some 641 ns
// ALL-NEXT:    apart:    8448 bytes, 16384 operations, some 661 ns
// ALL-NEXT:3 refused
// ALL-NEXT:  exponential %a does not join the loop kernel of add %y: 8 values would be computed 512 times, which costs more than to write and read 64 bytes
// ALL-NEXT:    together: 4128 bytes, 13312 operations, some 456 ns
// ALL-NEXT:    apart:    4192 bytes, 1216 operations, some 175 ns
// ALL-NEXT:  tanh %d does not join the contraction kernel of dot_general %p: each value would be computed again at every reading
// ALL-NEXT:  add %z does not join the program kernel of add %y: it takes some 1946 ns, beside which the way to it (20) is little
// ALL-NEXT:    together: 28704 bytes, 54272 operations, some 2.1 µs
// ALL-NEXT:    apart:    28704 bytes, 54272 operations, some 2.1 µs

// WHY: exponential %a is in the kernel
// WHY-NEXT:   loop: exponential %a
// WHY-NEXT:     alone: 64 bytes, 192 operations, some 26 ns
// WHY-NEXT: exponential %e is in the kernel
// WHY-NEXT:   loop: exponential %e, slice %f, add %z
// WHY-NEXT:     together: 32768 bytes, 102400 operations, some 3.4 µs
// WHY-NEXT:     apart:    73728 bytes, 102400 operations, some 4.5 µs
// WHY-NEXT: exponential %a is in the kernel
// WHY-NEXT:   program: exponential %a, broadcast_in_dim %c, add %y
// WHY-NEXT:     together: 4192 bytes, 1216 operations, some 155 ns
// WHY-NEXT:     apart:    4192 bytes, 1216 operations, some 175 ns
// WHY-NEXT: exponential %a does not join the loop kernel of add %y: 8 values would be computed 512 times, which costs more than to write and read 64 bytes
// WHY-NEXT:   together: 4128 bytes, 13312 operations, some 456 ns
// WHY-NEXT:   apart:    4192 bytes, 1216 operations, some 175 ns

// NAME: tanh %d is in the kernel
// NAME-NEXT:   loop: tanh %d
// NAME-NEXT:     alone: 4096 bytes, 12288 operations, some 430 ns
// NAME-NEXT: tanh %d is in the kernel
// NAME-NEXT:   program: tanh %d, dot_general %p
// NAME-NEXT:     together: 8448 bytes, 16384 operations, some 641 ns
// NAME-NEXT:     apart:    8448 bytes, 16384 operations, some 661 ns
// NAME-NEXT: tanh %d does not join the contraction kernel of dot_general %p: each value would be computed again at every reading

// NONE: error: no kernel holds a node `relu`
// NONE-NEXT:   why: nodes are meant by their op, their result's name, their module, or a part of their line, as they are after the passes in front of fusion
// NONE-NEXT:   hint: the kernels hold add, broadcast_in_dim, dot_general, exponential, slice, tanh
