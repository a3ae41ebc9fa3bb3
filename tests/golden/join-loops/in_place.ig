// A step may carry arrays of any size that it changes in place: through a branch and an inner loop, read before they are
// changed. A carry that is read behind (%w), one that is given back in another's place (%x, %y), and one that is computed
// anew are not.
// RUN: %intaglio opt --passes=fuse,join-loops --verify %s | FileCheck %s
// RUN: %intaglio run %s --compare --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:2 --target x86-64-v2

graph @main(%a: f32[10000], %flags: bool[5]) {
  %zero = constant() {value = i64[] {0}} : i64[]
  %n1, %v1 = scan( | %zero, %a | %flags) {length = <5>, reverse = false} : i64[], f32[10000] {
    ^(%n: i64[], %v: f32[10000], %flag: bool[]) {
      %one = constant() {value = i64[] {1}} : i64[]
      %half = constant() {value = f32[] {0x1p-1}} : f32[]
      %next = add(%n, %one) : i64[]
      %old = dynamic_slice(%v, %n) {slice_sizes = <3>} : f32[3]
      %same = broadcast_in_dim(%half) {shape = <3>, broadcast_dimensions = []} : f32[3]
      %new = multiply(%old, %same) : f32[3]
      %set = dynamic_update_slice(%v, %new, %next) : f32[10000]
      %way = cond(%flag, %set, %next) : f32[10000] {
        ^(%v: f32[10000], %n: i64[]) {
          %two = constant() {value = f32[1] {0x1p+1}} : f32[1]
          %out = dynamic_update_slice(%v, %two, %n) : f32[10000]
          return %out
        }
        ^(%v: f32[10000], %n: i64[]) {
          return %v
        }
      }
      %m, %out = scan( | %next, %way | ) {length = <3>, reverse = false} : i64[], f32[10000] {
        ^(%m: i64[], %v: f32[10000]) {
          %ten = constant() {value = i64[] {10}} : i64[]
          %to = add(%m, %ten) : i64[]
          %old = dynamic_slice(%v, %m) {slice_sizes = <2>} : f32[2]
          %out = dynamic_update_slice(%v, %old, %to) : f32[10000]
          return %to, %out
        }
      }
      return %next, %out
    }
  }
  %n2, %w1, %s1 = scan( | %zero, %a, %a | ) {length = <5>, reverse = false} : i64[], f32[10000], f32[10000] {
    ^(%n: i64[], %w: f32[10000], %s: f32[10000]) {
      %one = constant() {value = i64[] {1}} : i64[]
      %next = add(%n, %one) : i64[]
      %two = constant() {value = f32[1] {0x1p+1}} : f32[1]
      %set = dynamic_update_slice(%w, %two, %n) : f32[10000]
      %before = dynamic_slice(%w, %n) {slice_sizes = <1>} : f32[1]
      %and = dynamic_update_slice(%s, %before, %next) : f32[10000]
      return %next, %set, %and
    }
  }
  %n3, %x1, %y1 = scan( | %zero, %a, %v1 | ) {length = <5>, reverse = false} : i64[], f32[10000], f32[10000] {
    ^(%n: i64[], %x: f32[10000], %y: f32[10000]) {
      %one = constant() {value = i64[] {1}} : i64[]
      %next = add(%n, %one) : i64[]
      %two = constant() {value = f32[1] {0x1p+1}} : f32[1]
      %set = dynamic_update_slice(%x, %two, %n) : f32[10000]
      return %next, %y, %set
    }
  }
  return %v1, %w1, %s1, %x1, %y1
}

// CHECK-LABEL: graph @main
// CHECK: kind = "program"
// CHECK: cond
// CHECK: scan
// CHECK-NOT: kind = "program"
// CHECK: %n2, %w1, %s1 = scan
// CHECK: %n3, %x1, %y1 = scan
