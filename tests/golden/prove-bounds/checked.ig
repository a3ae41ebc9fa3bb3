// What a check asks for holds behind it, so the second check and the third go; and in a branch its condition holds, where
// that gives the one number that the comparison asks for. Of the other branch nothing follows.
// RUN: %intaglio opt --passes=prove-bounds,canonicalize,dce --verify %s | FileCheck %s
// RUN: %intaglio run %s --compare --inputs zeros

graph @main(%k: i64[], %v: i64[3]) {
  %t = create_token() : token
  %n = constant() {value = i64[] {3}} : i64[]
  %zero = constant() {value = i64[] {0}} : i64[]
  %low = less_equal(%zero, %k) : bool[]
  %high = less(%k, %n) : bool[]
  %in = logical_and(%low, %high) : bool[]
  %a = check(%t, %in) {message = "first", paired = [], why = "", hint = "", kind = "index"} : token
  %one = constant() {value = i64[] {1}} : i64[]
  %next = add(%k, %one) : i64[]
  %four = constant() {value = i64[] {4}} : i64[]
  %less = less(%next, %four) : bool[]
  %b = check(%a, %less) {message = "second", paired = [], why = "", hint = "", kind = "index"} : token
  %c = check(%b, %in) {message = "third", paired = [], why = "", hint = "", kind = "index"} : token
  %big = greater(%k, %one) : bool[]
  %r = cond(%big, %k) : bool[] {
    ^(%k: i64[]) {
      %two = constant() {value = i64[] {2}} : i64[]
      %is = equal(%k, %two) : bool[]
      return %is
    }
    ^(%k: i64[]) {
      %two = constant() {value = i64[] {2}} : i64[]
      %is = equal(%k, %two) : bool[]
      return %is
    }
  }
  return %r
}

// CHECK-LABEL: graph @main
// CHECK: check({{.*}}first
// CHECK-NOT: check
// CHECK: cond
// CHECK-NOT: equal(%k
// CHECK: equal(%k
