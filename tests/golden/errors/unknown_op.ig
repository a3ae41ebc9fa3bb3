// An op that nobody declares.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[2]) {
  %y = exponentail(%x) : f32[2]
  return %y
}

// CHECK:error: <stdin>:5:8: exponentail: unknown op
// CHECK-NEXT:  why: no op of that name is declared
// CHECK-NEXT:      %y = exponentail(%x) : f32[2]
// CHECK-NEXT:           ^
// CHECK-NEXT:  hint: close names are exponential
