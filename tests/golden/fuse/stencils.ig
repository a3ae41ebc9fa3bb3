// A stencil reads its array at several places, and so of a stencil of a stencil there are many: what another
// step computes is not computed again at each of them.
// RUN: %intaglio opt --passes=fuse --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --why tanh %s | FileCheck --match-full-lines --check-prefix=WHY %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%u: f32[64, 1024]) {
  %a = slice(%u) {start = <1, 0>, limit = <64, 1024>, strides = [1, 1]} : f32[63, 1024]
  %b = slice(%u) {start = <0, 0>, limit = <1, 1024>, strides = [1, 1]} : f32[1, 1024]
  %c = concatenate(%a, %b) {axis = 0} : f32[64, 1024]
  %d = slice(%u) {start = <63, 0>, limit = <64, 1024>, strides = [1, 1]} : f32[1, 1024]
  %e = slice(%u) {start = <0, 0>, limit = <63, 1024>, strides = [1, 1]} : f32[63, 1024]
  %f = concatenate(%d, %e) {axis = 0} : f32[64, 1024]
  %g = add(%c, %f) : f32[64, 1024]
  %h = tanh(%g) : f32[64, 1024]
  %i = slice(%h) {start = <1, 0>, limit = <64, 1024>, strides = [1, 1]} : f32[63, 1024]
  %j = slice(%h) {start = <0, 0>, limit = <1, 1024>, strides = [1, 1]} : f32[1, 1024]
  %k = concatenate(%i, %j) {axis = 0} : f32[64, 1024]
  %l = slice(%h) {start = <63, 0>, limit = <64, 1024>, strides = [1, 1]} : f32[1, 1024]
  %m = slice(%h) {start = <0, 0>, limit = <63, 1024>, strides = [1, 1]} : f32[63, 1024]
  %n = concatenate(%l, %m) {axis = 0} : f32[64, 1024]
  %o = add(%k, %n) : f32[64, 1024]
  return %o
}

// CHECK:      graph @main(%u: f32[64, 1024]) {
// CHECK-NEXT:   %h = fusion(%u) {kind = "loop"} : f32[64, 1024] {
// CHECK-NEXT:     ^(%u$1: f32[64, 1024]) {
// CHECK-NEXT:       %a = slice(%u$1) {start = <1, 0>, limit = <64, 1024>, strides = [1, 1]} : f32[63, 1024]
// CHECK-NEXT:       %b = slice(%u$1) {start = <0, 0>, limit = <1, 1024>, strides = [1, 1]} : f32[1, 1024]
// CHECK-NEXT:       %c = concatenate(%a, %b) {axis = 0} : f32[64, 1024]
// CHECK-NEXT:       %d = slice(%u$1) {start = <63, 0>, limit = <64, 1024>, strides = [1, 1]} : f32[1, 1024]
// CHECK-NEXT:       %e = slice(%u$1) {start = <0, 0>, limit = <63, 1024>, strides = [1, 1]} : f32[63, 1024]
// CHECK-NEXT:       %f = concatenate(%d, %e) {axis = 0} : f32[64, 1024]
// CHECK-NEXT:       %g = add(%c, %f) : f32[64, 1024]
// CHECK-NEXT:       %h$1 = tanh(%g) : f32[64, 1024]
// CHECK-NEXT:       return %h$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %o = fusion(%h) {kind = "loop"} : f32[64, 1024] {
// CHECK-NEXT:     ^(%h$2: f32[64, 1024]) {
// CHECK-NEXT:       %i = slice(%h$2) {start = <1, 0>, limit = <64, 1024>, strides = [1, 1]} : f32[63, 1024]
// CHECK-NEXT:       %j = slice(%h$2) {start = <0, 0>, limit = <1, 1024>, strides = [1, 1]} : f32[1, 1024]
// CHECK-NEXT:       %k = concatenate(%i, %j) {axis = 0} : f32[64, 1024]
// CHECK-NEXT:       %l = slice(%h$2) {start = <63, 0>, limit = <64, 1024>, strides = [1, 1]} : f32[1, 1024]
// CHECK-NEXT:       %m = slice(%h$2) {start = <0, 0>, limit = <63, 1024>, strides = [1, 1]} : f32[63, 1024]
// CHECK-NEXT:       %n = concatenate(%l, %m) {axis = 0} : f32[64, 1024]
// CHECK-NEXT:       %o$1 = add(%k, %n) : f32[64, 1024]
// CHECK-NEXT:       return %o$1
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %o
// CHECK-NEXT: }

// WHY:      tanh %h is in the kernel
// WHY-NEXT:   loop: slice %a, slice %b, concatenate %c, slice %d, slice %e, concatenate %f, add %g, tanh %h
// WHY-NEXT:     together: 520192 bytes, 1900544 operations, some 60.5 µs
// WHY-NEXT:     apart:    3407872 bytes, 1900544 operations, some 144.7 µs
// WHY-NEXT: tanh %h does not join the loop kernel of add %o: 65536 values would be computed 262144 times, which costs more than to write and read 524288 bytes
// WHY-NEXT:   together: 520192 bytes, 14483456 operations, some 375.1 µs
// WHY-NEXT:   apart:    1040384 bytes, 2228224 operations, some 81.8 µs
