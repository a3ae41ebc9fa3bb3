// A loop's condition is one bool.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[]) {
  %y = while( | %x) : f32[] {
    ^(%a: f32[]) {
      return %a
    }
    ^(%b: f32[]) {
      return %b
    }
  }
  return %y
}

// CHECK:error: <stdin>:5:8: while: the condition gives f32[], but it must give bool[]
// CHECK-NEXT:  why: the loop goes on while it is true
// CHECK-NEXT:      %y = while( | %x) : f32[] {
// CHECK-NEXT:           ^
// CHECK-NEXT:  hint: reduce it with ig.any or ig.all
