// A counter lies between what it begins with and what the steps add to it: downwards too, and behind the loop it is known.
// RUN: %intaglio opt --passes=prove-bounds,canonicalize,dce --verify %s | FileCheck %s
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[4]) {
  %zero = constant() {value = i64[] {0}} : i64[]
  %nine = constant() {value = i64[] {9}} : i64[]
  %last, %low, %inside, %outside = scan( | %zero, %nine | ) {length = <4>, reverse = false} : i64[], i64[], bool[4], bool[4] {
    ^(%i: i64[], %j: i64[]) {
      %one = constant() {value = i64[] {1}} : i64[]
      %two = constant() {value = i64[] {2}} : i64[]
      %four = constant() {value = i64[] {4}} : i64[]
      %three = constant() {value = i64[] {3}} : i64[]
      %up = add(%i, %one) : i64[]
      %down = subtract(%j, %two) : i64[]
      %below = less(%i, %four) : bool[]
      %above = less(%two, %j) : bool[]
      %both = logical_and(%below, %above) : bool[]
      %open = less(%j, %four) : bool[]
      return %up, %down, %both, %open
    }
  }
  %one = constant() {value = i64[] {1}} : i64[]
  %is = equal(%low, %one) : bool[]
  %four = constant() {value = i64[] {4}} : i64[]
  %too = equal(%last, %four) : bool[]
  return %inside, %outside, %is, %too
}

// CHECK-LABEL: graph @main
// CHECK: scan
// CHECK: less(%j
// CHECK-NOT: less
// CHECK-NOT: logical_and
// CHECK-NOT: equal
