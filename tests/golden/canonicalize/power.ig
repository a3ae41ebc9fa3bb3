// Powers that are products, quotients and roots; other exponents, and 16-bit cubes, which are rounded once, stay.
// RUN: %intaglio opt --passes=canonicalize,cse,dce --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=canonicalize %s | %intaglio run - --compare-with %s --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[64], %n: i32[8], %h: f16[8]) {
  %two = constant() {value = f32[] {0x1p+1}} : f32[]
  %twos = broadcast_in_dim(%two) {shape = <64>, broadcast_dimensions = []} : f32[64]
  %square = power(%x, %twos) : f32[64]
  %three = constant() {value = f32[] {0x1.8p+1}} : f32[]
  %threes = broadcast_in_dim(%three) {shape = <64>, broadcast_dimensions = []} : f32[64]
  %cube = power(%x, %threes) : f32[64]
  %one = constant() {value = f32[] {0x1p+0}} : f32[]
  %ones = broadcast_in_dim(%one) {shape = <64>, broadcast_dimensions = []} : f32[64]
  %same = power(%x, %ones) : f32[64]
  %minus = constant() {value = f32[] {-0x1p+0}} : f32[]
  %minuses = broadcast_in_dim(%minus) {shape = <64>, broadcast_dimensions = []} : f32[64]
  %inverse = power(%x, %minuses) : f32[64]
  %half = constant() {value = f32[] {0x1p-1}} : f32[]
  %halves = broadcast_in_dim(%half) {shape = <64>, broadcast_dimensions = []} : f32[64]
  %root = power(%x, %halves) : f32[64]
  %other = constant() {value = f32[] {0x1.4p+1}} : f32[]
  %others = broadcast_in_dim(%other) {shape = <64>, broadcast_dimensions = []} : f32[64]
  %kept = power(%x, %others) : f32[64]
  %n_two = constant() {value = i32[] {2}} : i32[]
  %n_twos = broadcast_in_dim(%n_two) {shape = <8>, broadcast_dimensions = []} : i32[8]
  %n_square = power(%n, %n_twos) : i32[8]
  %h_three = constant() {value = f16[] {0x1.8p+1}} : f16[]
  %h_threes = broadcast_in_dim(%h_three) {shape = <8>, broadcast_dimensions = []} : f16[8]
  %h_cube = power(%h, %h_threes) : f16[8]
  return %square, %cube, %same, %inverse, %root, %kept, %n_square, %h_cube
}

// CHECK:      graph @main(%x: f32[64], %n: i32[8], %h: f16[8]) {
// CHECK-NEXT:   %square = multiply(%x, %x) : f32[64]
// CHECK-NEXT:   %cube = multiply(%square, %x) : f32[64]
// CHECK-NEXT:   %0 = constant() {value = f32[] {0x1p+0}} : f32[]
// CHECK-NEXT:   %1 = broadcast_in_dim(%0) {shape = <64>, broadcast_dimensions = []} : f32[64]
// CHECK-NEXT:   %inverse = divide(%1, %x) : f32[64]
// CHECK-NEXT:   %2 = constant() {value = f32[] {inf}} : f32[]
// CHECK-NEXT:   %3 = broadcast_in_dim(%2) {shape = <64>, broadcast_dimensions = []} : f32[64]
// CHECK-NEXT:   %4 = constant() {value = f32[] {-inf}} : f32[]
// CHECK-NEXT:   %5 = broadcast_in_dim(%4) {shape = <64>, broadcast_dimensions = []} : f32[64]
// CHECK-NEXT:   %6 = equal(%x, %5) : bool[64]
// CHECK-NEXT:   %7 = constant() {value = f32[] {0x0p+0}} : f32[]
// CHECK-NEXT:   %8 = broadcast_in_dim(%7) {shape = <64>, broadcast_dimensions = []} : f32[64]
// CHECK-NEXT:   %9 = add(%x, %8) : f32[64]
// CHECK-NEXT:   %10 = sqrt(%9) : f32[64]
// CHECK-NEXT:   %root = select(%6, %3, %10) : f32[64]
// CHECK-NEXT:   %other = constant() {value = f32[] {0x1.4p+1}} : f32[]
// CHECK-NEXT:   %others = broadcast_in_dim(%other) {shape = <64>, broadcast_dimensions = []} : f32[64]
// CHECK-NEXT:   %kept = power(%x, %others) : f32[64]
// CHECK-NEXT:   %n_square = multiply(%n, %n) : i32[8]
// CHECK-NEXT:   %h_three = constant() {value = f16[] {0x1.8p+1}} : f16[]
// CHECK-NEXT:   %h_threes = broadcast_in_dim(%h_three) {shape = <8>, broadcast_dimensions = []} : f16[8]
// CHECK-NEXT:   %h_cube = power(%h, %h_threes) : f16[8]
// CHECK-NEXT:   return %square, %cube, %x, %inverse, %root, %kept, %n_square, %h_cube
// CHECK-NEXT: }
