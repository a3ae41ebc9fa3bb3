// A value that is not defined, with the one that was meant.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%input: f32[2]) {
  %y = negate(%inptu) : f32[2]
  return %y
}

// CHECK:error: <stdin>:5:15: the value %inptu is not defined here
// CHECK-NEXT:  why: the text does not follow the grammar here:
// CHECK-NEXT:      %y = negate(%inptu) : f32[2]
// CHECK-NEXT:                  ^
// CHECK-NEXT:  hint: did you mean %input?
