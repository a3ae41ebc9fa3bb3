// What one number, a row's number or constants divide is multiplied by a reciprocal; each divisor alone, whole
// numbers, 16-bit floats, complex numbers and constants without a normal reciprocal are left as they are.
// RUN: %intaglio opt --passes=reciprocals --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=reciprocals %s | %intaglio run - --compare-with %s --reference --tolerance 2 --inputs random:1
// RUN: %intaglio run %s --compare --fast-math reciprocal --tolerance 2 --inputs random:1
// RUN: %intaglio opt --fast-math reciprocal %s | FileCheck %s --check-prefix=PIPELINE
// RUN: %intaglio opt %s | FileCheck %s --check-prefix=DEFAULT
// RUN: %intaglio run %s --compare --tolerance exact --inputs random:1

graph @main(%x: f32[4, 3], %one: f32[], %row: f32[4], %all: f32[4, 3], %i: i32[4, 3], %j: i32[], %h: f16[4, 3], %k: f16[]) {
  %spread_one = broadcast_in_dim(%one) {shape = <4, 3>, broadcast_dimensions = []} : f32[4, 3]
  %a = divide(%x, %spread_one) : f32[4, 3]
  %spread_row = broadcast_in_dim(%row) {shape = <4, 3>, broadcast_dimensions = [0]} : f32[4, 3]
  %b = divide(%x, %spread_row) : f32[4, 3]
  %three = constant() {value = f32[3] {0x1.8p+1, 0x1p-1, -0x1.4p+2}} : f32[3]
  %spread_three = broadcast_in_dim(%three) {shape = <4, 3>, broadcast_dimensions = [1]} : f32[4, 3]
  %c = divide(%x, %spread_three) : f32[4, 3]
  %d = divide(%x, %all) : f32[4, 3]
  %spread_j = broadcast_in_dim(%j) {shape = <4, 3>, broadcast_dimensions = []} : i32[4, 3]
  %e = divide(%i, %spread_j) : i32[4, 3]
  %spread_k = broadcast_in_dim(%k) {shape = <4, 3>, broadcast_dimensions = []} : f16[4, 3]
  %f = divide(%h, %spread_k) : f16[4, 3]
  %huge = constant() {value = f32[] {0x1p+127}} : f32[]
  %spread_huge = broadcast_in_dim(%huge) {shape = <4, 3>, broadcast_dimensions = []} : f32[4, 3]
  %g = divide(%x, %spread_huge) : f32[4, 3]
  return %a, %b, %c, %d, %e, %f, %g
}

// CHECK:      graph @main(%x: f32[4, 3], %one: f32[], %row: f32[4], %all: f32[4, 3], %i: i32[4, 3], %j: i32[], %h: f16[4, 3], %k: f16[]) {
// CHECK-NEXT:   %spread_one = broadcast_in_dim(%one) {shape = <4, 3>, broadcast_dimensions = []} : f32[4, 3]
// CHECK-NEXT:   %0 = constant() {value = f32[] {0x1p+0}} : f32[]
// CHECK-NEXT:   %1 = divide(%0, %one) : f32[]
// CHECK-NEXT:   %2 = broadcast_in_dim(%1) {shape = <4, 3>, broadcast_dimensions = []} : f32[4, 3]
// CHECK-NEXT:   %a = multiply(%x, %2) : f32[4, 3]
// CHECK-NEXT:   %spread_row = broadcast_in_dim(%row) {shape = <4, 3>, broadcast_dimensions = [0]} : f32[4, 3]
// CHECK-NEXT:   %3 = constant() {value = f32[] {0x1p+0}} : f32[]
// CHECK-NEXT:   %4 = broadcast_in_dim(%3) {shape = <4>, broadcast_dimensions = []} : f32[4]
// CHECK-NEXT:   %5 = divide(%4, %row) : f32[4]
// CHECK-NEXT:   %6 = broadcast_in_dim(%5) {shape = <4, 3>, broadcast_dimensions = [0]} : f32[4, 3]
// CHECK-NEXT:   %b = multiply(%x, %6) : f32[4, 3]
// CHECK-NEXT:   %three = constant() {value = f32[3] {0x1.8p+1, 0x1p-1, -0x1.4p+2}} : f32[3]
// CHECK-NEXT:   %spread_three = broadcast_in_dim(%three) {shape = <4, 3>, broadcast_dimensions = [1]} : f32[4, 3]
// CHECK-NEXT:   %7 = constant() {value = f32[3] {0x1.555556p-2, 0x1p+1, -0x1.99999ap-3}} : f32[3]
// CHECK-NEXT:   %8 = broadcast_in_dim(%7) {shape = <4, 3>, broadcast_dimensions = [1]} : f32[4, 3]
// CHECK-NEXT:   %c = multiply(%x, %8) : f32[4, 3]
// CHECK-NEXT:   %d = divide(%x, %all) : f32[4, 3]
// CHECK-NEXT:   %spread_j = broadcast_in_dim(%j) {shape = <4, 3>, broadcast_dimensions = []} : i32[4, 3]
// CHECK-NEXT:   %e = divide(%i, %spread_j) : i32[4, 3]
// CHECK-NEXT:   %spread_k = broadcast_in_dim(%k) {shape = <4, 3>, broadcast_dimensions = []} : f16[4, 3]
// CHECK-NEXT:   %f = divide(%h, %spread_k) : f16[4, 3]
// CHECK-NEXT:   %huge = constant() {value = f32[] {0x1p+127}} : f32[]
// CHECK-NEXT:   %spread_huge = broadcast_in_dim(%huge) {shape = <4, 3>, broadcast_dimensions = []} : f32[4, 3]
// CHECK-NEXT:   %g = divide(%x, %spread_huge) : f32[4, 3]
// CHECK-NEXT:   return %a, %b, %c, %d, %e, %f, %g
// CHECK-NEXT: }

// The pipeline has the pass where it is asked for: of numbers of rows, and of one, a reciprocal is taken.
// PIPELINE-DAG: divide({{.*}}) : f32[]
// PIPELINE-DAG: divide({{.*}}) : f32[4]
// DEFAULT-NOT:  divide({{.*}}) : f32[]
// DEFAULT-NOT:  divide({{.*}}) : f32[4]
// DEFAULT:      return
