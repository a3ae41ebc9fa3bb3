// A window that is small beside its array is written alone, where the array may lie in the result's place: its last axes
// that are whole are one run, and starts are bounded. What is computed here and a window that is large are element-wise.
// RUN: %intaglio opt --passes=fuse --verify %s | FileCheck %s
// RUN: %intaglio run %s --compare --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:2 --target x86-64-v2

graph @main(%x: f32[9, 4, 6], %row: f32[1, 4, 6], %box: f32[2, 3, 2], %all: f32[9, 4, 5], %none: f32[0, 4, 6], %flag: bool[40], %bit: bool[3]) {
  %two = constant() {value = i64[] {2}} : i64[]
  %far = constant() {value = i64[] {99}} : i64[]
  %before = constant() {value = i32[] {-3}} : i32[]
  %zero = constant() {value = i64[] {0}} : i64[]
  %a = dynamic_update_slice(%x, %row, %two, %zero, %zero) : f32[9, 4, 6]
  %b = dynamic_update_slice(%a, %box, %far, %two, %before) : f32[9, 4, 6]
  %c = dynamic_update_slice(%x, %all, %zero, %zero, %zero) : f32[9, 4, 6]
  %y = sine(%x) : f32[9, 4, 6]
  %d = dynamic_update_slice(%y, %row, %two, %zero, %zero) : f32[9, 4, 6]
  %e = dynamic_update_slice(%x, %none, %two, %zero, %zero) : f32[9, 4, 6]
  %f = dynamic_update_slice(%flag, %bit, %far) : bool[40]
  return %b, %c, %d, %e, %f
}

// CHECK-LABEL: graph @main
// CHECK: kind = "nest"
// CHECK: dynamic_update_slice(%{{.*}}, %row
// CHECK: kind = "nest"
// CHECK: dynamic_update_slice(%{{.*}}, %box
// CHECK: kind = "loop"
// CHECK: dynamic_update_slice(%{{.*}}, %all
// CHECK: sine
// CHECK-NEXT: dynamic_update_slice
