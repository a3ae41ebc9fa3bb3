// A region reads its own arguments alone.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%p: bool[], %x: f32[2]) {
  %y = cond(%p, %x) : f32[2] {
    ^(%a: f32[2]) {
      %b = negate(%x) : f32[2]
      return %b
    }
    ^(%c: f32[2]) {
      return %c
    }
  }
  return %y
}

// CHECK:error: <stdin>:7:19: the value %x is not defined here
// CHECK-NEXT:  why: the text does not follow the grammar here:
// CHECK-NEXT:          %b = negate(%x) : f32[2]
// CHECK-NEXT:                      ^
// CHECK-NEXT:  hint: values are defined before they are used; a region reads only its own arguments
