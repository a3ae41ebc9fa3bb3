// Escapes in quoted text are few.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[2]) {
  %y = negate(%x) : f32[2] scope("a\tb")
  return %y
}

// CHECK:error: <stdin>:5:36: an unknown escape in the quoted text
// CHECK-NEXT:  why: the text does not follow the grammar here:
// CHECK-NEXT:      %y = negate(%x) : f32[2] scope("a\tb")
// CHECK-NEXT:                                       ^
// CHECK-NEXT:  hint: the escapes are \n, \", \\ and \x with two hexadecimal digits
