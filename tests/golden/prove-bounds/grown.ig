// What a step makes anew is bounded by how it is made: a remainder stays one, of whatever it is (%k), a position of the
// greatest element lies along its axis, the sum of two unbounded numbers may be anything (%c), and what grows to a limit
// that the condition of a `while` sets stays below it inside (%n).
// RUN: %intaglio opt --passes=prove-bounds,canonicalize,dce --verify %s | FileCheck %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[5], %start: i64[]) {
  %zero = constant() {value = i64[] {0}} : i64[]
  %k1, %c1, %seen = scan(%x | %zero, %start | ) {length = <7>, reverse = false} : i64[], i64[], bool[7] {
    ^(%x: f32[5], %k: i64[], %c: i64[]) {
      %five = constant() {value = i64[] {5}} : i64[]
      %ten = constant() {value = i64[] {10}} : i64[]
      %none = constant() {value = i64[] {0}} : i64[]
      %place = reduce_argmax(%x) {axes = [0]} : i64[]
      %sum = add(%k, %place) : i64[]
      %far = add(%sum, %c) : i64[]
      %next = floor_mod(%far, %five) : i64[]
      %low = less_equal(%none, %next) : bool[]
      %high = less(%k, %five) : bool[]
      %both = less(%sum, %ten) : bool[]
      %p = logical_and(%low, %high) : bool[]
      %q = logical_and(%p, %both) : bool[]
      %more = add(%c, %c) : i64[]
      return %next, %more, %q
    }
  }
  %n1, %ok1 = while( | %zero, %k1) : i64[], i64[] {
    ^(%n: i64[], %ok: i64[]) {
      %limit = constant() {value = i64[] {40}} : i64[]
      %go = less(%n, %limit) : bool[]
      return %go
    }
    ^(%n: i64[], %ok: i64[]) {
      %three = constant() {value = i64[] {3}} : i64[]
      %one = constant() {value = i64[] {1}} : i64[]
      %two = constant() {value = i64[] {2}} : i64[]
      %zero = constant() {value = i64[] {0}} : i64[]
      %limit = constant() {value = i64[] {40}} : i64[]
      %twice = multiply(%n, %two) : i64[]
      %next = add(%twice, %three) : i64[]
      %within = less(%n, %limit) : bool[]
      %positive = less_equal(%zero, %n) : bool[]
      %all = logical_and(%within, %positive) : bool[]
      %count = select(%all, %one, %zero) : i64[]
      %sum = add(%ok, %count) : i64[]
      return %next, %sum
    }
  }
  %unbounded = less(%c1, %zero) : bool[]
  return %seen, %unbounded, %n1, %ok1
}

// CHECK-LABEL: graph @main
// CHECK: scan
// CHECK-NOT: less
// CHECK-NOT: logical_and
// CHECK: while
// CHECK: less(%n
// CHECK-NOT: less
// CHECK-NOT: select
// CHECK: %unbounded = less
