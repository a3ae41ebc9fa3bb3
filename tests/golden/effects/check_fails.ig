// A check that fails ends the run with its text, filled in at the first element that fails.
// RUN: not %intaglio run %s --inputs special:1 2>&1 | FileCheck %s

graph @main(%x: f32[3]) {
  %t = create_token() : token
  %limit = constant() {value = f32[3] {-0x1p+0, -0x1p+0, 0x1p+1}} : f32[3]
  %low = constant() {value = f32[3] {0x0p+0, 0x0p+0, 0x0p+0}} : f32[3]
  %p = less(%limit, %low) : bool[3]
  %c = check(%t, %p, %limit) {message = "the limit is {0:.1f}", paired = [1], why = "limits are below 0", hint = "lower it", kind = "value"} : token
  return %x
}

// CHECK: the limit is 2.0
// CHECK: why: limits are below 0; at element [2], the first of those that fail
// CHECK: hint: lower it
