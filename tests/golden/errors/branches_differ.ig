// Both branches give the same types.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%p: bool[], %x: f32[2]) {
  %y = cond(%p, %x) : f32[2] {
    ^(%a: f32[2]) {
      return %a
    }
    ^(%b: f32[2]) {
      %c = convert(%b) {dtype = f64} : f64[2]
      return %c
    }
  }
  return %y
}

// CHECK:error: <stdin>:5:8: cond: value 0 of the else branch is f64[2], but of the then branch f32[2]
// CHECK-NEXT:  why: the types must agree exactly: nothing is converted or broadcast here
// CHECK-NEXT:      %y = cond(%p, %x) : f32[2] {
// CHECK-NEXT:           ^
// CHECK-NEXT:  hint: convert or broadcast one of them
