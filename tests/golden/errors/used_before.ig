// Values are defined before they are used.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[2]) {
  %y = negate(%later) : f32[2]
  %later = abs(%x) : f32[2]
  return %y
}

// CHECK:error: <stdin>:5:15: the value %later is not defined here
// CHECK-NEXT:  why: the text does not follow the grammar here:
// CHECK-NEXT:      %y = negate(%later) : f32[2]
// CHECK-NEXT:                  ^
// CHECK-NEXT:  hint: values are defined before they are used; a region reads only its own arguments
